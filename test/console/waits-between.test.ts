import { test } from 'tap'
import { waitsBetween } from '../../src/console/page/waits/waits-between.js'
import { readWaits, type WaitsReading } from '../../src/console/page/waits/waits-reading.js'
import { figureText, waitsMarkdown } from '../../src/console/page/waits/waits-text.js'

const bounds = [0.001, 0.01, 0.1]
const zero = '0.000000000'
const nothing = { count: 0, waited: 0, total: zero, max: zero, p50: zero, p90: zero, p99: zero, p999: zero }
const idle = { ...nothing, buckets: [0, 0, 0, 0] }

/** What `/admin/waits?details=on` says, where nobody waits but for the mailbox of one partition. */
function given(interval: string, mailbox: object, since_ms = 1000): WaitsReading {
  const busy = { ...idle, ...mailbox }
  return readWaits({
    ...{ enabled: true, since_ms, measuring_interval_in_secs: Math.floor(Number(interval)), interval, bounds },
    waits: {
      request: idle,
      mailbox: { ...busy, partitions: [{ partition: 0, ...busy }] },
      transaction: { ...idle, partitions: [{ partition: 0, ...idle }] },
      dbConnectionPool: { ...idle, partitions: [{ partition: 0, ...idle }] },
    },
  })
}

const before = given('10.000000000', {
  ...{ count: 100, waited: 60, total: '9007199254740993.000000001', max: '0.090000000' },
  ...{ p99: '0.080000000', buckets: [0, 40, 20, 0] },
})
const after = given('12.500000000', {
  ...{ count: 300, waited: 160, total: '9007199254740993.500000000', max: '0.090000000' },
  ...{ p99: '0.070000000', buckets: [0, 140, 20, 0] },
})

test('what lies between two readings is exact in numbers and sums, to the nanosecond', async (t) => {
  const { interval_s, kinds } = waitsBetween(before, after)
  t.equal(interval_s, 2.5)
  t.match(kinds?.mailbox, { count: 200, waited: 100, total: '0.499999999', buckets: [0, 100, 0, 0] })
  t.match(kinds?.mailbox.partitions?.[0], { partition: 0, count: 200, total: '0.499999999' })
  t.match(kinds?.request, nothing)
})

test('its percentiles are about right by its buckets, and its maximum is at most the bound of the last one', async (t) => {
  const mailbox = waitsBetween(before, after).kinds?.mailbox
  if (mailbox === undefined) throw new Error('there are no waits')
  t.match(mailbox, { p50: zero, max: '0.010000000', inexact: { isMaxLimit: true } })
  t.equal(figureText(mailbox, 'max'), '≤ 10.0 ms')
  t.equal(figureText(mailbox, 'p90'), '≈ 8.20 ms', 'four fifths of those that waited, between 1 and 10 ms')
  const longest = waitsBetween(before, given('13', { ...after.kinds?.mailbox, max: '0.095000000' })).kinds?.mailbox
  t.match(longest, { max: '0.095000000', inexact: { isMaxLimit: false } }, 'a new maximum is exact')
})

test('after a reset it is what was waited since then', async (t) => {
  const anew = given('3.000000000', { count: 7 }, 2000)
  t.equal(waitsBetween(before, anew), anew)
})

test('intervals are copied with all partitions, beside each other when there are two', async (t) => {
  const one = waitsMarkdown([{ name: '', reading: before }])
  t.match(one, /^Waits over 10 s; .*\n\n\| wait for \| partition \| count \|/)
  t.match(one, '| Mailbox | all | 100 | 60 | 9007199254740993.000000001 | 0.090000000 |')
  const two = waitsMarkdown([
    { name: 'A', reading: before },
    { name: 'B', reading: waitsBetween(before, after) },
  ])
  t.match(two, /^Waits over A: 10 s, B: 2.5 s;/)
  t.match(two, /\| Mailbox \| 0 \| A \| 100 .*\n\| Mailbox \| 0 \| B \| 200 \| 100 \| 0.499999999 \| ≤ 0.010000000 \|/)
})
