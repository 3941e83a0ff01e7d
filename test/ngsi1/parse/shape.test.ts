import fc from 'fast-check'
import { test } from 'tap'
import { queryShape } from '../../../src/api/ngsi1/parse/query-payload.js'
import { type Json, parseBody, readJson, readQuickly, readThoroughly } from '../../../src/api/ngsi1/parse/shape.js'
import { updateShape } from '../../../src/api/ngsi1/parse/update-payload.js'
import { maxNesting } from '../../../src/json-reader.js'
import { atOnce } from '../../../src/slices.js'
import { meetings, runs } from '../../runs.js'

const name = fc.oneof(fc.constantFrom('', 'level', 'ID', 'location', 'é', '😀', 'a b'), fc.string({ maxLength: 4 }))
const scalar = fc.oneof({ weight: 8, arbitrary: name }, { weight: 1, arbitrary: fc.constantFrom(1, true, null, 2.5) })
const metadata = fc.record({ name: scalar, type: scalar, value: scalar }, { requiredKeys: [] })
const attribute = fc.record(
  {
    name: scalar,
    type: scalar,
    value: fc.oneof({ weight: 6, arbitrary: scalar }, { weight: 1, arbitrary: fc.jsonValue() }),
    metadatas: fc.array(metadata, { maxLength: 3 }),
  },
  { requiredKeys: [] },
)
const element = fc.record(
  {
    id: scalar,
    type: scalar,
    isPattern: scalar,
    attributes: fc.array(attribute, { maxLength: 3 }),
    attributeDomainName: scalar,
    domainMetadatas: fc.array(metadata, { maxLength: 1 }),
  },
  { requiredKeys: [] },
)
const update = fc.record({ contextElements: fc.array(element, { maxLength: 3 }), updateAction: scalar })
const pieces = [
  '"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '\\n',
  '\n',
  '<',
  "'",
  '1',
  'true',
  '"colour":"red",',
  '"id":"x",',
  '"value":{},',
]

/** A payload as text, untouched or with one piece put in, left out or put in the place of something. */
const body = fc
  .tuple(update, fc.constantFrom(0, 2), fc.nat(), fc.nat(2), fc.option(fc.constantFrom(...pieces), { freq: 2 }))
  .map(([payload, indent, at, drop, piece]) => {
    const text = JSON.stringify(payload, null, indent)
    const cut = at % (text.length + 1)
    return piece === null ? text : text.slice(0, cut) + piece + text.slice(cut + drop)
  })

test('a body that is read quickly is read as the rules read it', async (t) => {
  let quick = 0
  fc.assert(
    fc.property(body, (text) => {
      const read = readQuickly(text, updateShape)
      if (read === undefined) return true
      quick += 1
      t.same(atOnce(readThoroughly(text, updateShape, false)), { ok: true, value: read })
      return true
    }),
    { numRuns: runs(3000) },
  )
  t.ok(quick > meetings(300), 'many of the bodies were read quickly')
})

test('a body of texts alone is read quickly, with any spaces between its parts', async (t) => {
  const payload = { contextElements: [{ id: 'Silo1', attributes: [{ name: 'level', value: '64' }] }] }
  t.same(readQuickly(JSON.stringify(payload), updateShape), payload)
  t.same(readQuickly(JSON.stringify(payload, null, 2), updateShape), payload)
})

test('of equal members the last one counts', async (t) => {
  const text = '{"updateAction":"UPDATE","contextElements":[{"id":"a"},{"colour":"x"}],"contextElements":[{"id":"b"}]}'
  const read = { updateAction: 'UPDATE', contextElements: [{ id: 'b' }] }
  t.same(readQuickly(text, updateShape), read)
  t.same(atOnce(readThoroughly(text, updateShape, false)), { ok: true, value: read })
})

test('the first thing that is wrong, in the order of the document, decides', async (t) => {
  const forbidden = { ok: false, error: { kind: 'charactersForbidden' } }
  t.match(atOnce(parseBody('{"updateAction":"<","colour":"red"}', updateShape, false)), forbidden)
  t.match(atOnce(parseBody('{"colour":"red","updateAction":"<"}', updateShape, false)), {
    error: { kind: 'fieldUnknown', path: '/colour' },
  })
})

const unknownFields: readonly (readonly [body: string, path: string])[] = [
  ['{"colour":1}', '/colour'],
  ['{"contextElements":[{"id":"a","colour":"red"}]}', '/contextElements/contextElement/colour'],
  ['{"contextElements":[{"id":{"a":"b"}}]}', '/contextElements/contextElement/id/a'],
  ['{"contextElements":[{"id":["a"]}]}', '/contextElements/contextElement/id/'],
  ['{"contextElements":[["a"]]}', '/contextElements/contextElement/'],
  ['["x"]', '/'],
  ['[]', '/'],
  [
    '{"contextElements":[{"attributes":[{"metadatas":[{"value":{"a":"b"}}]}]}]}',
    '/contextElements/contextElement/attributes/attribute/metadatas/metadata/value/a',
  ],
]

for (const [text, path] of unknownFields) {
  test(`the unknown field of ${text} is ${path}`, async (t) => {
    t.same(atOnce(parseBody(text, updateShape, false)), { ok: false, error: { kind: 'fieldUnknown', path } })
  })
}

for (const text of [
  '',
  'hello',
  '"x"',
  '7',
  '{',
  '{"contextElements":{"contextElement":{}}}',
  '{"updateAction":"a" "b"}',
]) {
  test(`${text} is no payload`, async (t) => {
    t.same(atOnce(parseBody(text, updateShape, false)), { ok: false, error: { kind: 'jsonMalformed' } })
  })
}

test('a scalar in place of an array or an object is taken as empty', async (t) => {
  const text = '{"contextElements":[{"id":"a","attributes":"x"},"y"]}'
  t.same(atOnce(parseBody(text, updateShape, false)), {
    ok: true,
    value: { contextElements: [{ id: 'a', attributes: [] }, {}] },
  })
})

for (const character of "<>'=;()") {
  test(`${character} is forbidden in texts and leaves, but not in keys and in values of scopes`, async (t) => {
    const refusal = { ok: false, error: { kind: 'charactersForbidden' } }
    const value = (json: unknown) => JSON.stringify({ contextElements: [{ attributes: [{ value: json }] }] })
    t.same(atOnce(parseBody(value(character), updateShape, false)), refusal)
    t.same(atOnce(parseBody(value({ rows: ['a', character] }), updateShape, false)), refusal)
    t.same(
      atOnce(
        parseBody(`{"updateAction":"\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}"}`, updateShape, false),
      ),
      refusal,
    )
    t.ok(atOnce(parseBody(value({ [character]: 'a' }), updateShape, false)).ok)
    const scope = { restriction: { scopes: [{ type: 't', value: character }] } }
    t.ok(atOnce(parseBody(JSON.stringify(scope), queryShape, false)).ok)
  })
}

test('a double quote is forbidden', async (t) => {
  t.same(atOnce(parseBody('{"updateAction":"\\""}', updateShape, false)), {
    ok: false,
    error: { kind: 'charactersForbidden' },
  })
})

test('strict ids forbid more characters in ids, names and types, not in values', async (t) => {
  const body = (id: string, value: string) => JSON.stringify({ contextElements: [{ id, attributes: [{ value }] }] })
  for (const id of ['a b', 'a&b', 'a?', 'a/b', '#', 'é', 'a\u0001']) {
    t.notOk(atOnce(parseBody(body(id, '1'), updateShape, true)).ok, id)
    t.ok(atOnce(parseBody(body(id, '1'), updateShape, false)).ok, id)
  }
  t.ok(atOnce(parseBody(body('Silo_1.2', 'a b é /'), updateShape, true)).ok)
})

const parseJson = (text: string) => atOnce(readJson(text))

/** What a parsed value is to NGSIv1: all scalars are texts. */
function asTexts(value: unknown): Json {
  if (Array.isArray(value)) return value.map(asTexts)
  if (typeof value === 'object' && value !== null) {
    return { members: Object.entries(value).map(([key, member]) => [key, asTexts(member)] as const) }
  }
  return String(value)
}

test('scalars keep the characters they were written with', async (t) => {
  t.same(parseJson('[21.50, 1e3, -0, 12345678901234567890, true, null, "21.50"]'), {
    ok: true,
    value: ['21.50', '1e3', '-0', '12345678901234567890', 'true', 'null', '21.50'],
  })
})

test('members keep their order and doubled ones stay', async (t) => {
  const members = [
    ['b', '1'],
    ['2', 'x'],
    ['1', 'y'],
    ['b', '3'],
    ['__proto__', []],
  ]
  t.same(parseJson('{"b":1,"2":"x","1":"y","b":3,"__proto__":[]}'), { ok: true, value: { members } })
})

test('escapes are decoded and half of a surrogate pair is no character', async (t) => {
  t.same(parseJson(String.raw`["\n\"\\\/\u00e9", "\ud83d\ude00", "a\ud83db", "\u0000"]`), {
    ok: true,
    value: ['\n"\\/é', '😀', 'a\ufffdb', '\0'],
  })
})

test('what JSON.stringify writes is read as it was', async () => {
  const value = fc.jsonValue().filter((json) => JSON.stringify(json).isWellFormed())
  fc.assert(
    fc.property(value, fc.constantFrom('', ' ', '\t'), (json, indent) => {
      const read = parseJson(JSON.stringify(json, null, indent))
      // Numbers are compared by their spelling, which JSON.stringify chooses like String, except for -0.
      return read.ok && JSON.stringify(read.value) === JSON.stringify(asTexts(JSON.parse(JSON.stringify(json))))
    }),
  )
})

test('a text is JSON exactly when the engine says so', async () => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"',
    '\\',
    '\\u00',
    'e',
    '-',
    '1',
    '0',
    '.',
    'true',
    'nul',
    ' ',
    '\n',
    '\u0001',
    '\u2028',
  ]
  const soup = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''))
  const damaged = fc.tuple(fc.json(), fc.nat(), fc.constantFrom('', ...pieces)).map(([json, at, piece]) => {
    const cut = at % (json.length + 1)
    return json.slice(0, cut) + piece + json.slice(cut + 1)
  })
  fc.assert(
    fc.property(fc.oneof(soup, damaged), (text) => parseJson(text).ok === isJson(text)),
    { numRuns: runs(2000) },
  )
})

test('a body may nest so deep and no deeper, however long it is', async (t) => {
  t.ok(parseJson('['.repeat(maxNesting) + ']'.repeat(maxNesting)).ok)
  t.notOk(parseJson('['.repeat(maxNesting + 1) + ']'.repeat(maxNesting + 1)).ok)
  t.notOk(parseJson('{"a":'.repeat(200_000)).ok)
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
