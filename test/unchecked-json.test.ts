import { test } from 'tap'
import { isCount, jsonIn } from '../src/unchecked-json.js'

test('a JSON text has a value, and malformed JSON has none', async (t) => {
  t.same(jsonIn('{"a":[1,null]}'), { a: [1, null] })
  t.equal(jsonIn('null'), null)
  for (const text of ['', '{', 'undefined']) t.equal(jsonIn(text), undefined, text)
})

test('a count is a whole number that is not negative and that a double has exactly', async (t) => {
  for (const raw of [0, 1, Number.MAX_SAFE_INTEGER]) t.ok(isCount(raw), String(raw))
  for (const raw of [-1, 0.5, 2 ** 53, Number.NaN, '1', null, undefined]) t.notOk(isCount(raw), String(raw))
})
