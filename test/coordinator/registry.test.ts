import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'tap'
import type { AvailabilityRequest, NewRegistration, RegistrationRequest } from '../../src/broker/front-end/services.js'
import type { Tenant } from '../../src/model/context/entity.js'
import { resourceIdOf } from '../../src/model/registration/contexts.js'
import type { RegistrationId } from '../../src/model/registration/registration.js'
import { RegistrationIndex } from '../../src/model/registration/registration-index.js'
import { lastNotified } from '../../src/model/subscription/clocks.js'
import type { Notice } from '../../src/model/subscription/notice.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import type { Result } from '../../src/result.js'
import { never as foreverAfter } from '../../src/time.js'
import { at, everywhere, path, root, silentLog, tenant } from '../given.js'
import { any, context, exact, pattern, providerOf, registered, termed } from '../registration/given.js'
import { until } from '../until.js'
import { never, openRegistry, start } from './given-registry.js'

const day_ms = 86_400_000
const noise = context('S4:Street', 'noise')

function registrationRequest(more: Partial<RegistrationRequest> = {}): RegistrationRequest {
  return { tenant, path: root, id: undefined, duration_ms: day_ms, contexts: [noise], correlator: 'corr-1', ...more }
}

function listening(more: Partial<AvailabilityRequest> = {}): AvailabilityRequest {
  const reference = 'http://maps.example/sources'
  return {
    tenant,
    selectors: [any('Street')],
    attributes: [],
    reference,
    duration_ms: day_ms,
    correlator: 'corr-2',
    ...more,
  }
}

function given(more: Partial<NewRegistration> = {}): NewRegistration {
  const contexts = [context('*:Street', 'noise', 'http://v2.example')]
  return { tenant, path: root, expires: foreverAfter, contexts, terms: termed(), correlator: 'corr-4', ...more }
}

function successOf<Value>(outcome: Result<Value, unknown>): Value {
  if (!outcome.ok) throw new Error(`refused: ${JSON.stringify(outcome.error)}`)
  return outcome.value
}

interface SentContext {
  readonly contextRegistration: {
    readonly entities: readonly { readonly id: string }[]
    readonly attributes?: readonly { readonly name: string }[]
  }
}

/** What notices tell: whether they name their own subscription, and the entities and attributes of each context. */
function sent(notices: readonly Notice[]): readonly unknown[] {
  return notices.map(({ subscription, body }) => {
    const payload: { readonly subscriptionId: string; readonly contextRegistrationResponses: readonly SentContext[] } =
      JSON.parse(body)
    const contexts = payload.contextRegistrationResponses.map(
      ({ contextRegistration: { entities, attributes = [] } }) => [
        entities.map(({ id }) => id).join(),
        attributes.map(({ name }) => name).join(),
      ],
    )
    return [subscription === payload.subscriptionId, ...contexts]
  })
}

test('a registration gets an id that begins with the second, and is on disk and in force before the response', async (t) => {
  const steps: string[] = []
  const { registry, metadata } = openRegistry(t.testdir(), {
    publish: async (changes) => {
      await nextTurn()
      steps.push(`${changes.length} in force, ${[...metadata.registrations()].length} on disk`)
    },
  })
  t.teardown(() => metadata.close())
  const id = successOf(await registry.register(registrationRequest()))
  t.match(id, /^65535a00[0-9a-f]{16}$/)
  t.same(steps, ['1 in force, 1 on disk'])
})

test('what is asked at the same time is done one after the other: each notification tells of all before', async (t) => {
  const { registry, metadata } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  const contexts = [context('S4:Street', 'noise'), context('S4:Street', 'ozone'), context('S4:Street', 'traffic')]
  const listeners = registry.subscribe(listening())
  await Promise.all([
    listeners,
    ...contexts.map((each) => registry.register(registrationRequest({ contexts: [each] }))),
  ])
  t.same(sent(metadata.notices()), [
    [true, ['S4', 'noise']],
    [true, ['S4', 'noise'], ['S4', 'ozone']],
    [true, ['S4', 'noise'], ['S4', 'ozone'], ['S4', 'traffic']],
  ])
})

test('what can not be stored for another reason than room is a fault, after which all is as before', async (t) => {
  const { registry, metadata, courier } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  const id = successOf(await registry.subscribe(listening()))
  const held = courier.recipients.get(id)
  metadata.broken = true
  await t.rejects(registry.register(registrationRequest()), { message: 'broken' })
  await t.rejects(registry.subscribe(listening()), { message: 'broken' })
  const change = { id, tenant, selectors: [any()], attributes: [], duration_ms: 1, correlator: 'c' }
  await t.rejects(registry.change(change), { message: 'broken' })
  await t.rejects(registry.unsubscribe(tenant, id), { message: 'broken' })
  metadata.broken = false
  t.equal(registry.index.size, 0)
  t.same([...courier.recipients.values()], [held])
  t.equal(courier.instructions.at(-1), `put ${id}`, 'nobody holds back what it is sent')
  t.match(await registry.register(registrationRequest()), { ok: true })
  t.equal(metadata.notices().length, 1)
})

test('an update replaces a registration as a whole, in its place, with a new expiry', async (t) => {
  const { registry, metadata, clock } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  const id = successOf(await registry.register(registrationRequest()))
  await registry.register(registrationRequest({ contexts: [context('S4:Street', 'noise', 'http://later.example')] }))
  clock.time += 1000
  const contexts = [context('S5:Street S4:Street', 'noise', 'http://new.example')]
  t.equal(successOf(await registry.register(registrationRequest({ id, contexts, duration_ms: 5 }))), id)
  const now = at(clock.time)
  const lookup = { tenant, paths: everywhere, now, use: 'query', api: 'ngsi1' } as const
  t.equal(providerOf(registry.index, lookup, registered('S4:Street'), 'noise'), 'http://new.example')
  t.equal(registry.index.get(id)?.expires, clock.time + 5)
  t.equal(registry.index.size, 2)
})

test('a registration is known in its tenant and service path only, expired or not', async (t) => {
  const { registry, metadata, clock } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  const id = successOf(await registry.register(registrationRequest({ path: path('/west'), duration_ms: 0 })))
  const unknown = { ok: false, error: { kind: 'registrationUnknown' } }
  t.match(await registry.register(registrationRequest({ id })), unknown)
  t.match(await registry.register(registrationRequest({ id, path: path('/west'), tenant: 'acme' as Tenant })), unknown)
  t.match(await registry.register(registrationRequest({ id: '65535a000000000000000000' as RegistrationId })), unknown)
  clock.time += day_ms
  t.match(await registry.register(registrationRequest({ id, path: path('/west') })), { ok: true, value: id })
})

test('what is stored is there after a restart, and the order of creation goes on', async (t) => {
  const folder = t.testdir()
  const first = openRegistry(folder)
  const id = successOf(await first.registry.register(registrationRequest()))
  const subscription = successOf(
    await first.registry.subscribe(listening({ selectors: [exact('S9', 'Street'), pattern('^A')] })),
  )
  await first.registry.notified({ ...registrationRequest(), subscription: 'a' })
  await first.metadata.close()
  const { registry, metadata } = openRegistry(folder)
  t.teardown(() => metadata.close())
  t.equal(registry.index.size, 2)
  t.match(registry.recipients(), [{ id: subscription, kind: 'availability', reference: 'http://maps.example/sources' }])
  await registry.notified({ ...registrationRequest(), subscription: 'a' })
  t.equal(registry.index.size, 2, 'the copy of before the restart was replaced')
  const later = successOf(await registry.register(registrationRequest({ contexts: [context('Alley')] })))
  t.equal(metadata.notices().length, 1, 'the subscription listens as before')
  const orders = [...registry.index.all()].map(({ order }) => order)
  t.equal(new Set(orders).size, orders.length)
  t.ok((registry.index.get(later)?.order ?? 0) > (registry.index.get(id)?.order ?? 0))
})

test('the copy of another thread, kept up by what is published, finds the same', async (t) => {
  const { registry, metadata, published, clock } = openRegistry(t.testdir(), { grace_ms: day_ms })
  t.teardown(() => metadata.close())
  const copy = new RegistrationIndex()
  const id = successOf(await registry.register(registrationRequest()))
  await registry.notified({ ...registrationRequest({ contexts: [noise, context('S6:Street')] }), subscription: 'a' })
  await registry.notified({ ...registrationRequest(), subscription: 'a' })
  await registry.register(registrationRequest({ id, contexts: [context('S5:Street')], duration_ms: 9 * day_ms }))
  await registry.register(registrationRequest({ duration_ms: 0 }))
  clock.time += day_ms
  await registry.removeExpired()
  copy.apply(structuredClone(published))
  t.equal(copy.size, 3)
  t.same([...copy.all()], [...registry.index.all()])
})

test('a subscription is sent at once what is known, if anything is, and again after each update', async (t) => {
  const { registry, metadata, counted } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  await registry.subscribe(listening())
  t.same([metadata.notices(), counted.rung], [[], 0])
  await registry.register(
    registrationRequest({ contexts: [context('S4:Street S5:Street', 'noise ozone')], path: path('/west') }),
  )
  const id = successOf(await registry.subscribe(listening({ selectors: [exact('S5')], attributes: ['ozone'] })))
  t.equal(counted.rung, 2)
  const made = {
    made: start,
    tenant,
    paths: ['/'],
    correlator: 'corr-2',
    token: '',
    orderingKey: { kind: 'availability' },
  }
  t.match(metadata.notices()[1], { subscription: id, ...made })
  const change = { id, tenant, selectors: [exact('S4')], attributes: [], duration_ms: undefined, correlator: 'corr-3' }
  t.match(await registry.change(change), { ok: true })
  t.equal(metadata.notices()[2]?.correlator, 'corr-3')
  t.same(sent(metadata.notices()), [
    [true, ['S4,S5', 'noise,ozone']],
    [true, ['S5', 'ozone']],
    [true, ['S4', 'noise,ozone']],
  ])
})

test('operators see when a subscription was last notified, whether or not the notification was accepted', async (t) => {
  const { registry, metadata, courier, clock } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  const id = successOf(await registry.subscribe(listening()))
  const last = () => {
    const recipient = courier.recipients.get(id)
    return recipient && lastNotified(recipient.clock)
  }
  t.equal(last(), 0)
  clock.time = start + 1000
  await registry.register(registrationRequest())
  t.equal(last(), start + 1000)
  clock.time = start + 2000
  await registry.change({ ...listening(), id, duration_ms: undefined })
  t.equal(last(), start + 2000)
  await registry.enforce([], [], [{ id, made: at(start + 3000) }])
  t.equal(last(), start + 3000, 'another node has notified it')
})

test('a registration tells all that is known about its entities, as far as a subscription means them', async (t) => {
  const { registry, metadata } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  await registry.register(
    registrationRequest({ contexts: [context('S4:Street', 'noise ozone'), context('S7:Street', 'noise')] }),
  )
  const id = successOf(
    await registry.subscribe(listening({ selectors: [pattern('^S[45]$', 'Street')], attributes: ['noise'] })),
  )
  const before = metadata.notices().length
  await registry.register(registrationRequest({ contexts: [context('S4:Street S5:Street S7:Street', 'noise')] }))
  await registry.register(registrationRequest({ contexts: [context('S4:Street', 'ozone')] }))
  t.same(sent(metadata.notices().slice(before)), [[true, ['S4', 'noise'], ['S4,S5', 'noise']]])
  await registry.unsubscribe(tenant, id)
  await registry.register(registrationRequest())
  t.equal(metadata.notices().length, before + 1)
})

test('a registration that ends at once tells nothing when nothing else is known', async (t) => {
  const { registry, metadata } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  await registry.subscribe(listening())
  const id = successOf(await registry.register(registrationRequest()))
  await registry.register(registrationRequest({ id, duration_ms: 0 }))
  t.equal(metadata.notices().length, 1)
})

test('an expired subscription is silent; what waited for it is dropped before it is revived', async (t) => {
  const { registry, metadata, clock, courier } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  const id = successOf(await registry.subscribe(listening({ duration_ms: 10 })))
  clock.time += 10
  await registry.register(registrationRequest())
  const what = { id, tenant, selectors: [any()], attributes: [], correlator: 'c' }
  t.match(await registry.change({ ...what, duration_ms: undefined }), { ok: true })
  t.equal(metadata.notices().length, 0)
  t.match(await registry.change({ ...what, duration_ms: 10 }), { ok: true })
  t.equal(metadata.notices().length, 1)
  t.equal(courier.recipients.get(id)?.expires, clock.time + 10)
  t.same(
    courier.instructions,
    ['hold', 'put', 'expire', 'hold', 'put', 'expire', 'hold', 'put'].map((what) => `${what} ${id}`),
  )
})

test('a revival is refused while what waited for the subscription cannot leave the disk, and can be tried again', async (t) => {
  const { registry, metadata, clock, courier } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  const id = successOf(await registry.subscribe(listening({ duration_ms: 10 })))
  clock.time += 10
  courier.expires = false
  const revival = { id, tenant, selectors: [any()], attributes: [], correlator: 'c', duration_ms: 10 }
  t.match(await registry.change(revival), { ok: false, error: { kind: 'partitionLost' } })
  t.equal(courier.recipients.get(id)?.expires, clock.time, 'it is as it was')
  courier.expires = true
  t.match(await registry.change(revival), { ok: true })
})

test('a subscription is known in its tenant only, and not any more after it was cancelled', async (t) => {
  const { registry, metadata, courier } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  const id = successOf(await registry.subscribe(listening()))
  const change = { id, selectors: [any()], attributes: [], duration_ms: undefined, correlator: 'c' }
  const unknown = { ok: false, error: { kind: 'subscriptionUnknown' } }
  t.match(await registry.change({ ...change, tenant: 'acme' as Tenant }), unknown)
  t.match(await registry.unsubscribe('acme' as Tenant, id), unknown)
  t.match(await registry.unsubscribe(tenant, id), { ok: true })
  t.match(await registry.unsubscribe(tenant, id), unknown)
  t.match(await registry.change({ ...change, tenant }), unknown)
  t.same([...metadata.availability()], [])
  t.same(courier.instructions, [`hold ${id}`, `put ${id}`, `remove ${id}`])
})

test('operators see subscriptions by creation, with what the courier knows of their deliveries', async (t) => {
  const { registry, metadata, courier } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  const first = successOf(await registry.subscribe(listening()))
  const second = successOf(await registry.subscribe(listening({ tenant: 'acme' as Tenant })))
  courier.known = [{ id: first, delivery: { ...never, timesSent: 3 } }]
  const shown = {
    id: first,
    tenant,
    path: { path: '/', below: true },
    reference: 'http://maps.example/sources',
    expires: start + day_ms,
    throttling_ms: 0,
    delivery: { ...never, timesSent: 3 },
  }
  const other = { ...shown, id: second, tenant: 'acme', delivery: never }
  t.same(await registry.states({}), [shown, other])
  t.same(await registry.states({ tenant: 'acme' as Tenant }), [other])
  t.same(await registry.states({ id: first }), [shown])
  t.same(await registry.states({ id: 'none' as SubscriptionId }), [])
})

test('what another registry tells again replaces what it told, and nothing else', async (t) => {
  const { registry, metadata } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  const notify = (subscription: string, ...contexts: ReturnType<typeof context>[]) =>
    registry.notified({ tenant, path: root, contexts, subscription, correlator: 'c' })
  await registry.register(registrationRequest())
  await notify('a', noise, context('S6:Street'))
  await notify('a', noise, noise)
  await notify('b', noise)
  await notify('', noise)
  await notify('', noise)
  await notify('a')
  const held = [...registry.index.all()].sort((a, b) => a.order - b.order)
  t.same(
    held.map(({ copiedFrom, contexts, expires }) => [
      copiedFrom,
      contexts.map(({ entities }) => entities[0]?.id),
      expires,
    ]),
    [
      [undefined, ['S4'], start + day_ms],
      ['a', ['S6'], start + day_ms],
      ['a', ['S4'], start + day_ms],
      ['b', ['S4'], start + day_ms],
      ['', ['S4'], start + day_ms],
    ],
  )
  t.same(new Set([...metadata.registrations()].map(({ id }) => id)), new Set(held.map(({ id }) => id)))
})

test('when the disk is full nothing is registered, nobody is told, and it can be done later', async (t) => {
  const { registry, metadata, counted, published, courier } = openRegistry(t.testdir())
  t.teardown(() => metadata.close())
  const id = successOf(await registry.subscribe(listening()))
  const old = successOf(await registry.register(registrationRequest()))
  const counts = () => ({ ...counted, published: published.length, notices: metadata.notices().length })
  const before = counts()
  const full = { ok: false, error: { kind: 'storageFull' } }
  const change = { id, tenant, selectors: [exact('S4')], attributes: [], duration_ms: 1, correlator: 'c' }
  metadata.full = true
  t.match(await registry.register(registrationRequest()), full)
  t.match(await registry.register(registrationRequest({ id: old, contexts: [] })), full)
  t.match(await registry.notified({ ...registrationRequest(), subscription: 'a' }), full)
  t.match(await registry.subscribe(listening()), full)
  t.match(await registry.change(change), full)
  t.match(await registry.unsubscribe(tenant, id), full)
  metadata.full = false
  t.same(counts(), { ...before, notStored: 3 })
  t.same(
    [...registry.index.all()].map(({ contexts }) => contexts),
    [[noise]],
  )
  t.same(
    [...courier.recipients.values()].map(({ expires }) => expires),
    [start + day_ms],
  )
  // Whether there is room again is looked for now and then.
  await until(async () => (await registry.register(registrationRequest())).ok)
  t.equal(metadata.notices().length, before.notices + 1)
})

test('what expired is removed after the grace time, which 0 makes endless', async (t) => {
  for (const grace_ms of [0, 2 * day_ms]) {
    const { registry, metadata, clock, published, courier } = openRegistry(t.testdir(), { grace_ms })
    t.teardown(() => metadata.close())
    const id = successOf(await registry.register(registrationRequest({ duration_ms: 0 })))
    await registry.register(registrationRequest({ duration_ms: 1 }))
    const subscription = successOf(await registry.subscribe(listening({ duration_ms: 0 })))
    await registry.subscribe(listening({ duration_ms: 1 }))
    clock.time += 2 * day_ms - 1
    await registry.removeExpired()
    t.equal(registry.index.size, 2)
    clock.time += 1
    metadata.full = true
    await registry.removeExpired()
    t.equal(registry.index.size, 2, 'a full disk does not lose them from memory')
    metadata.full = false
    await registry.removeExpired()
    const left = grace_ms === 0 ? 2 : 1
    t.equal(registry.index.size, left)
    t.equal([...metadata.registrations()].length, left)
    t.equal([...metadata.availability()].length, left)
    t.equal(registry.recipients().length, left)
    t.same(published.slice(2), grace_ms === 0 ? [] : [{ kind: 'remove', id }])
    t.equal(courier.instructions.includes(`remove ${subscription}`), grace_ms !== 0)
  }
})

test('what expired is removed a few at a time, and what was prolonged meanwhile stays', async (t) => {
  const { registry, metadata, clock, published } = openRegistry(t.testdir(), { grace_ms: day_ms })
  t.teardown(() => metadata.close())
  const made = await Promise.all(
    Array.from({ length: 200 }, () => registry.register(registrationRequest({ duration_ms: 0 }))),
  )
  const listeners = await Promise.all(
    Array.from({ length: 100 }, () => registry.subscribe(listening({ duration_ms: 0 }))),
  )
  const [id, subscription] = [made.map(successOf).at(-1), listeners.map(successOf).at(-1)]
  if (id === undefined || subscription === undefined) return
  clock.time += 2 * day_ms
  published.length = 0
  const removing = registry.removeExpired()
  const other = registry.register(registrationRequest()).then(() => published.length)
  const again = registry.register(registrationRequest({ id }))
  const change = { id: subscription, tenant, selectors: [any()], attributes: [], correlator: 'c' }
  const prolonged = registry.change({ ...change, duration_ms: 7 * day_ms })
  successOf(await again)
  successOf(await prolonged)
  await removing
  t.ok((await other) < 100, 'another is registered after the first few')
  t.same([registry.index.size, registry.recipients().length], [2, 1])
})

test('what becomes of registrations is traced, also that they have expired', async (t) => {
  const lines: string[] = []
  const log = {
    ...silentLog,
    isTraced: () => true,
    trace: (_: string, line: string) => void lines.push(line),
  }
  const { registry, metadata, clock } = openRegistry(t.testdir(), { log, grace_ms: day_ms })
  t.teardown(() => metadata.close())
  const id = successOf(await registry.register(registrationRequest({ duration_ms: 5 })))
  await registry.register(registrationRequest({ id, duration_ms: 10 }))
  clock.time += 9
  await registry.removeExpired()
  clock.time += 1
  await registry.removeExpired()
  await registry.removeExpired()
  clock.time += day_ms
  await registry.removeExpired()
  t.same(
    lines,
    ['created', 'updated', 'expired', 'removed'].map((what) => `registration ${id} ${what}`),
  )
})

test('what takes too long to compose is refused, and nothing of it is kept', async (t) => {
  const limits = { registrationsMax: 1000, subscriptionsMax: 1000, composing_ms: 100 }
  let isLong = false
  const { registry, metadata } = openRegistry(t.testdir(), {
    limits,
    *render() {
      const until = performance.now() + (isLong ? 150 : 0)
      while (performance.now() < until);
      yield
      return '{}'
    },
  })
  t.teardown(() => metadata.close())
  const id = successOf(await registry.subscribe(listening()))
  successOf(await registry.register(registrationRequest()))
  isLong = true
  const [before, known] = [metadata.lastNotice, registry.index.size]
  t.same(await registry.register(registrationRequest()), { ok: false, error: { kind: 'noticesFull' } })
  t.same(await registry.subscribe(listening()), { ok: false, error: { kind: 'queryLate' } })
  const change = { id, tenant, selectors: [any('Street')], attributes: [], duration_ms: 1, correlator: 'c' }
  t.same(await registry.change(change), { ok: false, error: { kind: 'queryLate' } })
  t.same([metadata.lastNotice, registry.index.size, registry.recipients().length], [before, known, 1])
  isLong = false
  successOf(await registry.register(registrationRequest()))
})

test('what notifications repeat of a registration counts as well', async (t) => {
  const limits = { registrationsMax: 100_000, subscriptionsMax: 100_000 }
  const { registry, metadata } = openRegistry(t.testdir(), { limits })
  t.teardown(() => metadata.close())
  for (let count = 0; count < 17; count += 1) successOf(await registry.subscribe(listening()))
  const long = registrationRequest({ correlator: 'c'.repeat(2 ** 20) })
  t.same(await registry.register(long), { ok: false, error: { kind: 'noticesFull' } })
})

test('a registration is refused whose notifications would take too much, and nothing of it is kept', async (t) => {
  const limits = { registrationsMax: 100_000, subscriptionsMax: 100_000 }
  const { registry, metadata } = openRegistry(t.testdir(), { limits })
  t.teardown(() => metadata.close())
  const large = { ...noise, attributes: [{ name: 'a'.repeat(2 ** 20), type: 'number', isDomain: false, metadata: [] }] }
  for (let count = 0; count < 15; count += 1) successOf(await registry.subscribe(listening()))
  const first = successOf(await registry.register(registrationRequest({ contexts: [large] })))
  t.equal(metadata.lastNotice, 15)
  successOf(await registry.subscribe(listening()))
  const before = metadata.lastNotice
  t.same(await registry.register(registrationRequest({ contexts: [large] })), {
    ok: false,
    error: { kind: 'noticesFull' },
  })
  t.same([...registry.index.all()].length, 1)
  t.equal(metadata.lastNotice, before)
  t.match(await registry.notified({ ...registrationRequest({ contexts: [large] }), subscription: 'a' }), { ok: false })
  t.match(
    await registry.register(registrationRequest({ id: first, contexts: [noise] })),
    { ok: true },
    'a smaller one goes on',
  )
})

test('there is room for a limited number of registrations and subscriptions, and what is large takes the room of several', async (t) => {
  const limits = { registrationsMax: 3, subscriptionsMax: 2 }
  const { registry, metadata } = openRegistry(t.testdir(), { limits })
  t.teardown(() => metadata.close())
  const full = { ok: false, error: { kind: 'registrationsFull' } }
  const [first] = [
    successOf(await registry.register(registrationRequest())),
    successOf(await registry.register(registrationRequest())),
  ]
  t.match(await registry.notified({ ...registrationRequest(), subscription: 'a' }), { ok: true })
  t.match(await registry.register(registrationRequest()), full)
  t.match(
    await registry.notified({
      ...registrationRequest({ contexts: [{ ...noise, provider: 'http://b' }] }),
      subscription: 'a',
    }),
    full,
  )
  t.match(
    await registry.register(registrationRequest({ id: first })),
    { ok: true },
    'what takes the place of another one needs no room',
  )
  const large = [{ ...noise, provider: `http://${'a'.repeat(4000)}` }]
  t.match(await registry.register(registrationRequest({ id: first, contexts: large })), full)
  for (const _ of [1, 2]) t.match(await registry.subscribe(listening()), { ok: true })
  t.match(await registry.subscribe(listening()), { ok: false, error: { kind: 'subscriptionsFull' } })
})

test('a registration of NGSIv2 is there after a restart with its terms, and told of as every other', async (t) => {
  const folder = t.testdir()
  const first = openRegistry(folder)
  await first.registry.subscribe(listening({ selectors: [exact('S4', 'Street')] }))
  const terms = termed({ description: 'noise meters', status: 'inactive', mode: 'query', legacy: true })
  const id = successOf(await first.registry.add(given({ terms })))
  t.same(sent(first.metadata.notices()), [[true, ['.*', 'noise']]])
  t.equal(first.metadata.notices()[0]?.correlator, 'corr-4')
  await first.metadata.close()
  const { registry, metadata, clock } = openRegistry(folder, { grace_ms: day_ms })
  t.teardown(() => metadata.close())
  clock.time += 1000 * day_ms
  await registry.removeExpired()
  t.match(registry.index.get(id), { id, expires: foreverAfter, terms, contexts: given().contexts })
})

test('a resource is removed on disk and everywhere, and the rest of its registration stays', async (t) => {
  const folder = t.testdir()
  const { registry, metadata, published } = openRegistry(folder)
  const one = successOf(await registry.add(given()))
  const two = successOf(
    await registry.register(registrationRequest({ path: path('/west'), contexts: [noise, context('S5:Street')] })),
  )
  const ids = () => registry.index.page(everything).resources.map(resourceIdOf)
  const [, , second = two] = ids()
  const unknown = { ok: false, error: { kind: 'registrationUnknown' } }
  t.match(await registry.remove('acme' as Tenant, one), unknown)
  t.match(await registry.remove(tenant, one), { ok: true })
  t.match(await registry.remove(tenant, one), unknown)
  t.match(await registry.remove(tenant, two), { ok: true }, 'whatever its path')
  t.same(ids(), [second])
  t.same(
    published.slice(-2).map(({ kind }) => kind),
    ['remove', 'put'],
  )
  const copy = new RegistrationIndex()
  copy.apply(structuredClone(published))
  t.same([...copy.all()], [...registry.index.all()])
  await metadata.close()
  const again = openRegistry(folder)
  t.teardown(() => again.metadata.close())
  t.same(again.registry.index.page(everything).resources.map(resourceIdOf), [second])
  t.match(await again.registry.remove(tenant, second), { ok: true })
  t.same([...again.metadata.registrations()], [])
})

const everything = { tenant, paths: undefined, offset: 0, limit: 100 }

test('a registration that can not be removed on disk stays, and its room is given back when it can', async (t) => {
  const limits = { registrationsMax: 1, subscriptionsMax: 1 }
  const { registry, metadata } = openRegistry(t.testdir(), { limits })
  t.teardown(() => metadata.close())
  const id = successOf(await registry.add(given()))
  t.match(await registry.add(given()), { ok: false, error: { kind: 'registrationsFull' } })
  metadata.broken = true
  await t.rejects(registry.remove(tenant, id), { message: 'broken' })
  t.ok(registry.index.resource(tenant, id))
  metadata.broken = false
  t.match(await registry.remove(tenant, id), { ok: true })
  t.match(await registry.add(given()), { ok: true })
})
