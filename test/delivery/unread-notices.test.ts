import fc from 'fast-check'
import { test } from 'tap'
import { NumberList } from '../../src/delivery/queue/number-list.js'
import { UnreadNotices } from '../../src/delivery/queue/unread-notices.js'
import { at } from '../given.js'
import { runs } from '../runs.js'

const distance = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 2 ** 40 }))

test('a list gives back its numbers in their order, whenever they are added and taken', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.oneof(distance, fc.constantFrom('take', 'putBack')), { maxLength: 300 }), (steps) => {
      const list = new NumberList()
      const expected: number[] = []
      const taken: number[] = []
      let last = 0
      for (const step of steps) {
        if (step === 'take') {
          const first = expected.shift()
          t.equal(list.shift(), first)
          if (first !== undefined) taken.push(first)
        } else if (step === 'putBack') {
          const back = taken.splice(taken.length >> 1)
          list.putBefore(back)
          expected.unshift(...back)
        } else if (typeof step === 'number') {
          last += step
          list.push(last)
          expected.push(last)
        }
        t.equal(list.first, expected[0])
        t.equal(list.size, expected.length)
      }
      for (const number of expected) t.equal(list.shift(), number)
      t.equal(list.shift(), undefined)
    }),
    { numRuns: runs(50) },
  )
})

test('of what is not in memory the sums are right, also where sizes cannot be read', async (t) => {
  const unread = new UnreadNotices()
  for (const [number, size_bytes] of [10, 20, 40].entries()) {
    unread.add({ outbox: 3, number: number + 1, made: at(number) }, { size_bytes, since_ms: number })
  }
  unread.add({ outbox: 1, number: 7, made: at(9) }, { size_bytes: 5, since_ms: 9 })
  t.equal(unread.size, 4)
  t.same(unread.outboxes, [3, 1])
  t.match(unread.shift(3, { size_bytes: 10, since_ms: 5 }), { outbox: 3, number: 1, size_bytes: 10, since_ms: 5 })
  t.match(unread.shift(3), { number: 2, size_bytes: 30, since_ms: 5 })
  t.match(unread.shift(3, { size_bytes: 40, since_ms: -1e9 }), { number: 3, size_bytes: 30, made: at(2), since_ms: 5 })
  t.equal(unread.first(3), undefined)
  const back = [2, 3].map((number) => ({ outbox: 3, number, made: at(number), size_bytes: 30, since_ms: number }))
  unread.putBefore(3, back.slice(1))
  unread.putBefore(3, back.slice(0, 1))
  t.equal(unread.size, 3)
  t.match(unread.shift(3), { number: 2, size_bytes: 30, since_ms: 2 })
  t.match(unread.shift(3), { number: 3, size_bytes: 30, made: at(3) })
  t.same(unread.forget(1), { depth: 1, bytes: 5 })
  t.equal(unread.size, 0)
  t.same([...unread.takeAll()], [])
})
