import { test } from 'tap'
import { listed, searched } from '../../src/broker/coordinator/subscription-search.js'
import { neverDelivered } from '../../src/delivery/queue/courier-protocol.js'
import type { EntityId } from '../../src/model/context/entity.js'
import type { SubscriptionInForce } from '../../src/model/subscription/subscription.js'
import { at, tenant } from '../given.js'
import { inForce } from '../given-subscription.js'
import { during } from '../until.js'

const moment = at(1_700_000_000_000)
const every = { tenant, paths: undefined }
const entity = 'Silo7-1' as EntityId

/** Subscriptions each of which has a pattern of its own that needs an engine. */
function ofManyPatterns(number: number) {
  return Array.from({ length: number }, (_, one) =>
    inForce({ selectors: [{ id: { kind: 'pattern', pattern: `^Silo${one}-[0-9]+$` }, type: undefined }] }),
  )
}

test('a filter compares many patterns in slices, between which the thread does other work', async (t) => {
  const all = ofManyPatterns(5000)
  let turns = 0
  const searching = listed(all, { ...every, filter: { entity } }, moment, 60_000)
  const found = await during(searching, () => {
    turns += 1
  })
  t.same(found, { ok: true, value: [all[7]] })
  t.ok(turns > 5, `${turns} turns`)
})

test('a filter that takes longer than a query may take is refused', async (t) => {
  t.match(await listed(ofManyPatterns(5000), { ...every, filter: { entity } }, moment, 0), {
    ok: false,
    error: { kind: 'queryLate' },
  })
})

test('a filter passes over the selectors of one subscription in steps, too', async (t) => {
  const selectors = ofManyPatterns(1000).flatMap(({ subscription }) => subscription.selectors)
  const late = await listed([inForce({ selectors })], { ...every, filter: { entity: 'None' as EntityId } }, moment, 0)
  t.match(late, { ok: false, error: { kind: 'queryLate' } })
})

test('a search by status asks for the deliveries of some subscriptions at a time, and gives the page of those that fit', async (t) => {
  const all = Array.from({ length: 3000 }, () => inForce({}))
  const failing = new Set(all.filter((_, number) => number % 3 === 0))
  const messages: number[] = []
  const shown = async (found: readonly SubscriptionInForce[]) => {
    messages.push(found.length)
    return found.map((held) => ({
      subscription: held.subscription,
      delivery: { ...neverDelivered, failsCounter: failing.has(held) ? 1 : 0 },
      fired: false,
    }))
  }
  const page = await searched(all, { status: 'failed', offset: 900, limit: 200 }, shown, moment)
  t.equal(page.count, 1000)
  const expected = [...failing].slice(900).map(({ subscription }) => subscription)
  t.equal(page.subscriptions.length, 100)
  t.ok(page.subscriptions.every(({ subscription }, at) => subscription === expected[at]))
  t.ok(messages.length > 1 && Math.max(...messages) <= 512, messages.join())
})
