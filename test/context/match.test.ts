import { test } from 'tap'
import type { Entity, EntityId, EntityType, ServicePath, Tenant } from '../../src/model/context/entity.js'
import { parseFilter } from '../../src/model/context/filter-parse.js'
import type { Area } from '../../src/model/context/geo/area.js'
import { compileQuery } from '../../src/model/context/match.js'
import type { Query, Scope, Selector } from '../../src/model/context/query.js'
import { attribute, entity } from './given-entity.js'

const everything: Query = {
  tenant: '' as Tenant,
  paths: [{ path: '/' as ServicePath, below: true }],
  selectors: [{ id: { kind: 'any' }, type: undefined }],
  attributes: [],
  scopes: [],
  order: [],
  offset: 0,
  limit: 20,
  counted: false,
}

const held: readonly Entity[] = [
  entity({
    id: 'Silo1',
    attributes: [attribute('level', '1'), attribute('place', '48.2, 16.37', { isLocation: true })],
  }),
  entity({ id: 'Silo12', type: '', attributes: [attribute('level', '2')] }),
  entity({ id: 'NorthSilo', type: 'Barn', path: '/a/b', attributes: [attribute('humidity', '3')] }),
  entity({ id: 'Silo1', type: 'Barn', path: '/a' }),
]

/** Which of the entities held are results, by their index. */
function results(query: Partial<Query>): readonly number[] {
  const matches = compileQuery({ ...everything, ...query })
  return held.flatMap((one, at) => (matches(one) ? [at] : []))
}

function exact(id: string, type?: string): Selector {
  return { id: { kind: 'exact', id: id as EntityId }, type: type as EntityType | undefined }
}

function pattern(text: string, type?: string): Selector {
  return { id: { kind: 'pattern', pattern: text }, type: type as EntityType | undefined }
}

function filter(text: string): Scope {
  const parsed = parseFilter(text, 'attributes', 'ngsi1')
  if (!parsed.ok) throw new Error(parsed.error.kind)
  return { kind: 'filter', filter: parsed.value }
}

test('a result lives in one of the paths', async (t) => {
  const path = '/a' as ServicePath
  t.same(results({}), [0, 1, 2, 3])
  t.same(results({ paths: [{ path, below: false }] }), [3])
  t.same(results({ paths: [{ path, below: true }] }), [2, 3])
})

test('a result matches at least one selector, by exact id or by pattern, of any type or of one', async (t) => {
  t.same(results({ selectors: [exact('Silo1')] }), [0, 3])
  t.same(results({ selectors: [exact('Silo1', 'Barn')] }), [3])
  t.same(results({ selectors: [exact('Silo12', 'Barn')] }), [])
  t.same(results({ selectors: [exact('Silo1', 'Silo'), exact('Silo1', 'Barn'), exact('Silo9')] }), [0, 3])
  t.same(results({ selectors: [pattern('Silo1')] }), [0, 1, 3])
  t.same(results({ selectors: [pattern('^Silo[0-9]$', 'Silo')] }), [0])
  t.same(results({ selectors: [exact('Silo12'), pattern('North')] }), [1, 2])
  t.same(results({ selectors: [{ id: { kind: 'any' }, type: 'Barn' as EntityType }] }), [2, 3])
  t.same(results({ selectors: [] }), [])
})

test('a result has at least one of the attributes named, and * names all', async (t) => {
  t.same(results({ attributes: ['level'] }), [0, 1])
  t.same(results({ attributes: ['humidity', 'level'] }), [0, 1, 2])
  t.same(results({ attributes: ['smell'] }), [])
  t.same(results({ attributes: ['smell', '*'] }), [0, 1, 2, 3])
})

test('a result satisfies every scope', async (t) => {
  const circle = { kind: 'circle', centre: { latitude: 48.2, longitude: 16.37 }, radius_m: 10 } as const
  const within: Area = { ...circle, inverted: false }
  const without: Area = { ...circle, inverted: true }
  t.same(results({ scopes: [{ kind: 'typed' }] }), [0, 2, 3])
  t.same(results({ scopes: [{ kind: 'untyped' }] }), [1])
  t.same(results({ scopes: [{ kind: 'area', area: within }] }), [0])
  t.same(results({ scopes: [{ kind: 'area', area: without }] }), [], 'nothing without a location is outside')
  t.same(results({ scopes: [filter('level')] }), [0, 1])
  t.same(results({ scopes: [filter('level'), { kind: 'typed' }] }), [0])
  t.same(results({ scopes: [filter('level'), filter("level=='2'")] }), [1])
})

test('a pattern that was never checked is a fault', async (t) => {
  t.throws(() => compileQuery({ ...everything, selectors: [pattern('*')] }))
})

test('a type may have to match a pattern, or to be one of several [NGSIv2 context 8.1, 10.1]', async (t) => {
  const any = { id: { kind: 'any' }, type: undefined } as const
  t.same(results({ selectors: [{ ...any, typePattern: 'arn' }] }), [2, 3])
  t.same(results({ selectors: [{ ...exact('Silo1'), typePattern: '^S' }, pattern('North', 'Barn')] }), [0, 2])
  t.same(results({ selectors: [{ ...any, typePattern: '^$' }] }), [1])
  t.same(results({ scopes: [{ kind: 'types', types: ['Silo', 'Barn'] as EntityType[] }] }), [0, 2, 3])
  t.same(results({ scopes: [{ kind: 'types', types: [] }] }), [])
})
