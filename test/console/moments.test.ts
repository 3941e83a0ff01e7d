import { test } from 'tap'
import type { LiveFrame, LiveWaitDistribution } from '../../src/api/console/live-frame.js'
import { type Moment, momentOf, quantileOf, type WholeFrame } from '../../src/api/console/page/moment.js'
import { pastMoment } from '../../src/api/console/page/past-moments.js'
import { Series, thinned } from '../../src/api/console/page/series.js'
import { givenFrame, givenHello } from './given-live.js'

function whole(frame: LiveFrame): WholeFrame {
  return { frame, distributions: new Map(frame.distributions.map((each) => [each.partition, each])) }
}

/** What happened between a frame of nothing and another one, two seconds later. */
function after(changed: Partial<LiveFrame>, before: Partial<LiveFrame> = {}): Moment {
  return momentOf(givenHello, whole(givenFrame(before)), whole(givenFrame({ time_ms: 12_000, ...changed })))
}

test('rates are differences by seconds, and routes say what updates and what reads', async (t) => {
  const { updates, reads, errors, update, read } = after({
    requests: [
      { route: 1, method: 1, codes: [0, 40], durations: [0, 20, 20], total_s: 0.2 },
      { route: 1, method: 0, codes: [0, 9, 1, 1], durations: [2, 10], total_s: 0.5 },
      { route: 0, method: 1, codes: [1, 100], durations: [0, 100], total_s: 1 },
    ],
    errors: [
      [1, 0, 0, 4],
      [2, 0, 0, 40],
    ],
  })
  t.same([updates, reads, errors], [20, 5, 2], 'errors of the console are not counted')
  t.equal(update.mean_s, 0.005)
  t.ok(update.p50_s <= 0.001 && update.p99_s > 0.009, 'half are in the first bucket, the slowest in the second')
  t.ok(read.p50_s > 0.01 && read.p99_s < 0.1)
})

test('percentiles lie within their bucket, count what waited for nothing, and are unknown without values', async (t) => {
  const counts = Float64Array.from([0, 10, 0, 5])
  t.equal(quantileOf([1, 2, 3], counts, 1 / 3), 1.5)
  t.equal(quantileOf([1, 2, 3], counts, 0.99), 3, 'what is beyond the last bound is that bound')
  t.equal(quantileOf([1, 2, 3], counts, 0.5, 85), 0)
  t.same(quantileOf([1, 2, 3], new Float64Array(4), 0.5), Number.NaN)
})

const wait = (count: number, waited: number, total_ns: string): LiveWaitDistribution => ({
  count,
  waited,
  total_ns,
  max_ns: total_ns,
  buckets: waited === 0 ? [] : [1, waited],
})

function waits(since_ms: number, request: LiveWaitDistribution): LiveFrame['waits'] {
  const none = wait(0, 0, '0')
  return { since_ms, request, dbConnectionPool: none, transaction: none, mailbox: none, partitions: [] }
}

test('waits begin at zero with a new measurement, and are unknown while nothing is measured', async (t) => {
  const was = { waits: waits(1, wait(100, 50, '1000000000')) }
  t.same(after({ waits: waits(1, wait(110, 60, '1100000000')) }, was).waits?.request.count, 10)
  t.same(after({ waits: waits(2, wait(7, 3, '100')) }, was).waits?.request.count, 7, 'after a reset')
  t.equal(after({ waits: null }, was).waits, undefined)
})

test('the busy share of a thread is of the time between its own looks at the clock', async (t) => {
  const threads = [
    [500, 1_000, 1, 1],
    [0, 0, 1, 1],
  ] as const
  const { busy } = after({ threads })
  t.same([busy[0], busy[1]], [0.5, Number.NaN])
})

test('the last hour is kept; what was not told is a gap, and what is older is gone', async (t) => {
  const series = new Series()
  for (const second of [10_000, 10_001, 10_004]) series.record(second, { updates: second })
  t.same([...series.last('updates', 5)], [10_000, 10_001, Number.NaN, Number.NaN, 10_004])
  t.equal(series.shown(300), 60, 'a minute at least')
  t.same([...series.last('unknown', 2)], [Number.NaN, Number.NaN])
  series.record(20_000, { updates: 1 })
  t.same(
    [...series.last('updates', 3600)].filter((value) => !Number.isNaN(value)),
    [1],
  )
  series.record(9_000, { updates: 9 })
  t.equal(series.last('updates', 3600).includes(9), false)
})

test('a course in fewer points keeps its peaks and its gaps', async (t) => {
  const { NaN: none } = Number
  t.same([...thinned(Float32Array.from([1, 9, 2, none, none, none, 3, 4]), 4)], [9, 2, none, 4])
})

test('what the broker has kept is charted by the second, as frames are', async (t) => {
  const sample = { time_ms: 10_000, over_s: 5, errors: 10, notified: 20, lag_s: 3, reads: [], waits: null }
  const { updates, reads, errors, notified, lag_s, update, read, waitBuckets } = pastMoment(givenHello, {
    ...sample,
    updates: [1, 50],
  })
  t.same([updates, reads, errors, notified, lag_s], [10, 0, 2, 4, 3])
  t.ok(update.p50_s > 0.001 && update.p99_s < 0.01)
  t.same([read.p99_s, waitBuckets], [Number.NaN, undefined])
  const none = { mailbox: [], transaction: [], dbConnectionPool: [] }
  const waited = pastMoment(givenHello, { ...sample, updates: [], waits: { ...none, request: [2, 5, 10] } })
  t.same([...(waited.waitBuckets?.request ?? [])], [0, 0, 1, 2])
})
