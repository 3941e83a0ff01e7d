import { type Test, test } from 'tap'
import { items, member } from '../bench/ngsi.js'
import { RunningBroker } from './running.js'
import { isStill, until } from './until.js'
import { attribute, ID, metadata, WGS84 } from './wire/client.js'

const ferry = {
  type: 'Ferry',
  isPattern: 'false',
  id: 'Ferry-1',
  attributes: [
    attribute('berth', 'point', '60.16, 24.95', WGS84),
    attribute('cargo', 'manifest', { cars: '12', decks: ['lower', { lorries: '3' }] }, metadata('by', 'text', 'scale')),
    attribute('fuel', 'litre', '910', ID('port'), metadata('accuracy', 'float', '0.5'), metadata('unit', 'text', 'l')),
    attribute('fuel', 'litre', '880.50', ID('starboard'), metadata('unit', 'text', 'l')),
  ],
}

/** Everything that changes in one broker is told to another one. */
async function mirror(from: RunningBroker, to: RunningBroker): Promise<void> {
  const { text } = await from.send('POST', '/v1/subscribeContext', {
    entities: [{ type: 'Ferry', isPattern: 'true', id: '.*' }],
    reference: `${to.url}/v1/notifyContext`,
    duration: 'P1Y',
    notifyConditions: [{ type: 'ONCHANGE' }],
  })
  if (!text.includes('subscribeResponse')) throw new Error(`a broker was not subscribed to: ${text}`)
}

async function held(broker: RunningBroker): Promise<unknown> {
  const { json } = await broker.send('GET', '/v1/contextEntities/Ferry-1')
  return (json as { contextElement?: unknown }).contextElement
}

/** Waits until a broker holds the entity as it should be; gives what it holds in the end. */
async function comesToHold(broker: RunningBroker, wanted: unknown): Promise<unknown> {
  let entity: unknown
  const isHeld = async () => {
    entity = await held(broker)
    return JSON.stringify(entity) === JSON.stringify(wanted)
  }
  await until(isHeld, () => `a broker holds ${JSON.stringify(wanted)}: it holds ${JSON.stringify(entity)}`)
  return entity
}

async function brokers(t: Test, number: number): Promise<readonly RunningBroker[]> {
  return RunningBroker.startAll(t, number, ['-partitions', '2', '-httpTimeout', '60000'])
}

test('an entity arrives at the end of a chain of three brokers as it is at its beginning', async (t) => {
  const [first, middle, last] = await brokers(t, 3)
  if (!first || !middle || !last) throw new Error('three brokers were asked for')
  await mirror(middle, last)
  await mirror(first, middle)
  await first.update('APPEND', ferry)
  t.strictSame(await comesToHold(last, ferry), ferry)
  const starboard = attribute('fuel', 'litre', '700', ID('starboard'), metadata('unit', 'text', 'l'))
  await first.update('UPDATE', { ...ferry, attributes: [starboard] })
  const after = { ...ferry, attributes: [...ferry.attributes.slice(0, 3), starboard] }
  t.strictSame(await comesToHold(last, after), after, 'one instance was updated, the other one and all metadata stay')
})

test('a broker of a chain that is killed and comes back gets what it missed', async (t) => {
  const [first, last] = await brokers(t, 2)
  if (!first || !last) throw new Error('two brokers were asked for')
  await mirror(first, last)
  await last.end('SIGKILL')
  await first.update('APPEND', ferry)
  await first.end('SIGKILL')
  await Promise.all([first.run(), last.run()])
  t.strictSame(await comesToHold(last, ferry), ferry)
})

test('a ring of brokers comes to rest, compound values included', async (t) => {
  const ring = await brokers(t, 3)
  for (const [at, broker] of ring.entries()) {
    const next = ring[(at + 1) % ring.length]
    if (next) await mirror(broker, next)
  }
  await ring[0]?.update('APPEND', ferry)
  for (const broker of ring) t.strictSame(await comesToHold(broker, ferry), ferry)
  t.same(
    (await atRest(ring)).map(({ notificationsReceived }) => notificationsReceived),
    [1, 1, 1],
    'each was told once',
  )
})

/** The counters of all brokers when nothing moves any more; fails when that never comes. */
async function atRest(ring: readonly RunningBroker[]): Promise<readonly Readonly<Record<string, number>>[]> {
  const names = ['notificationsReceived', 'availabilityNotificationsReceived'] as const
  const counts = () =>
    Promise.all(
      ring.map(async (broker) => {
        const { json } = await broker.send('GET', '/statistics')
        const held = json as Record<string, number>
        return Object.fromEntries(names.map((name) => [name, held[name] ?? 0]))
      }),
    )
  // A notification is taken off where it came from when all that it changes is stored, and is to be told on a moment later.
  let looks = 0
  const seen = async () => {
    looks += 1
    const waiting = await Promise.all(ring.map(notificationsWaiting))
    return waiting.every((number) => number === 0) ? JSON.stringify(await counts()) : looks
  }
  await until(isStill(12, seen), 'the ring comes to rest')
  return counts()
}

/** How many notifications of any kind a broker has not delivered yet. */
async function notificationsWaiting(broker: RunningBroker): Promise<number> {
  const lists = ['/admin/subscriptions', '/admin/availabilitySubscriptions'].map(async (path) => {
    return items((await broker.send('GET', path)).json).map((each) => Number(member(each, 'queueDepth')))
  })
  return (await Promise.all(lists)).flat().reduce((sum, depth) => sum + depth, 0)
}

/** Each broker tells the next one, the last tells the first. */
async function ringOf(t: Test, number: number, join = mirror): Promise<readonly RunningBroker[]> {
  const ring = await brokers(t, number)
  for (const [at, broker] of ring.entries()) await join(broker, ring[(at + 1) % number] ?? broker)
  return ring
}

function fuelled(value: string) {
  return { ...ferry, attributes: [attribute('fuel', 'litre', value)] }
}

/** Different values for the same attribute at all brokers, several at each, all at the same time. */
async function concurrentUpdates(ring: readonly RunningBroker[]): Promise<void> {
  const values = Array.from({ length: 3 * ring.length }, (_, at) => `${at}`)
  await Promise.all(values.map((value, at) => ring[at % ring.length]?.update('APPEND', fuelled(value))))
}

test('concurrent updates at all brokers of a ring come to rest', async (t) => {
  const ring = await ringOf(t, 3)
  await concurrentUpdates(ring)
  for (const { notificationsReceived } of await atRest(ring)) {
    // Each change goes round once at most, and ends where it began.
    t.ok(Number(notificationsReceived) <= 3 * ring.length, `${notificationsReceived}`)
  }
  // A later change, by itself, brings all of them to the same state.
  await ring[0]?.update('APPEND', fuelled('full'))
  for (const broker of ring) t.strictSame(await comesToHold(broker, fuelled('full')), fuelled('full'))
})

test('two brokers that tell each other come to rest, also when one is killed meanwhile and comes back', async (t) => {
  const ring = await ringOf(t, 2)
  const [first, second] = ring
  if (!first || !second) throw new Error('two brokers were asked for')
  await concurrentUpdates(ring)
  await atRest(ring)
  await concurrentUpdates(ring)
  await second.end('SIGKILL')
  await first.update('APPEND', fuelled('99'))
  await second.run()
  await atRest(ring)
  await second.update('APPEND', fuelled('full'))
  for (const broker of ring) t.strictSame(await comesToHold(broker, fuelled('full')), fuelled('full'))
})

test('registries that are subscribed to each other come to rest', async (t) => {
  const ring = await ringOf(t, 2, async (from, to) => {
    const { text } = await from.send('POST', '/v1/registry/subscribeContextAvailability', {
      entities: [{ type: 'Ferry', isPattern: 'true', id: '.*' }],
      reference: `${to.url}/v1/registry/notifyContextAvailability`,
      duration: 'P1Y',
    })
    if (!text.includes('subscriptionId')) throw new Error(`a registry was not subscribed to: ${text}`)
  })
  const registered = (provider: string) => ({
    contextRegistrations: [
      {
        entities: [{ type: 'Ferry', isPattern: 'false', id: 'Ferry-1' }],
        attributes: [{ name: 'fuel' }],
        providingApplication: provider,
      },
    ],
    duration: 'P1M',
  })
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(
      ring.map((broker, at) =>
        broker.send('POST', '/v1/registry/registerContext', registered(`http://127.0.0.1:${at + 1}/v1`)),
      ),
    )
  }
  for (const { availabilityNotificationsReceived: count } of await atRest(ring)) {
    t.ok(Number(count) > 0 && Number(count) <= 2 * 3 * ring.length, `${count}`)
  }
  for (const broker of ring) {
    const found = await broker.send('POST', '/v1/registry/discoverContextAvailability', {
      entities: [{ type: 'Ferry', id: 'Ferry-1' }],
    })
    for (const at of ring.keys()) t.match(found.text, `http://127.0.0.1:${at + 1}/v1`)
    // Three of its own, and a copy of each of the two contexts that there are: rounds add none.
    t.equal(found.text.split('contextRegistration"').length - 1, 5)
  }
})
