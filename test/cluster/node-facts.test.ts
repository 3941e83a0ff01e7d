import { test } from 'tap'
import {
  type ClusterNodes,
  factsText,
  knownCoordinator,
  knownRoutes,
  type NodeFacts,
  nodesText,
  noNodes,
  parseFacts,
  parseNodes,
  withNode,
} from '../../src/storage/etcd/node-facts.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'

function node(
  name: string,
  owns: readonly (readonly [partition: number, epoch: number])[],
  coordinates = 0,
): NodeFacts {
  return {
    ...{ hosts: ['10.0.0.7', '2001:db8::7'], ports: [1027, 1028] },
    ...{ name, slot: 0, address: `${name}:1027`, formats: [1], unreachable: ['x'], isLeaving: false, isFull: false },
    owns: owns.map(([partition, epoch]) => ({ partition, epoch: epoch as LogSequence })),
    coordinates: coordinates as LogSequence,
  }
}

test('what a member says of itself is read as it was written, and nothing else is', async (t) => {
  const facts = node('a', [[3, 17]], 23)
  t.same(parseFacts(factsText(facts)), facts)
  for (const text of ['', '{', '[]', 'null', '{"format":2}', factsText(facts).replace('17', '-1')]) {
    t.equal(parseFacts(text), undefined, text)
  }
  const { hosts, ports, ...earlier } = facts
  t.same(
    parseFacts(JSON.stringify({ format: 1, ...earlier })),
    { ...facts, hosts: [], ports: [] },
    'an earlier version',
  )
})

test('of two members that own the metadata log the one with the later election coordinates', async (t) => {
  t.equal(knownCoordinator([node('a', []), node('b', [])]), undefined)
  t.equal(knownCoordinator([node('a', [], 8), node('b', [], 9), node('c', [], 0)])?.name, 'b')
})

test('of two members that own a partition the one with the later election is right', async (t) => {
  const routes = knownRoutes([
    node('a', [
      [1, 5],
      [0, 9],
    ]),
    node('b', [[1, 7]]),
  ])
  t.same(routes, [
    { partition: 0, epoch: 9, node: 'a', address: 'a:1027' },
    { partition: 1, epoch: 7, node: 'b', address: 'b:1027' },
  ])
})

test('a node gets a slot that it keeps, its name is that of one folder, and its folder that of one name', async (t) => {
  const one = listed(noNodes, 'a')
  t.equal(listed(one, 'a'), one)
  t.match(withNode(one, 'a', 'folder-b'), { error: { kind: 'nameTaken' } })
  t.match(withNode(one, 'b', 'folder-a'), { error: { kind: 'folderListed', name: 'a' } })
  const two = listed(one, 'b')
  t.same(
    two.nodes.map(({ slot }) => slot),
    [0, 1],
  )
  t.same(parseNodes(nodesText(two)), two)
  t.equal(parseNodes(nodesText(two).replace('"copies":3', '"copies":0')), undefined)
  let full = two
  for (let number = 2; number < 16; number += 1) full = listed(full, `n${number}`)
  t.equal(full.nodes.length, 16)
  t.match(withNode(full, 'late', 'folder-late'), { error: { kind: 'noSlot', nodes: 16 } })
})

function listed(nodes: ClusterNodes, name: string): ClusterNodes {
  const next = withNode(nodes, name, `folder-${name}`)
  if (!next.ok) throw new Error(next.error.kind)
  return next.value
}
