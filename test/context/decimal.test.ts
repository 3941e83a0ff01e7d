import fc from 'fast-check'
import { test } from 'tap'
import { parseDecimal } from '../../src/context/value.js'
import { limitNow_ms } from '../pace.js'

test('a number is read in decimal form only', async (t) => {
  t.same(['64', '-0.5', '+3', '.5', '5.', '1e3', '2E-2', '007'].map(parseDecimal), [64, -0.5, 3, 0.5, 5, 1000, 0.02, 7])
  for (const text of ['', '.', '-', '1,5', '0x10', '1e', 'Infinity', 'NaN', '1e999', ' 1', '1_000']) {
    t.equal(parseDecimal(text), undefined, text)
  }
})

test('what is a number is what the pattern says that goes back over its digits', async () => {
  const form = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
  const parts = fc.constantFrom('0', '12', '.', '+', '-', 'e', 'E', ' ', 'x', '\n', '999')
  const text = fc.array(parts, { maxLength: 10 }).map((each) => each.join(''))
  fc.assert(
    fc.property(
      text,
      (given) => (parseDecimal(given) !== undefined) === (form.test(given) && Number.isFinite(Number(given))),
    ),
    { numRuns: 20_000 },
  )
})

test('long texts of digits are read in linear time', async (t) => {
  const digits = '7'.repeat(900_000)
  for (const text of [
    `${digits}x`,
    `${digits}.${digits}x`,
    `.${digits}x`,
    `1e${digits}x`,
    digits,
    `-${digits}.${digits}`,
  ]) {
    const began = performance.now()
    t.equal(parseDecimal(text), undefined)
    t.ok(performance.now() - began < limitNow_ms(1000), `${text.slice(0, 5)} ${text.length}`)
  }
})
