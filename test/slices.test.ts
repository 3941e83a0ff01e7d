import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { test } from 'tap'
import { atOnce, inSlices, Slices, type Steps, sortedInSteps } from '../src/slices.js'
import { limitNow_ms, processorTime_ms } from './pace.js'
import { runs } from './runs.js'
import { during } from './until.js'

test('what is sorted in steps is what is sorted at once, equal items in the order in which they came', async () => {
  const item = fc.record({ key: fc.nat(5000), at: fc.nat() })
  const items = fc
    .integer({ min: 0, max: 6 })
    .chain((thousands) => fc.array(item, { minLength: thousands * 1000, maxLength: thousands * 1000 + 100 }))
  const byKey = (a: { readonly key: number }, b: { readonly key: number }) => a.key - b.key
  fc.assert(
    fc.property(items, (given) => {
      assert.deepEqual(atOnce(sortedInSteps(given, byKey)), [...given].sort(byKey))
    }),
    { numRuns: runs(40) },
  )
})

test('a long list is sorted in many steps', async (t) => {
  const numbers = Array.from({ length: 100_000 }, (_, at) => (at * 7919) % 100_003)
  let steps = 0
  for (const _ of sortedInSteps(numbers, (a, b) => a - b)) steps += 1
  t.ok(steps > 600, `${steps} steps`)
})

/** Work in many short steps, `length_ms` together. */
function* working(length_ms: number): Steps<void> {
  for (let done_ms = 0; done_ms < length_ms; done_ms += step_ms) {
    const since = performance.now()
    while (performance.now() - since < step_ms);
    yield
  }
}

const step_ms = 0.2

/** The turns of the event loop until all of this work is done, and the processor time of the longest one. */
async function turnsOf(work: readonly Promise<unknown>[]): Promise<{ turns: number; longest_ms: number }> {
  let [turns, longest_ms, since_ms] = [0, 0, processorTime_ms()]
  await during(Promise.all(work), () => {
    const now_ms = processorTime_ms()
    turns += 1
    longest_ms = Math.max(longest_ms, now_ms - since_ms)
    since_ms = now_ms
  })
  return { turns, longest_ms }
}

test('all work in slices of a thread together holds a turn of the event loop for one slice', async (t) => {
  const tried: number[] = []
  const isShared = async (): Promise<boolean> => {
    const begun = Array.from({ length: 20 }, () => new Slices().next().then(() => inSlices(working(20))))
    const { longest_ms } = await turnsOf(begun)
    tried.push(longest_ms)
    return longest_ms < limitNow_ms(20, processorTime_ms)
  }
  t.ok((await isShared()) || (await isShared()), `${tried} ms instead of 5`)
})

test('work that begins when the slice of a turn is used up gives way when it turns out not to be short', async (t) => {
  atOnce(working(6))
  const first = new Slices()
  atOnce(working(6))
  t.ok(first.isOver)
  const second = new Slices()
  t.notOk(second.isOver, 'it may be short')
  atOnce(working(1))
  t.ok(second.isOver)
  await second.next()
  t.notOk(second.isOver)
})

test('work goes on in the order in which it gave way, and what is short shares a turn', async (t) => {
  const order: number[] = []
  const waiting = Array.from({ length: 20 }, async (_, at) => {
    await new Slices().next()
    order.push(at)
  })
  const { turns } = await turnsOf(waiting)
  t.same(order, [...order.keys()])
  t.equal(order.length, 20)
  t.ok(turns < 6, `${turns} turns`)
})

test('short work waits for nothing, however much long work waits', async (t) => {
  const long = Array.from({ length: 10 }, () => new Slices().next().then(() => inSlices(working(10))))
  await nextTurn()
  let isDone = false
  // No more than steps: if the system took the processor away meanwhile, it would not be short.
  inSlices(steps(3)).then(() => {
    isDone = true
  })
  await Promise.resolve()
  await Promise.resolve()
  t.ok(isDone)
  await Promise.all(long)
})

function* steps(number: number): Steps<void> {
  for (let step = 0; step < number; step += 1) yield
}
