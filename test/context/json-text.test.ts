import fc from 'fast-check'
import { test } from 'tap'
import { plainDate, quote, renderValue } from '../../src/context/json-text.js'

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 5 }), fc.string({ maxLength: 5 }))

test('a text is written as JSON.stringify writes it', async (t) => {
  fc.assert(fc.property(text, (any) => quote(any) === JSON.stringify(any)))
  for (const odd of ['\ud800', '\udfff', '\ud83d\ude00', '\u2028', '\u007f', '\u001f', '"', '\\', '<&>', '[]']) {
    t.equal(quote(odd), JSON.stringify(odd))
  }
})

test('dates are written in UTC with three decimals, under the two types that mean dates [NGSIv2 context 3.3]', async (t) => {
  t.equal(renderValue(1_700_000_000.5, 'DateTime'), '"2023-11-14T22:13:20.500Z"')
  t.equal(plainDate(0, 'ISO8601'), '1970-01-01T00:00:00.000Z')
  t.equal(plainDate(0, 'Number'), undefined)
  t.equal(plainDate('soon', 'DateTime'), undefined)
  t.equal(renderValue(1e300, 'DateTime'), '1e+300', 'no date is that far away')
})

test('numbers have the fewest digits that read back to them [NGSIv2 context 3.1]', async (t) => {
  t.equal(renderValue(0.1 + 0.2, ''), '0.30000000000000004')
  t.equal(renderValue(123456789012345680000, ''), '123456789012345680000')
  t.equal(renderValue([1, -0, 1e21], ''), '[1,0,1e+21]')
})
