import assert from 'node:assert'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import type { EntityId, EntityType, ServicePath, Tenant } from '../src/model/context/entity.js'
import type { RegistrationChange, RegistrationId } from '../src/model/registration/registration.js'
import type { SubscriptionId } from '../src/model/subscription/subscription.js'
import { MetadataStore } from '../src/storage/store/metadata-store.js'
import { at, storeSettings } from './given.js'
import { subscription } from './given-subscription.js'
import { RunningBroker } from './running.js'

/** Few to see that it is right; as many as the limits allow, with times, where RIGEL_MANY=long asks for it. */
const isLong = process.env['RIGEL_MANY'] === 'long'
const number = isLong ? 100_000 : 2000
const batch = 5000

/** Starts that are timed; the shortest counts, since other programs may use the machine during one. */
const timedStarts = 5

function idOf(of: 'c0de' | 'feed', one: number): string {
  return `5718a2f1${of}${one.toString(16).padStart(12, '0')}`
}

/** Puts subscriptions and registrations, each of an entity of its own, where a broker finds them. */
async function prepare(folder: string): Promise<void> {
  const metadata = new MetadataStore(join(folder, 'control'), storeSettings, assert.fail)
  for (let begin = 0; begin < number; begin += batch) {
    const ones = Array.from({ length: Math.min(batch, number - begin) }, (_, index) => begin + index)
    await Promise.all(
      ones.map((one) => {
        const selectors = [{ id: { kind: 'exact', id: `Tank${one}` as EntityId }, type: 'Tank' as EntityType }] as const
        const id = idOf('c0de', one) as SubscriptionId
        return metadata.commit({ put: subscription({ id, order: one + 1, selectors, onChange: ['level'] }) })
      }),
    )
    const registrations = ones.map(
      (one): RegistrationChange => ({
        kind: 'put',
        registration: {
          id: idOf('feed', one) as RegistrationId,
          order: one + 1,
          tenant: '' as Tenant,
          path: '/' as ServicePath,
          expires: at(8_000_000_000_000),
          contexts: [
            {
              entities: [{ id: `Lamp${one}` as EntityId, type: 'Lamp' as EntityType }],
              attributes: [{ name: 'light', type: '', isDomain: false }],
              provider: 'http://127.0.0.1:1/v1',
            },
          ],
        },
      }),
    )
    await metadata.commitRegistry({ registrations })
  }
  await metadata.close()
}

async function prepared(t: Test, flags: readonly string[] = []) {
  const folder = t.testdir()
  const first = await RunningBroker.startOn(t, folder)
  await first.end('SIGTERM')
  await prepare(first.folder)
  const starts_ms: number[] = []
  const start = async (): Promise<RunningBroker> => {
    const begun = performance.now()
    const broker = await RunningBroker.startOn(t, folder, flags)
    starts_ms.push(Math.round(performance.now() - begun))
    return broker
  }
  for (let more = isLong ? timedStarts - 1 : 0; more > 0; more -= 1) await (await start()).end('SIGTERM')
  return { broker: await start(), starts_ms }
}

test('a broker starts with as many subscriptions and registrations as it may have, knows all of them, and takes no more', async (t) => {
  const limits = ['-subscriptionsMax', `${number}`, '-registrationsMax', `${number}`]
  const { broker, starts_ms } = await prepared(t, limits)
  if (isLong) {
    t.comment(`started with ${number} of each in ${starts_ms.join(', ')} ms`)
    t.ok(Math.min(...starts_ms) < 3000, 'the start takes less than 3 s')
  }
  const listed = await broker.send('GET', '/admin/subscriptions')
  t.equal((listed.json as readonly unknown[]).length, number)
  const last = number - 1
  const discovery = { entities: [{ type: 'Lamp', isPattern: 'false', id: `Lamp${last}` }] }
  const found = await broker.send('POST', '/v1/registry/discoverContextAvailability', discovery)
  t.match(found.json, {
    contextRegistrationResponses: [{ contextRegistration: { entities: [{ id: `Lamp${last}` }] } }],
  })
  const subscribe = {
    entities: [{ type: 'Tank', isPattern: 'false', id: 'Tank1' }],
    reference: 'http://127.0.0.1:1/in',
    notifyConditions: [{ type: 'ONCHANGE', condValues: ['level'] }],
  }
  const response = await broker.send('POST', '/v1/subscribeContext', subscribe)
  t.equal(response.status, 503)
  t.match(response.json, { orionError: { details: 'there is no room for more subscriptions' } })
  const gone = await broker.send('POST', '/v1/unsubscribeContext', { subscriptionId: idOf('c0de', last) })
  t.match(gone.json, { statusCode: { code: '200' } })
  t.match((await broker.send('POST', '/v1/subscribeContext', subscribe)).json, { subscribeResponse: {} })
  const register = {
    contextRegistrations: [
      { entities: [{ type: 'L', isPattern: 'false', id: 'L1' }], providingApplication: 'http://a' },
    ],
  }
  const full = await broker.send('POST', '/v1/registry/registerContext', register)
  t.equal(full.status, 503)
  t.match(full.json, { orionError: { details: 'there is no room for more registrations' } })
  const again = await broker.send('POST', '/v1/registry/registerContext', {
    ...register,
    registrationId: idOf('feed', 0),
  })
  t.match(again.json, { registrationId: idOf('feed', 0) })
})
