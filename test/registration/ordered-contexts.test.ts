import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { compareContexts, type IndexedContext } from '../../src/registration/indexed-contexts.js'
import { OrderedContexts } from '../../src/registration/ordered-contexts.js'
import type { Registration } from '../../src/registration/registration.js'
import { limitNow_ms } from '../pace.js'
import { runs } from '../runs.js'
import { context, registration } from './given.js'

const pool = Array.from({ length: 6 }, (_, order) =>
  registration(
    order,
    Array.from({ length: 1 + (order % 3) }, () => context('S4')),
  ),
)

function contextsOf(each: Registration): readonly IndexedContext[] {
  return each.contexts.map((context, at) => ({ registration: each, at, context }))
}

test('whatever came and went, in whatever order, and whenever somebody looked, all that are there are there in order', async () => {
  const steps = fc.array(fc.tuple(fc.nat(pool.length - 1), fc.boolean()), { maxLength: 60 })
  fc.assert(
    fc.property(steps, (history) => {
      const contexts = new OrderedContexts()
      const held = new Map<Registration, readonly IndexedContext[]>()
      for (const [which, looks] of history) {
        const each = pool[which] ?? registration(9, [])
        if (held.delete(each)) for (const one of contextsOf(each)) contexts.leave(one)
        else {
          held.set(each, contextsOf(each))
          for (const one of contextsOf(each)) contexts.enter(one)
        }
        const expected = [...held.values()].flat().sort(compareContexts)
        assert.equal(contexts.size, expected.length)
        if (looks) assert.deepEqual(contexts.all, expected)
      }
    }),
    { numRuns: runs(500) },
  )
})

test('a hundred thousand registrations go one by one in the time that it takes to name them', async (t) => {
  const all = Array.from({ length: 100_000 }, (_, order) => registration(order, [context('S4')]))
  const contexts = new OrderedContexts()
  for (const each of all.toReversed()) for (const one of contextsOf(each)) contexts.enter(one)
  const begun = performance.now()
  for (const each of all.slice(0, -1)) for (const one of contextsOf(each)) contexts.leave(one)
  const took_ms = performance.now() - begun
  t.equal(contexts.all.length, 1)
  t.ok(took_ms < limitNow_ms(2000), `${took_ms} ms`)
})
