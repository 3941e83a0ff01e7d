import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { Reservations, reserveMoment } from '../../src/model/subscription/clocks.js'
import type { SubscriptionClock } from '../../src/model/subscription/subscription.js'
import type { Milliseconds } from '../../src/time.js'
import { at } from '../given.js'
import { clock, lastOf } from './given.js'

/** A partition, as far as it notes the moments of a subscription's notices. */
function partition(memory: SubscriptionClock) {
  const reservations = new Reservations()
  return {
    reserve: (time: Milliseconds, throttling_ms: number) => reserveMoment(memory, time, throttling_ms, reservations),
    undo: () => reservations.undo(),
  }
}

test('what comes less than the throttling after the last notice is suppressed, in milliseconds', async (t) => {
  const memory = clock()
  const throttle = partition(memory)
  t.ok(throttle.reserve(at(10_000), 5000))
  t.notOk(throttle.reserve(at(14_999), 5000))
  t.equal(lastOf(memory), 10_000)
  t.ok(throttle.reserve(at(15_000), 5000))
  t.equal(lastOf(memory), 15_000)
})

test('the first notice is never suppressed, however long the throttling is', async (t) => {
  t.ok(partition(clock()).reserve(at(10_000), Number.MAX_SAFE_INTEGER))
})

test('without throttling nothing is suppressed, and the last notice stays the latest one', async (t) => {
  const memory = clock(10_000)
  const throttle = partition(memory)
  for (const time of [10_000, 9999, 5000].map(at)) t.ok(throttle.reserve(time, 0))
  t.equal(lastOf(memory), 10_000)
  t.ok(throttle.reserve(at(10_001), 0))
  t.equal(lastOf(memory), 10_001)
})

test('a clock of the day that was set back does not silence a subscription', async (t) => {
  const memory = clock(1_000_000)
  const throttle = partition(memory)
  t.notOk(throttle.reserve(at(999_000), 5000))
  t.ok(throttle.reserve(at(500_000), 5000))
  t.equal(lastOf(memory), 500_000)
  t.notOk(throttle.reserve(at(501_000), 5000))
})

test('a moment that is given back is as if it had not been noted, unless somebody else has noted one since', async (t) => {
  const memory = clock(10_000)
  const [here, there] = [partition(memory), partition(memory)]
  here.reserve(at(15_000), 5000)
  here.undo()
  t.equal(lastOf(memory), 10_000)
  here.reserve(at(15_000), 5000)
  t.notOk(there.reserve(at(15_001), 5000))
  there.reserve(at(20_000), 5000)
  here.undo()
  t.equal(lastOf(memory), 20_000)
})

test('notices of any two partitions are at least the throttling apart', async () => {
  const moment = fc.integer({ min: 1, max: 200 }).map(at)
  const throttling = fc.integer({ min: 1, max: 50 })
  fc.assert(
    fc.property(fc.array(fc.tuple(moment, fc.boolean())), throttling, (moments, throttling_ms) => {
      const memory = clock()
      const [here, there] = [partition(memory), partition(memory)]
      const made = moments.flatMap(([time, isHere]) =>
        (isHere ? here : there).reserve(time, throttling_ms) ? [time] : [],
      )
      for (const [index, time] of made.entries()) {
        const before = made[index - 1]
        assert.ok(before === undefined || Math.abs(time - before) >= throttling_ms)
      }
      assert.equal(made.length > 0, moments.length > 0)
      assert.equal(lastOf(memory), made.at(-1) ?? 0)
    }),
  )
})
