import { test } from 'tap'
import { comparedWith } from '../../src/api/console/page/entities/watch.js'
import type { WholeAttribute, WholeEntity } from '../../src/api/console/shapes.js'

const date = '2026-03-04T05:06:07.089Z'

function attribute(name: string, instance: string, value: unknown): WholeAttribute {
  return { name, instance, type: '', value, isLocation: false, metadata: [], created: date, modified: date }
}

function silo(...attributes: readonly WholeAttribute[]): readonly WholeEntity[] {
  const none = { subscriptions: { count: 0, ids: [] }, registrations: [] }
  return [{ id: 'Silo', type: '', service: '', servicePath: '/', created: date, modified: date, attributes, ...none }]
}

test('an attribute that was changed, added or removed is named as clients name it', async (t) => {
  const [low, high] = [attribute('level', 'low', 3), attribute('level', 'high', 9)]
  const first = comparedWith(undefined, silo(low, high), 'now')
  t.same([first.changes, first.fresh.size], [[], 0], 'nothing was seen before')
  t.same(comparedWith(first.seen, silo(low, high), 'now').changes, [])
  const second = comparedWith(first.seen, silo(attribute('level', 'low', 4), attribute('open', '', true)), 'now')
  t.same(second.changes, [
    { at: date, name: 'level', text: '4' },
    { at: date, name: 'open', text: 'true' },
    { at: 'now', name: 'level', text: 'removed' },
  ])
  t.equal(second.fresh.size, 2)
})
