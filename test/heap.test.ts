import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { Heap } from '../src/heap.js'
import { runs } from './runs.js'

interface Item {
  value: number
}

const order = (one: Item, other: Item): number => one.value - other.value

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('add' as const), value: fc.nat(20) }),
    fc.record({ kind: fc.constant('change' as const), value: fc.nat(20) }),
    fc.record({ kind: fc.constant('keep' as const), value: fc.nat(20) }),
    fc.record({ kind: fc.constant('take' as const), value: fc.constant(0) }),
  ),
)

test('whatever was added, taken, left out and changed, the first item is one that no other comes before', async () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), steps, (begun, all) => {
      let held = begun.map((value): Item => ({ value }))
      const heap = new Heap(order, held)
      for (const { kind, value } of all) {
        const { first } = heap
        if (kind === 'add') {
          const item = { value }
          held.push(item)
          heap.add(item)
        } else if (kind === 'take') {
          assert.equal(heap.takeFirst(), first)
          held = held.filter((item) => item !== first)
        } else if (kind === 'keep') {
          held = held.filter((item) => item.value >= value)
          heap.keep((item) => item.value >= value)
        } else if (first !== undefined) {
          first.value += value
          heap.firstChanged()
        }
        assert.equal(heap.size, held.length)
        assert.equal(heap.first?.value, held.toSorted(order)[0]?.value)
      }
    }),
    { numRuns: runs(1000) },
  )
})
