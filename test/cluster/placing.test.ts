import * as fc from 'fast-check'
import { test } from 'tap'
import { placed } from '../../src/cluster/placing.js'

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const some = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 })

function where(nodes: readonly string[], members: readonly string[], partitions: number, copies: number) {
  return placed({ nodes, members: new Set(members), partitions, copies })
}

test('every partition is owned by a member that keeps it, and none owns more than its share', async () => {
  fc.assert(
    fc.property(some, fc.integer({ min: 1, max: 40 }), (nodes, partitions) => {
      const owners = where(nodes, nodes, partitions, nodes.length).map(({ owner }) => owner)
      const most = Math.ceil(partitions / nodes.length)
      return (
        nodes.every((node) => owners.filter((owner) => owner === node).length <= most) && !owners.includes(undefined)
      )
    }),
  )
})

test('as many nodes as are asked for keep a copy, and one of them that is a member is the owner', async () => {
  fc.assert(
    fc.property(some, some, fc.integer({ min: 1, max: 4 }), (nodes, members, copies) => {
      return where(nodes, members, 12, copies).every(({ copies: keeping, owner }) => {
        const here = keeping.filter((node) => members.includes(node))
        const isRight = here.length === 0 ? owner === undefined : here.includes(owner ?? '')
        return isRight && keeping.length === Math.min(copies, nodes.length)
      })
    }),
  )
})

test('the order in which nodes are listed does not matter, and who comes takes copies from others only for itself', async () => {
  fc.assert(
    fc.property(some, (nodes) => {
      const before = where(nodes, nodes, 12, 2)
      const after = where([...nodes].reverse().concat('new'), nodes, 12, 2)
      return before.every(({ copies }, partition) => {
        const left = after[partition]?.copies.filter((node) => node !== 'new') ?? []
        return left.every((node, at) => node === copies[at])
      })
    }),
  )
})

test('a partition whose first node is no member is owned by the next one', async (t) => {
  const [first] = where(['a', 'b', 'c'], ['a', 'b', 'c'], 1, 3)
  const [one, other] = first?.copies ?? []
  t.equal(first?.owner, one)
  const left = ['a', 'b', 'c'].filter((node) => node !== one)
  t.equal(where(['a', 'b', 'c'], left, 1, 3)[0]?.owner, other)
  t.equal(where(['a', 'b', 'c'], [], 1, 3)[0]?.owner, undefined)
})
