import { test } from 'tap'
import { HeldSubscriptions } from '../../src/broker/coordinator/held-subscriptions.js'
import type { Tenant } from '../../src/model/context/entity.js'
import type { Subscription } from '../../src/model/subscription/subscription.js'
import { packed } from '../../src/threads/shared-memory/packed.js'
import { id } from '../given.js'
import { subscription, subscriptionId } from '../given-subscription.js'
import { clock, exact, pattern } from '../subscription/given.js'

const plenty = { subscriptionsMax: 1000, patternSteps: 4_000_000, perEntity: 1000, turnLimit_ms: 60_000 }

function held(limits = plenty, ...stored: readonly Subscription[]): HeldSubscriptions {
  const all = new HeldSubscriptions(packed(stored), limits)
  for (const loading = all.loading(); !loading.next().done; );
  return all
}

/** Has more states than the engine could remember: more than two hundred thousand steps with the longest id. */
function costly(number: number, more: Partial<Subscription> = {}): Subscription {
  return subscription({ selectors: [pattern(`a[ab]{${160 + number}}[cd]`)], ...more })
}

function put(all: HeldSubscriptions, one: Subscription): string {
  const objection = all.objection(one)
  if (objection === undefined) all.put({ subscription: one, clock: clock() })
  return objection?.kind ?? 'put'
}

test('subscriptions are taken up to a limit, and one that takes the place of another needs no room', async (t) => {
  const stored = [1, 2, 3].map(() => subscription())
  const all = held({ ...plenty, subscriptionsMax: 3 }, ...stored)
  t.equal(put(all, subscription()), 'subscriptionsFull')
  const [first] = stored
  if (first === undefined) throw new Error('nothing is stored')
  t.equal(put(all, { ...first, onChange: ['level'] }), 'put')
  t.equal(put(all, { ...first, reference: `http://a/${'x'.repeat(4000)}` }), 'subscriptionsFull')
  all.remove(first.id)
  t.equal(put(all, subscription()), 'put')
})

test('subscriptions are listed by creation, whichever was changed, or came into force, last', async (t) => {
  const stored = [1, 2, 3].map(() => subscription())
  const all = held(plenty, ...stored)
  const ids = () => all.all().map(({ subscription: { id } }) => id)
  const created = stored.map(({ id }) => id)
  t.same(ids(), created)
  const [first, second] = stored
  if (first === undefined || second === undefined) throw new Error('nothing is stored')
  put(all, { ...first, throttling_ms: 1000 })
  t.same(ids(), created, 'a change leaves it where it is, so that pages neither skip nor repeat one')
  // The one that was begun first waits longer for what it begins with.
  const [earlier, later] = [subscription(), subscription()]
  put(all, later)
  put(all, earlier)
  t.same(ids(), [...created, earlier.id, later.id])
  all.remove(second.id)
  put(all, { ...first, throttling_ms: 2000 })
  t.same(ids(), [first.id, created[2], earlier.id, later.id])
})

test('patterns of a tenant that together hold up an update of a new id are refused; equal ones count once', async (t) => {
  const all = held()
  const taken = Array.from({ length: 200 }, (_, number) => put(all, costly(number)))
  const room = taken.indexOf('patternsFull')
  t.ok(room > 10 && room < 20, `${room} of them`)
  t.ok(taken.slice(room).every((result) => result === 'patternsFull'))
  t.equal(put(all, costly(0)), 'put', 'it is there already')
  t.equal(put(all, costly(room, { onChange: undefined, interval_ms: 1000 })), 'put', 'no change is compared with it')
  t.equal(put(all, costly(room, { tenant: 'other' as Tenant })), 'put')
  t.equal(put(all, subscription({ selectors: [pattern('^Silo')] })), 'put', 'it needs no engine')
  const [first] = all.all()
  if (first === undefined) throw new Error('nothing is held')
  const longer = { ...first.subscription, expires: first.subscription.expires }
  t.equal(put(all, longer), 'put', 'what is held may be changed without new patterns')
})

test('a tenant has thousands of the patterns that clients write, and many hundreds of large ones', async (t) => {
  const all = held({ ...plenty, subscriptionsMax: 10_000, perEntity: 10_000 })
  const cities = '(Paris|Rome|Berlin|Madrid|Vienna|London)'
  for (let number = 0; number < 500; number += 1) {
    for (const text of [
      `^Room${number}.*$`,
      `Room${number}`,
      `^Room${number}$`,
      `urn:ngsi-ld:Device${number}:.*`,
      `Silo${number}-[0-9]+`,
      `${cities}-[A-Z]{2}${number}:[0-9a-f]{4}$`,
    ]) {
      t.equal(put(all, subscription({ selectors: [pattern(text)] })), 'put', text)
    }
  }
  t.equal(put(all, subscription({ selectors: [pattern('.*')] })), 'put')
})

test('one subscription has no more patterns than a partition can take up at once', async (t) => {
  const selectors = (number: number) => Array.from({ length: number }, (_, at) => pattern(`[ab]a.{10}${at}[cd]`))
  const all = held({ ...plenty, patternSteps: 1_000_000_000 })
  t.equal(put(all, subscription({ selectors: selectors(6) })), 'put')
  t.equal(put(all, subscription({ selectors: selectors(7) })), 'patternsFull')
})

test('a limited number of subscriptions may be about one entity: to its id, and to patterns or all ids', async (t) => {
  const all = held({ ...plenty, perEntity: 10 })
  const toTank = subscription({ selectors: [exact(id('Tank1'))] })
  const toAll = subscription()
  for (let number = 0; number < 6; number += 1) t.equal(put(all, { ...toTank, id: subscriptionId() }), 'put')
  t.equal(put(all, { ...toTank, id: subscriptionId(), tenant: 'other' as Tenant }), 'put')
  for (let number = 0; number < 4; number += 1) t.equal(put(all, { ...toAll, id: subscriptionId() }), 'put')
  t.equal(put(all, { ...toAll, id: subscriptionId() }), 'entityFull')
  t.equal(put(all, { ...toTank, id: subscriptionId() }), 'entityFull')
  t.equal(
    put(all, { ...toTank, id: subscriptionId(), onChange: undefined, interval_ms: 1000 }),
    'put',
    'changes do not fire it',
  )
  for (let number = 0; number < 6; number += 1) {
    t.equal(put(all, subscription({ selectors: [exact(id('Tank2'))] })), 'put', 'of another entity')
  }
  const held1 = all.all().find(({ subscription: { selectors } }) => selectors[0]?.id.kind === 'exact')
  if (held1 === undefined) throw new Error('nothing is held')
  t.equal(put(all, held1.subscription), 'put', 'what is held may be changed')
  all.remove(held1.subscription.id)
  t.equal(put(all, { ...toTank, id: subscriptionId() }), 'put', 'there is room again')
  t.equal(put(all, { ...toTank, id: subscriptionId() }), 'entityFull')
})

test('a subscription with many selectors and names counts as several', async (t) => {
  const names = Array.from({ length: 100 }, (_, at) => `a${at}`)
  const all = held({ ...plenty, perEntity: 10 })
  const large = { selectors: [exact(id('Tank1'))], onChange: names, attributes: names }
  t.equal(put(all, subscription({ ...large, attributes: [] })), 'put')
  t.equal(put(all, subscription({ ...large, attributes: [] })), 'entityFull')
  t.equal(put(all, subscription({ selectors: [exact(id('Tank1'))] })), 'put')
})

test('what is stored is held although the limits are smaller now', async (t) => {
  const stored = [1, 2, 3].map(() => subscription())
  t.equal(held({ ...plenty, subscriptionsMax: 1, patternSteps: 1 }, ...stored).all().length, 3)
})

test('a change waits for those before it, not for longer than it may, and is not carried out after it was refused', async (t) => {
  const all = held({ ...plenty, turnLimit_ms: 20 })
  const { id: changed } = subscription()
  let end = () => {}
  const before = all.inTurn(changed, () => new Promise<void>((resolve) => (end = resolve)))
  let begun = 0
  const change = async () => {
    begun += 1
    return 'done'
  }
  t.match(await all.inTurnSoon(changed, change), { ok: false, error: { kind: 'queryLate' } })
  end()
  await before
  t.equal(await all.inTurnSoon(changed, change), 'done')
  t.equal(begun, 1)
})
