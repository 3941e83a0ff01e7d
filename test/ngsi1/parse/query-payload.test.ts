import { test } from 'tap'
import { detailsOfPayload } from '../../../src/api/ngsi1/parse/payload-errors.js'
import { parseQuery } from '../../../src/api/ngsi1/parse/query-payload.js'
import { atOnce } from '../../../src/slices.js'

function parse(payload: unknown, strictIds = false) {
  return atOnce(parseQuery(JSON.stringify(payload), strictIds))
}

function details(payload: unknown): string | undefined {
  const parsed = parse(payload)
  return parsed.ok ? undefined : detailsOfPayload(parsed.error)
}

function restricted(restriction: unknown): unknown {
  return { entities: [{ id: '.*', isPattern: 'true' }], restriction }
}

function scoped(type: unknown, value: unknown): unknown {
  return restricted({ scopes: [{ type, value }] })
}

const refusals: readonly (readonly [payload: unknown, details: string])[] = [
  [{}, 'No entities'],
  [{ entities: [] }, 'No entities'],
  [{ entities: 'x' }, 'No entities'],
  [{ entities: [{ type: 'Silo' }] }, 'empty entityId:id'],
  [{ entities: [{ id: 'a', isPattern: 'maybe' }] }, 'invalid isPattern value for entity: /maybe/'],
  [{ entities: [{ id: 'Silo[', isPattern: 'true' }] }, 'invalid regex for entity id pattern'],
  [
    { entities: [1, 2].map((at) => ({ id: `${'\\pL'.repeat(35)}${at}`, isPattern: 'true' })) },
    `regular expression takes too long to compile: '${'\\pL'.repeat(33)}\\...'`,
  ],
  [
    {
      entities: [{ id: '\\pL'.repeat(35), isPattern: 'true' }],
      restriction: { scopes: [{ type: 'FIWARE::StringQuery', value: `heat~=${'\\pN'.repeat(33)}` }] },
    },
    `regular expression takes too long to compile: '${'\\pN'.repeat(33)}'`,
  ],
  [{ entities: [{ id: 'a\0', isPattern: 'true' }] }, 'invalid regex for entity id pattern'],
  [{ entities: [{ id: 'a' }], attributes: ['level', ''] }, 'Empty attribute name'],
  [{ entities: [{ id: 'a' }], attributes: [{ x: 1 }] }, 'JSON Parse Error: unknown field: /attributes/attribute/x'],
  [{ entities: [{ id: 'a', colour: 'red' }] }, 'JSON Parse Error: unknown field: /entities/entity/colour'],
  [{ entities: [{ id: 'Silo(1|2)', isPattern: 'true' }] }, 'Illegal value for JSON field'],
  [restricted({}), 'empty restriction'],
  [restricted('x'), 'empty restriction'],
  [restricted({ scopes: [] }), 'empty restriction'],
  [restricted({ scopes: [{ type: 'a', value: 'b' }], attributeExpression: '' }), 'Empty attribute expression'],
  [restricted({ scopes: [{ value: 'entity::type' }] }), 'Empty type in restriction scope'],
  [restricted({ scopes: [{ type: 'a' }] }), 'Empty value in restriction scope'],
  [scoped('FIWARE::StringQuery', ''), 'Empty value in restriction scope'],
  [scoped('FIWARE::Filter::Existence', 'entity;type'), 'illegal chars in scope'],
  [scoped('FIWARE::Location', { circle: { radius: '<' } }), 'illegal chars in scope'],
  [scoped('FIWARE::Filter::Existence', 'type'), 'invalid value in restriction scope: FIWARE::Filter::Existence'],
  [scoped('FIWARE::Filter::!::Existence', 'type'), 'invalid value in restriction scope: FIWARE::Filter::!::Existence'],
  [scoped('FIWARE::StringQuery', { a: 'b' }), 'invalid value in restriction scope: FIWARE::StringQuery'],
  [scoped('FIWARE::StringQuery', '==1'), 'empty left-hand-side in q-item'],
  [scoped('FIWARE::Location', { square: {} }), 'invalid area: a circle or a polygon is expected'],
  [
    placed(['coveredBy'], 'point', [[1, 2]]),
    'Query not supported: point geometry cannot be used with coveredBy georel',
  ],
  [placed(['coveredBy'], 'line', []), 'Query not supported: line geometry cannot be used with coveredBy georel'],
  [placed(['intersects'], 'line', [[1, 2]]), 'Query not supported: not enough points for a line'],
  [placed(['intersects'], 'polygon', [[1, 2]]), 'Query not supported: not enough vertices for a polygon'],
  [placed(['intersects'], 'box', [[1, 2]]), 'Query not supported: invalid number of coordinates for /box/'],
  [placed(['touches'], 'point', [[1, 2]]), 'Query not supported: Invalid modifier in georel parameter'],
  [placed('near', 'point', [[1, 2]]), 'Query not supported: Invalid modifier in georel parameter'],
  [placed(['near', { a: 'b' }], 'point', []), 'Query not supported: Invalid modifier in georel parameter'],
  [placed(['equals'], 'point', [[1, 2, 3]]), 'Query not supported: invalid point in URI param /coords/'],
  [placed(['equals'], 'point', ['1,2']), 'Query not supported: invalid point in URI param /coords/'],
  [placed(['equals'], 'point', [['1', 'b']]), 'Query not supported: invalid coordinates'],
  [placed(['equals'], 'point', [[true, null]]), 'Query not supported: invalid coordinates'],
  [
    placed(['equals'], ['point'], [[1, 2]]),
    'Query not supported: error parsing geometry: Invalid selector in geometry specification',
  ],
  [
    scoped('FIWARE::Location::NGSIv2', 'near'),
    'Query not supported: error parsing geometry: Invalid selector in geometry specification',
  ],
  [placed(['near'], 'point;point', [[1, 2]]), 'illegal chars in scope'],
]

function placed(georel: unknown, geometry: unknown, coords: unknown): unknown {
  return scoped('FIWARE::Location::NGSIv2', { georel, geometry, coords })
}

for (const [payload, text] of refusals) {
  test(`${JSON.stringify(payload).slice(0, 90)} is refused: ${text}`, async (t) => t.equal(details(payload), text))
}

test('a place may have its numbers as texts', async (t) => {
  const places = [
    placed(['near', 'maxDistance:2500'], 'point', [[48.2, 16.37]]),
    placed(['near', 'maxDistance:2500'], 'point', [['48.2', '16.37']]),
  ]
  const centre = { latitude: 48.2, longitude: 16.37 }
  const place = { relation: 'near', centre, minDistance_m: undefined, maxDistance_m: 2500 }
  for (const given of places) t.match(parse(given), { ok: true, value: { scopes: [{ kind: 'place', place }] } })
})

test('selectors have an id or a pattern, and a type or any', async (t) => {
  const entities = [{ id: 'Silo1', type: 'Silo' }, { id: 'S', isPattern: true, type: '' }, { id: 7 }]
  t.same(parse({ entities }), {
    ok: true,
    value: {
      selectors: [
        { id: { kind: 'exact', id: 'Silo1' }, type: 'Silo' },
        { id: { kind: 'pattern', pattern: 'S' }, type: undefined },
        { id: { kind: 'exact', id: '7' }, type: undefined },
      ],
      attributes: [],
      scopes: [],
    },
  })
})

test('the name * among the attributes means all', async (t) => {
  t.match(parse({ entities: [{ id: 'a' }], attributes: ['level', '*'] }), { value: { attributes: [] } })
  t.match(parse({ entities: [{ id: 'a' }], attributes: ['level', 'x'] }), { value: { attributes: ['level', 'x'] } })
})

test('every scope that is known restricts, one of an unknown type and an expression do not', async (t) => {
  const scopes = [
    { type: 'FIWARE::Filter::Existence', value: 'entity::type' },
    { value: 'entity::type', type: 'FIWARE::Filter::Not::Existence' },
    { type: 'FIWARE::Filter::!::Existence', value: 'entity::type' },
    { type: 'Acme::Colour', value: { deep: ['blue'] } },
    { type: 'FIWARE_Location', value: { circle: { centerLatitude: 1, centerLongitude: 2, radius: 3 } } },
    { type: 'FIWARE::StringQuery', value: "level=='64';open" },
    { type: 'FIWARE::StringQuery::Metadata', value: 'level.unit==raw' },
  ]
  const parsed = parse(restricted({ scopes, attributeExpression: 'x' }))
  const kinds = ['typed', 'untyped', 'untyped', 'area', 'filter', 'filter']
  t.same(parsed.ok && parsed.value.scopes.map(({ kind }) => kind), kinds)
  t.ok(parse(restricted({ attributeExpression: 'whatever' })).ok)
})

test('strict ids look at names and types of a query, not at ids, which may be patterns', async (t) => {
  t.ok(parse({ entities: [{ id: 'a?b', isPattern: 'true' }] }, true).ok)
  t.notOk(parse({ entities: [{ id: 'a', type: 'b c' }] }, true).ok)
  t.notOk(parse({ entities: [{ id: 'a' }], attributes: ['b c'] }, true).ok)
})
