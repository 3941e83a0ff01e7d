import fc from 'fast-check'
import { test } from 'tap'
import { parseDate, parseDecimal, plainDate, quote, renderValue, valueAt } from '../../src/model/context/value.js'
import { staysWithin } from '../pace.js'
import { unicodeText } from '../unicode-text.js'

test('keys reach into objects and nowhere else', async (t) => {
  const value = { a: { b: ['x'], '': 'empty' }, 'c.d': null }
  t.equal(valueAt(value, []), value)
  t.same(valueAt(value, ['a', 'b']), ['x'])
  t.equal(valueAt(value, ['a', '']), 'empty')
  t.equal(valueAt(value, ['c.d']), null)
  for (const keys of [['z'], ['a', 'b', '0'], ['a', 'b', 'length'], ['c.d', 'e'], ['constructor'], ['a', 'toString']]) {
    t.equal(valueAt(value, keys), undefined, keys.join('/'))
  }
})

test('an ISO 8601 date is an instant in seconds, in UTC unless it names its zone', async (t) => {
  const day = Date.UTC(2031, 2, 1) / 1000
  t.equal(parseDate('2031-03-01'), day)
  t.equal(parseDate('2031-03-01T10'), day + 36_000)
  t.equal(parseDate('2031-03-01T10:30'), day + 37_800)
  t.equal(parseDate('2031-03-01T1030'), day + 37_800)
  t.equal(parseDate('2031-03-01T10:30:15Z'), day + 37_815)
  t.equal(parseDate('2031-03-01T103015.5'), day + 37_815.5)
  t.equal(parseDate('2031-03-01T10:30:15.123987Z'), day + 37_815.123)
  t.equal(parseDate('2031-03-01T10:30+02:00'), day + 30_600)
  t.equal(parseDate('2031-03-01T10:30-0130'), day + 43_200)
  t.equal(parseDate('2031-03-01T10-02'), day + 43_200)
  t.equal(parseDate('9999-12-31T23:59:59.999Z'), Date.UTC(10_000, 0) / 1000 - 0.001)
  t.equal(parseDate('2032-02-29'), Date.UTC(2032, 1, 29) / 1000)
})

test('what is no real date, or not written as one, is none', async (t) => {
  const texts = [
    '2031-02-29',
    '2031-13-01',
    '2031-00-10',
    '2031-01-00',
    '1899-12-31',
    '2031-03-01Z',
    '2031-03-01+02:00',
    '2031-03-01T24:00',
    '2031-03-01T10:60',
    '2031-03-01T10:30:60',
    '2031-03-01T10:3015',
    '2031-03-01T1030:15',
    '2031-03-01T10:30:15.',
    '2031-03-01T10:30+24:00',
    '2031-03-01t10:30',
    '2031-03-01T10:30z',
    '2031-3-1',
    '20310301',
    ' 2031-03-01',
    '2031-03-01T10:30:15.1234567890',
    '9999-12-31T23:30-01:00',
  ]
  for (const text of texts) t.equal(parseDate(text), undefined, text)
})

test('every date that is written out is read as itself', async () => {
  fc.assert(
    fc.property(fc.date({ min: new Date('1900-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }), (date) => {
      return parseDate(date.toISOString()) === date.getTime() / 1000
    }),
  )
})

test('the colons of a time are all there or none', async () => {
  const form =
    /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d)(?:(?<colon>:?)(\d\d)(?:\k<colon>(\d\d)(?:\.(\d+))?)?)?(?:Z|([+-])(\d\d)(?::?(\d\d))?)?)?$/
  const parts = fc.constantFrom('10', '23', ':', '', 'Z', '+', '.5')
  const time = fc.array(parts, { maxLength: 8 }).map((each) => `2024-02-03T${each.join('')}`)
  fc.assert(
    fc.property(time, (text) => text.length > 29 || (parseDate(text) !== undefined) === form.test(text)),
    { numRuns: 20_000 },
  )
})

const text = fc.oneof(unicodeText({ maxLength: 5 }), fc.string({ maxLength: 5 }))

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
    const isLinear = await staysWithin(1000, () => t.equal(parseDecimal(text), undefined))
    t.ok(isLinear, `${text.slice(0, 5)} ${text.length}`)
  }
})
