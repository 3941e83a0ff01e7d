import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { mergeSorted } from '../../src/storage/store/merge-sorted.js'
import { runs } from '../runs.js'

interface Item {
  readonly key: number
  readonly sequence: number
}

const byKey = (a: Item, b: Item): number => a.key - b.key

test('sorted sequences are merged, of equal items that of the earlier sequence first', async (t) => {
  const lists = fc.array(fc.array(fc.nat(20), { maxLength: 12 }), { maxLength: 12 })
  fc.assert(
    fc.property(lists, (keys) => {
      const sequences = keys.map((list, sequence) => list.map((key) => ({ key, sequence })).sort(byKey))
      const merged = [
        ...mergeSorted(
          sequences.map((items) => items.values()),
          byKey,
        ),
      ]
      assert.deepEqual(merged, sequences.flat().sort(byKey))
    }),
    { numRuns: runs(1000) },
  )
  t.pass()
})

test('each of many sequences costs no more for all the others, and all are closed at the end', async (t) => {
  let [comparisons, closed] = [0, 0]
  function* items(sequence: number): Generator<Item> {
    try {
      for (let at = 0; at < 50; at += 1) yield { key: at * 1000 + ((sequence * 7) % 1000), sequence }
    } finally {
      closed += 1
    }
  }
  const sequences = Array.from({ length: 1000 }, (_, sequence) => items(sequence))
  const compare = (a: Item, b: Item): number => {
    comparisons += 1
    return byKey(a, b)
  }
  let taken = 0
  for (const _ of mergeSorted(sequences, compare)) {
    taken += 1
    if (taken === 40_000) break
  }
  t.ok(comparisons < 40_000 * 25, `${comparisons} comparisons`)
  t.equal(closed, 1000)
})
