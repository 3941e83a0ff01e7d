import { test } from 'tap'
import { SequenceCounter } from '../../src/threads/shared-memory/sequences.js'

test('the sequences of one node follow each other, in whichever thread they are given', async (t) => {
  const counter = SequenceCounter.after(7)
  const other = new SequenceCounter(counter.memory)
  t.same([counter.next(), other.next(), counter.next()], [8, 9, 10])
})

test('the sequences of several nodes grow on each of them, and none is given twice', async (t) => {
  const counters = [0, 1, 15].map((slot) => SequenceCounter.after(0, slot))
  const given = new Set<number>()
  for (const counter of counters) {
    const other = new SequenceCounter(counter.memory)
    let last = 0
    for (let number = 0; number < 2000; number += 1) {
      const next = (number % 2 === 0 ? counter : other).next()
      t.ok(next > last && Number.isSafeInteger(next))
      last = next
      given.add(next)
    }
  }
  t.equal(given.size, 3 * 2000)
})

test('a node whose clock is behind goes on above what another one has given', async (t) => {
  const ahead = 2 ** 52
  const counter = SequenceCounter.after(ahead, 3)
  const [one, two] = [counter.next(), counter.next()]
  t.ok(one > ahead && two > one)
  t.equal(Math.floor(one / 256) % 16, 3)
})
