import { test } from 'tap'
import { parseQueryPayload } from '../../src/api/ngsi2/parse/query-body.js'

function refusal(payload: unknown): unknown {
  const parsed = parseQueryPayload(typeof payload === 'string' ? payload : JSON.stringify(payload))
  return parsed.ok ? undefined : JSON.parse(String(parsed.error.body))
}

const any = [{ id: { kind: 'any' }, type: undefined }]

test('what is no JSON object is refused by the parser [NGSIv2 context 15]', async (t) => {
  for (const body of ['', '{', '[]', '7', 'null', '"a"', '{"attrs":[]} x']) {
    t.same(refusal(body), { error: 'ParseError', description: 'Errors found in incoming JSON buffer' }, body)
  }
})

test('the first mistake in the order of the document is told [NGSIv2 context 11.2]', async (t) => {
  const item = (more: object) => ({ entities: [{ id: 'V', ...more }] })
  for (const [payload, description] of [
    [{}, 'empty payload'],
    [{ metadata: ['a'], scopes: [] }, 'Invalid JSON payload, no relevant fields found'],
    [{ attrs: [], scopes: [] }, 'Unrecognized field in JSON payload: /scopes/'],
    [{ scopes: [], attrs: 7 }, 'Unrecognized field in JSON payload: /scopes/'],
    [{ attrs: 7, scopes: [] }, 'the field /attrs/ must be a JSON array'],
    [{ attributes: [null] }, 'only JSON Strings allowed in attributes list'],
    [{ attrs: [], metadata: [{}] }, 'only JSON Strings allowed in metadata list'],
    [{ entities: {} }, 'not a JSON array'],
    [{ entities: [[]] }, 'entity is not a JSON object'],
    [{ entities: [{ type: 'T' }] }, 'nor /id/ nor /idPattern/ present'],
    [item({ idPattern: 'V' }), 'both /id/ and /idPattern/ present'],
    [item({ type: 'T', typePattern: 'T' }), 'type and typePattern cannot be both filled at the same time'],
    [item({ heat: {} }), 'no attributes allowed in Entity in this payload'],
    [item({ type: 7 }), 'Invalid JSON type for entity type'],
    [item({ type: '' }), 'entity type length: 0, min length supported: 1'],
    [item({ type: 'a b' }), 'Invalid characters in entity type'],
    [item({ type: 'a<b' }), 'Invalid characters in entity type'],
    [item({ typePattern: '*[' }), 'Invalid regex for entity typePattern'],
    [{ entities: [{ id: 'n'.repeat(257) }] }, 'entity id length: 257, max length supported: 256'],
    [{ entities: [{ idPattern: {} }] }, 'Invalid JSON type for entity idPattern'],
    [{ entities: [{ idPattern: '(a{900}){900}' }] }, 'Invalid regex for entity idPattern'],
    [{ entities: Array(1001).fill({ id: 'V' }) }, 'too many entities [max: 1000]'],
    [
      { entities: Array.from({ length: 100 }, (_, n) => ({ idPattern: `${n}[a-z]{400}` })) },
      "regular expression takes too long to compile: '24[a-z]{400}'",
    ],
    [
      {
        entities: [{ idPattern: '.*', typePattern: '^\\pL'.repeat(40) }],
        expression: { q: `a~=${'\\pN'.repeat(30)}$` },
      },
      `regular expression takes too long to compile: '${'\\pN'.repeat(30)}$'`,
    ],
    [{ attrs: Array(1001).fill('a') }, 'too many names in attrs list [max: 1000]'],
    [{ expression: [] }, 'expression is not an object'],
    [{ expression: {} }, 'expression is empty'],
    [{ expression: { coords: null } }, 'coords is not a string'],
    [{ expression: { mq: '' } }, 'mq is empty'],
    [{ expression: { q: '==7', mq: 7 } }, 'empty left-hand-side in q-item'],
    [{ expression: { mq: 'heat' } }, 'no metadata in right-hand-side of q-item'],
  ] as const) {
    t.same(refusal(payload), { error: 'BadRequest', description }, JSON.stringify(payload).slice(0, 80))
  }
})

test('what is asked for is what the members say [NGSIv2 context 11.2]', async (t) => {
  const read = (payload: object) => {
    const parsed = parseQueryPayload(JSON.stringify(payload))
    if (!parsed.ok) throw new Error('refused')
    const { query, shown, metadata } = parsed.value
    return { query, shown, metadata }
  }
  t.same(read({ attrs: ['a'], metadata: ['m'] }), {
    query: { selectors: any, attributes: [], scopes: [] },
    shown: ['a'],
    metadata: ['m'],
  })
  t.same(read({ attributes: ['a'] }).shown, ['a'], 'attributes restrict the results and show no others')
  t.same(read({ attributes: ['a'], attrs: ['b'] }), {
    query: { selectors: any, attributes: ['a'], scopes: [] },
    shown: ['b'],
    metadata: [],
  })
  const entities = [{ id: 'V', type: 'T' }, { idPattern: '.*', typePattern: 'b' }, { idPattern: '^V' }]
  t.same(read({ entities }).query.selectors, [
    { id: { kind: 'exact', id: 'V' }, type: 'T' },
    { id: { kind: 'any' }, type: undefined, typePattern: 'b' },
    { id: { kind: 'pattern', pattern: '^V' }, type: undefined },
  ])
  t.same(read({ expression: { q: 'a', mq: 'a.b' } }).query.scopes.length, 2)
})
