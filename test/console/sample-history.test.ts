import fc from 'fast-check'
import { test } from 'tap'
import { SampleHistory } from '../../src/api/console/sample-history.js'
import { runs } from '../runs.js'

const shape = { kept: 4, sums: 2, gauges: 1, longest_s: 15 }
const date_ms = Date.parse('2026-11-28T12:00:00Z')

function reading(count: number | undefined, gauge = 0) {
  return { sums: [count, count === undefined ? undefined : 10 * count], gauges: [gauge] }
}

/** The samples as the ends of their times before the date, their times, the growth of the first sum, and the figure. */
function shown(history: SampleHistory, at_s: number, count: number | undefined, seconds = 1800, date = date_ms) {
  return history
    .last(seconds, reading(count), at_s, date)
    .map(({ time_ms, over_s, grown, gauges }) => [(time_ms - date) / 1000, over_s, grown[0], gauges[0]])
}

test('samples have the growth of the sums since the sample before, and what has happened since the last', async (t) => {
  const history = new SampleHistory(shape, 100)
  t.same(shown(history, 102, 6), [[0, 2, 6, 0]], 'before the first sample')
  history.take(reading(10, 7), 105)
  history.take(reading(30, 8), 110)
  t.same(shown(history, 112, 33), [
    [-7, 5, 10, 7],
    [-2, 5, 20, 8],
    [0, 2, 3, 0],
  ])
  const [first] = history.last(1800, reading(30), 110, date_ms)
  t.same([...(first?.grown ?? [])], [10, 100], 'each sum has its own')
  t.same(shown(history, 110, 30).length, 2, 'no time has passed since the last')
})

test('the oldest make room for new ones', async (t) => {
  const history = new SampleHistory(shape, 0)
  for (let number = 1; number <= 10; number += 1) history.take(reading(number * number, number), 5 * number)
  t.same(shown(history, 50, 100), [
    [-15, 5, 13, 7],
    [-10, 5, 15, 8],
    [-5, 5, 17, 9],
    [0, 5, 19, 10],
  ])
  t.same(shown(history, 50, 100, 7), [
    [-5, 5, 17, 9],
    [0, 5, 19, 10],
  ])
})

test('a time in which the process slept is a gap', async (t) => {
  const history = new SampleHistory(shape, 0)
  history.take(reading(1), 5)
  history.take(reading(1000), 600)
  history.take(reading(1002), 605)
  t.same(shown(history, 605, 1002), [
    [-600, 5, 1, 0],
    [0, 5, 2, 0],
  ])
  t.same(shown(history, 700, 1002).length, 2, 'it has just woken')
})

test('a date that jumps moves all samples, so that they stay in order and end now', async (t) => {
  const history = new SampleHistory(shape, 0)
  history.take(reading(1), 5)
  const before = shown(history, 8, 2)
  for (const jump_ms of [-3_600_000, 86_400_000]) t.same(shown(history, 8, 2, 1800, date_ms + jump_ms), before)
})

test('what was not measured is unknown, and so is its first sample', async (t) => {
  const history = new SampleHistory(shape, 0)
  history.take(reading(undefined), 5)
  history.take(reading(50), 10)
  history.take(reading(60), 15)
  history.take(reading(55), 20)
  t.same(
    shown(history, 20, 55).map(([, , grown]) => grown),
    [Number.NaN, Number.NaN, 10, 0],
    'a sum that is read while it changes never counts less than nothing',
  )
})

test('whatever the pauses are, samples do not overlap, are in order, and count no more than there was', async (t) => {
  const step = fc.record({ pause_s: fc.integer({ min: 0, max: 20 }), more: fc.nat(100) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const history = new SampleHistory(shape, 0)
      let [at_s, count] = [0, 0]
      for (const { pause_s, more } of steps) {
        at_s += pause_s
        count += more
        history.take(reading(count), at_s)
      }
      const samples = history.last(1800, reading(count), at_s, date_ms)
      for (const [at, { time_ms, over_s }] of samples.entries()) {
        t.ok(time_ms - 1000 * over_s >= (samples[at - 1]?.time_ms ?? 0))
      }
      t.ok(samples.length <= shape.kept && (samples.at(-1)?.time_ms ?? date_ms) <= date_ms)
      t.ok(samples.reduce((sum, { grown }) => sum + (grown[0] ?? 0), 0) <= count)
    }),
    { numRuns: runs(200) },
  )
})
