import fc from 'fast-check'
import { test } from 'tap'
import type { Entity } from '../../src/context/entity.js'
import { compareEntities, compareValues, parseOrder } from '../../src/context/order.js'
import { attribute, entity } from './given-entity.js'

function ordered(text: string, entities: readonly Entity[]): readonly string[] {
  return [...entities].sort(compareEntities(parseOrder(text))).map(({ id }) => id)
}

test('orderBy is a list of names, each reversed by an exclamation mark', async (t) => {
  t.same(parseOrder('grain, !level'), [
    { by: 'grain', reversed: false },
    { by: 'level', reversed: true },
  ])
  t.same(parseOrder(',!,grain,'), [{ by: 'grain', reversed: false }])
  t.same(parseOrder(''), [])
})

const silos = [
  entity({ id: 'A', type: 'T2', sequence: 3, created: 10, modified: 50, attributes: [attribute('grain', 'rye')] }),
  entity({ id: 'B', type: 'T1', sequence: 1, created: 30, modified: 40, attributes: [attribute('grain', 'barley')] }),
  entity({ id: 'C', type: '', sequence: 4, created: 20, modified: 60, attributes: [attribute('grain', 'rye')] }),
  entity({ id: 'D', type: 'T1', sequence: 2, created: 40, modified: 70 }),
]

test('entities are ordered by an attribute, those without it first, ties by creation', async (t) => {
  t.same(ordered('grain', silos), ['D', 'B', 'A', 'C'])
  t.same(ordered('!grain', silos), ['A', 'C', 'B', 'D'])
  t.same(ordered('', silos), ['B', 'D', 'A', 'C'])
  t.same(ordered('smell', silos), ['B', 'D', 'A', 'C'])
})

test('entities are ordered by id, type and dates, and by a second name where the first one ties', async (t) => {
  t.same(ordered('!id', silos), ['D', 'C', 'B', 'A'])
  t.same(ordered('type', silos), ['C', 'B', 'D', 'A'])
  t.same(ordered('dateCreated', silos), ['A', 'C', 'B', 'D'])
  t.same(ordered('!dateModified', silos), ['D', 'C', 'A', 'B'])
  t.same(ordered('type,!dateCreated', silos), ['C', 'D', 'B', 'A'])
})

test('of several instances the first one counts', async (t) => {
  const instances = [attribute('level', '1', { instance: 'a' }), attribute('level', '9', { instance: 'b' })]
  const other = entity({ id: 'X', sequence: 1, attributes: [attribute('level', '5')] })
  t.same(ordered('level', [other, entity({ id: 'Y', sequence: 2, attributes: instances })]), ['Y', 'X'])
})

test('kinds come in the order null, numbers, texts, objects, vectors, booleans', async (t) => {
  const values = [null, -1, 7, '', 'B', 'a', '\uffff', '\u{1F600}', { a: 1 }, [0], false, true]
  for (const [at, value] of values.entries()) {
    for (const later of values.slice(at + 1)) t.ok(compareValues(value, later) < 0, `${value} ${later}`)
  }
  t.equal(compareValues(undefined, null), 0)
  t.equal(compareValues({ a: 1 }, { b: 2 }), 0)
  t.equal(compareValues([1], [2, 3]), 0)
})

test('the order is total: it is antisymmetric and transitive', async () => {
  const value = fc.oneof(fc.constant(null), fc.integer(), fc.string(), fc.boolean(), fc.constant([]), fc.constant({}))
  const sign = (order: number): number => Math.sign(order) || 0
  fc.assert(
    fc.property(value, value, value, (a, b, c) => {
      const transitive = compareValues(a, b) > 0 || compareValues(b, c) > 0 || compareValues(a, c) <= 0
      return sign(compareValues(a, b)) === sign(-compareValues(b, a)) && transitive
    }),
  )
})

test('the service path and the expiration are builtin where a key says so [NGSIv2 context 7.6]', async (t) => {
  const expires = (value: number) => attribute('dateExpires', value, { type: 'DateTime' })
  const entities = [
    entity({ id: 'A', path: '/b', sequence: 1, attributes: [expires(20), attribute('servicePath', '1')] }),
    entity({ id: 'B', path: '/c', sequence: 2, attributes: [expires(10), attribute('servicePath', '3')] }),
    entity({ id: 'C', path: '/a', sequence: 3, attributes: [attribute('servicePath', '2')] }),
  ]
  const builtin = (text: string) => {
    const keys = parseOrder(text).map((key) => ({ ...key, isBuiltin: true }) as const)
    return [...entities].sort(compareEntities(keys)).map(({ id }) => id)
  }
  t.same(builtin('servicePath'), ['C', 'A', 'B'])
  t.same(builtin('!dateExpires'), ['A', 'B', 'C'])
  t.same(ordered('servicePath', entities), ['A', 'C', 'B'], 'for NGSIv1 it is an attribute')
})
