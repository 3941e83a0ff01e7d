import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { atOnce, sortedInSteps } from '../src/slices.js'
import { runs } from './runs.js'

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
