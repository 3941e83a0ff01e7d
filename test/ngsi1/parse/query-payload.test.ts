import { test } from 'tap'
import { parseQuery } from '../../../src/ngsi1/parse/query-payload.js'
import { detailsOfPayload } from '../../../src/ngsi1/render/payload-errors.js'
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
  [scoped('FIWARE::StringQuery', { a: 'b' }), 'invalid value in restriction scope: FIWARE::StringQuery'],
  [scoped('FIWARE::StringQuery', '==1'), 'empty left-hand-side in q-item'],
  [scoped('FIWARE::Location', { square: {} }), 'invalid area: a circle or a polygon is expected'],
]

for (const [payload, text] of refusals) {
  test(`${JSON.stringify(payload).slice(0, 90)} is refused: ${text}`, async (t) => t.equal(details(payload), text))
}

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
    { type: 'Acme::Colour', value: { deep: ['blue'] } },
    { type: 'FIWARE_Location', value: { circle: { centerLatitude: 1, centerLongitude: 2, radius: 3 } } },
    { type: 'FIWARE::StringQuery', value: "level=='64';open" },
    { type: 'FIWARE::StringQuery::Metadata', value: 'level.unit==raw' },
  ]
  const parsed = parse(restricted({ scopes, attributeExpression: 'x' }))
  t.same(parsed.ok && parsed.value.scopes.map(({ kind }) => kind), ['typed', 'untyped', 'area', 'filter', 'filter'])
  t.ok(parse(restricted({ attributeExpression: 'whatever' })).ok)
})

test('strict ids look at names and types of a query, not at ids, which may be patterns', async (t) => {
  t.ok(parse({ entities: [{ id: 'a?b', isPattern: 'true' }] }, true).ok)
  t.notOk(parse({ entities: [{ id: 'a', type: 'b c' }] }, true).ok)
  t.notOk(parse({ entities: [{ id: 'a' }], attributes: ['b c'] }, true).ok)
})
