import { test } from 'tap'
import { parseDecimal } from '../../src/context/value.js'

test('a number is read in decimal form only', async (t) => {
  t.same(['64', '-0.5', '+3', '.5', '5.', '1e3', '2E-2', '007'].map(parseDecimal), [64, -0.5, 3, 0.5, 5, 1000, 0.02, 7])
  for (const text of ['', '.', '-', '1,5', '0x10', '1e', 'Infinity', 'NaN', '1e999', ' 1', '1_000']) {
    t.equal(parseDecimal(text), undefined, text)
  }
})
