import fc from 'fast-check'
import { test } from 'tap'
import { parseDate } from '../../src/context/date.js'

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
