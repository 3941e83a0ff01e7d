import fc from 'fast-check'
import { test } from 'tap'
import { payloadFaultOf } from '../../src/http/operation-run.js'

const parse = 'JSON Parse Error'

test('what is no JSON is shown by line and column, with what is expected there', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['{', 'line 1, column 2: a key in double quotes is expected'],
    ['x', 'line 1, column 1: a value is expected'],
    ['{"a":1,}', 'line 1, column 8: a key in double quotes is expected'],
    ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3: "," or "}" is expected'],
    ['{"a" 1}', 'line 1, column 6: ":" is expected'],
    ['[1 2]', 'line 1, column 4: "," or "]" is expected'],
    ['[1,\n]', 'line 2, column 1: a value is expected'],
    ['{"a":01}', 'line 1, column 7: "," or "}" is expected'],
    ['{} {}', 'line 1, column 4: the end is expected'],
    ["{'a':1}", 'line 1, column 2: a key in double quotes is expected'],
    ['{"a":"b', 'line 1, column 6: a string that is closed'],
    ['{"a":"\u0001"}', 'line 1, column 6: a string that is closed'],
    ['{"a":"\\x"}', 'line 1, column 6: a string that is closed'],
    [`${'['.repeat(201)}`, 'line 1, column 201: no more than 200 levels is expected'],
  ]
  for (const [body, message] of rows) t.match(payloadFaultOf(body, parse), message, body.slice(0, 20))
})

test('a place is where the engine stops, too, or before it', async (t) => {
  const broken = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom('', '}', ',', 'x', '"'))
    .map(([json, at, put]) => json.slice(0, at % (json.length + 1)) + put + json.slice((at % (json.length + 1)) + 1))
  fc.assert(
    fc.property(broken, (body) => {
      const isFound = payloadFaultOf(body, 'nothing of it') !== undefined
      let isJson = true
      try {
        JSON.parse(body)
      } catch {
        isJson = false
      }
      // Numbers beyond a double are JSON for the engine and no value here.
      return isFound === !isJson || /e\+?\d{3}/i.test(body)
    }),
  )
  t.pass()
})

test('a forbidden character is shown with the path of the first text that has one', async (t) => {
  const body = '{"contextElements":[{"id":"a"},{"id":"b","attributes":[{"name":"x","value":"fine"},{"value":"f(x)"}]}]}'
  t.equal(
    payloadFaultOf(body, 'Illegal value for JSON field'),
    'the first text with one of < > " \' = ; ( ) is /contextElements/1/attributes/1/value, it has (',
  )
  t.equal(payloadFaultOf('{"id":"a"}', 'Illegal value for JSON field'), undefined)
  t.equal(payloadFaultOf('{"id":"a(b"}', 'Empty attribute name'), undefined, 'where no character is to blame')
})

test('nothing of the texts of a payload is shown', async (t) => {
  for (const body of ['{"password":"secret" "x"}', '{"password":"sec=ret"}']) {
    t.notMatch(payloadFaultOf(body, 'Illegal value for JSON field'), /sec/)
  }
})
