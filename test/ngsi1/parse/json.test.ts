import fc from 'fast-check'
import { test } from 'tap'
import { maxNesting } from '../../../src/json-reader.js'
import { type Json, readJson } from '../../../src/ngsi1/parse/json.js'
import { atOnce } from '../../../src/slices.js'
import { runs } from '../../runs.js'

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
