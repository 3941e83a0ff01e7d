import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import type { Value } from '../../../src/model/context/entity.js'
import { valueMeasure } from '../../../src/model/context/entity-size.js'
import {
  type MeasuredText,
  mergedMembers,
  withoutScalars,
  withScalars,
} from '../../../src/model/context/large/text-merge.js'
import { runs } from '../../runs.js'

type Members = { readonly [key: string]: Value }

const key = fc.oneof(
  fc.nat(400).map(String),
  fc.nat(400).map((at) => `k${at}`),
  fc.constantFrom('', '"', '\\', '\\"', '00', '4294967294', '4294967295', '99999999999', '__proto__', 'ä\u2028'),
)
const scalar = fc.oneof(fc.nat(300), fc.nat(300).map(String), fc.constantFrom<Value>(true, null, 1e300, -0.5, '[', '"'))
const members = fc
  .array(fc.tuple(key, fc.oneof(scalar, fc.constant<Value>([1, { a: ',' }]))), { maxLength: 500, size: 'max' })
  .map((entries): Members => Object.fromEntries(entries))
const scalars = fc.array(scalar, { maxLength: 500, size: 'max' })

function textOf(value: Value): MeasuredText {
  const text = JSON.stringify(value)
  return { text, ...valueMeasure(JSON.parse(text)) }
}

test('members are set and removed by texts as by an object', async () => {
  fc.assert(
    fc.property(members, members, members, (held, set, unset) => {
      const after = new Map(Object.entries(held))
      for (const [name, value] of Object.entries(set)) after.set(name, value)
      for (const name of Object.keys(unset)) after.delete(name)
      const collide = Object.keys(set).some((name) => Object.hasOwn(unset, name))
      const expected = collide ? undefined : textOf(Object.fromEntries(after))
      assert.deepEqual(mergedMembers(textOf(held), JSON.stringify(set), JSON.stringify(unset)), expected)
      const alone = textOf(Object.fromEntries([...Object.entries(held), ...Object.entries(set)]))
      assert.deepEqual(mergedMembers(textOf(held), JSON.stringify(set), '{}'), alone)
    }),
    { numRuns: runs(300) },
  )
})

test('scalars are added and removed by texts as in a list', async () => {
  const items = fc.oneof(scalars, fc.array(fc.oneof(scalar, fc.constant<Value>([1, { a: ',' }])), { maxLength: 50 }))
  fc.assert(
    fc.property(items, scalars, (held, given) => {
      const added = [...new Set(given)].filter((each) => !held.includes(each))
      assert.deepEqual(withScalars(textOf(held), JSON.stringify(given)), textOf([...held, ...added]))
      const left = held.filter((each) => !given.includes(each))
      assert.deepEqual(withoutScalars(textOf(held), JSON.stringify(given)), textOf(left))
    }),
    { numRuns: runs(300) },
  )
})
