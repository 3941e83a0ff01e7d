import { test } from 'tap'
import type { Tenant } from '../../src/context/entity.js'
import { HeldSubscriptions } from '../../src/coordinator/held-subscriptions.js'
import { packed } from '../../src/packed.js'
import type { Subscription } from '../../src/subscription/subscription.js'
import { subscription } from '../given-subscription.js'
import { clock, pattern } from '../subscription/given.js'

const plenty = { subscriptionsMax: 1000, patternSteps: 2_000_000, turnLimit_ms: 60_000 }

function held(limits = plenty, ...stored: readonly Subscription[]): HeldSubscriptions {
  const all = new HeldSubscriptions(packed(stored), limits)
  for (const loading = all.loading(); !loading.next().done; );
  return all
}

/** Costs more than a hundred thousand steps with the longest id. */
function costly(number: number, more: Partial<Subscription> = {}): Subscription {
  return subscription({ selectors: [pattern(`(a|b|c|d)*x${number}(e|f|g)+(a|b|c|d)*y`)], ...more })
}

function put(all: HeldSubscriptions, one: Subscription): string {
  const objection = all.objection(one)
  if (objection === undefined) all.put({ subscription: one, clock: clock() })
  return objection?.kind ?? 'put'
}

test('so many subscriptions are taken, and one that takes the place of another needs no room', async (t) => {
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

test('patterns of a tenant that together hold up an update of a new id are refused; equal ones count once', async (t) => {
  const all = held()
  const taken = Array.from({ length: 200 }, (_, number) => put(all, costly(number)))
  const room = taken.indexOf('patternsFull')
  t.ok(room > 4 && room < 20, `${room} of them`)
  t.ok(taken.slice(room).every((said) => said === 'patternsFull'))
  t.equal(put(all, costly(0)), 'put', 'it is there already')
  t.equal(put(all, costly(room, { onChange: undefined, interval_ms: 1000 })), 'put', 'no change is compared with it')
  t.equal(put(all, costly(room, { tenant: 'other' as Tenant })), 'put')
  t.equal(put(all, subscription({ selectors: [pattern('^Silo')] })), 'put', 'it needs no engine')
  const [first] = all.all()
  if (first === undefined) throw new Error('nothing is held')
  const longer = { ...first.subscription, expires: first.subscription.expires }
  t.equal(put(all, longer), 'put', 'what is held may be changed without new patterns')
})

test('what is stored is held although the limits are smaller now', async (t) => {
  const stored = [1, 2, 3].map(() => subscription())
  t.equal(held({ ...plenty, subscriptionsMax: 1, patternSteps: 1 }, ...stored).all().length, 3)
})

test('a change waits for those before it, not for longer than it may, and is not carried out after it was refused', async (t) => {
  const all = held({ ...plenty, turnLimit_ms: 20 })
  const { id } = subscription()
  let end = () => {}
  const before = all.inTurn(id, () => new Promise<void>((resolve) => (end = resolve)))
  let begun = 0
  const change = async () => {
    begun += 1
    return 'done'
  }
  t.match(await all.inTurnSoon(id, change), { ok: false, refusal: { kind: 'queryLate' } })
  end()
  await before
  t.equal(await all.inTurnSoon(id, change), 'done')
  t.equal(begun, 1)
})
