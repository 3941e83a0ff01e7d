import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import type { Value } from '../../../src/model/context/entity.js'
import { ValueSet } from '../../../src/model/context/large/value-set.js'
import { sameValue } from '../../../src/model/context/value.js'

const scalar = fc.constantFrom<Value>(0, 1, '0', '1', '', true, null, '[0', '{1')
const compound: fc.Arbitrary<Value> = fc.oneof(
  fc.array(scalar, { maxLength: 2 }),
  fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), scalar, { maxKeys: 2 }),
)
const value = fc.oneof(scalar, compound, fc.array(compound, { maxLength: 2 }))

test('a set has each value once, however many are alike', async () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 40 }), fc.array(value, { maxLength: 10 }), (values, sought) => {
      const held: Value[] = []
      const set = new ValueSet([])
      for (const each of values) {
        const isNew = !held.some((other) => sameValue(other, each))
        assert.equal(set.add(each), isNew)
        if (isNew) held.push(each)
      }
      for (const each of sought) {
        const isThere = held.some((other) => sameValue(other, each))
        assert.equal(set.has(each), isThere)
        assert.equal(new ValueSet(values).has(each), isThere)
      }
    }),
    { numRuns: 200 },
  )
})

/** An object that notes how often its members are read. */
function counted(members: number): { readonly value: Value; readonly reads: () => number } {
  let reads = 0
  const entries = Array.from({ length: members }, (_, at): [string, Value] => [`k${members - at}`, at])
  const value = new Proxy(Object.fromEntries(entries), {
    get: (of, name) => {
      reads += 1
      return Reflect.get(of, name)
    },
  })
  return { value, reads: () => reads }
}

test('the members of an object are not read where no other has as many', async (t) => {
  const large = counted(10_000)
  const set = new ValueSet([[1], { a: 1 }, 'k'])
  t.ok(set.add(large.value))
  t.equal(large.reads(), 0)
})
