import fc from 'fast-check'
import { test } from 'tap'
import { jsonFaultAt } from '../../src/transfer/json-fault.js'

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('the place of a fault in JSON is that of the first character that cannot stand there', async (t) => {
  const faults: readonly (readonly [text: string, at: number])[] = [
    ['{"a":1,}', 7],
    ['{"a" 1}', 5],
    ['[1 2]', 3],
    ['{"a":tru}', 5],
    ['{"a":"x', 5],
    ['[1,2', 4],
    ['', 0],
    ['{} {}', 3],
    ['{"a":[1}', 7],
    ['{1:2}', 1],
    ['[,]', 1],
    ['[1,]', 3],
  ]
  for (const [text, at] of faults) t.equal(jsonFaultAt(text), at, text)
})

test('a text has no fault before its end where it is JSON, and one where it is not', async () => {
  const texts = fc.oneof(
    fc.json(),
    fc.tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', ']', '\\', '1', ':')).map(([json, at, put]) => {
      const place = at % (json.length + 1)
      return json.slice(0, place) + put + json.slice(place + 1)
    }),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const at = jsonFaultAt(text)
      if (isJson(text)) return at === text.length
      // What stands before it is the beginning of some JSON: at most as long as the text.
      return at <= text.length
    }),
  )
})
