import fc from 'fast-check'
import { test } from 'tap'
import type { Entity, Value } from '../../src/model/context/entity.js'
import type { Point } from '../../src/model/context/geo/shape.js'
import { compareEntities, compareValues, parseOrder, withBuiltins } from '../../src/model/context/order.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
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

test('kinds come in the order null, numbers, texts, objects, arrays, booleans', async (t) => {
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

test('geo:distance as the first key is the distance from the centre, else it is ignored [NGSIv2 context 7.6]', async (t) => {
  const at = (id: string, value: Value, n: string): Entity =>
    entity({ id, attributes: [attribute('at', value, { type: 'geo:json', isLocation: true }), attribute('n', n)] })
  const pointAt = (longitude: number): Value => ({ type: 'Point', coordinates: [longitude, 48] })
  const around = {
    type: 'Polygon',
    coordinates: [
      [
        [16, 47],
        [17, 47],
        [17, 49],
        [16, 49],
        [16, 47],
      ],
    ],
  }
  const held = [
    at('Far', pointAt(19), '1'),
    at('Mid', pointAt(17), '1'),
    at('Mid2', pointAt(17), '2'),
    at('Around', around, '9'),
  ]
  const centre = { latitude: 48, longitude: 16.5 }
  const near = (text: string, from?: Point): readonly string[] =>
    [...held.entries()]
      .map(([sequence, one]) => ({ ...one, sequence: sequence as Sequence }))
      .sort(compareEntities(withBuiltins(parseOrder(text), from)))
      .map(({ id }) => id)
  t.same(near('geo:distance', centre), ['Around', 'Mid', 'Mid2', 'Far'])
  t.same(near('!geo:distance', centre), ['Far', 'Mid', 'Mid2', 'Around'])
  t.same(near('geo:distance,!n', centre), ['Around', 'Mid2', 'Mid', 'Far'])
  t.same(near('n,geo:distance', centre), ['Far', 'Mid', 'Mid2', 'Around'])
  t.same(near('geo:distance'), ['Far', 'Mid', 'Mid2', 'Around'])
})
