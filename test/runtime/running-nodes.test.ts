import { test } from 'tap'
import { RunningNodes } from '../../src/runtime/running-nodes.js'
import { firstNode, type NodeFacts } from '../../src/storage/etcd/node-facts.js'
import { silentLog } from '../given.js'

test('a node whose name another process has too says so once, not of a predecessor whose lease has not ended', async (t) => {
  const lines: string[] = []
  const told: NodeFacts[] = []
  const running = new RunningNodes({
    ...{ node: 'a', nodes: firstNode('a', 'of a'), partitions: 1, rebalanceDelay_ms: 10_000, reads: 'confirmed' },
    log: { ...silentLog, warn: (_op, line) => void lines.push(line) },
    tell: (self) => void told.push(self),
    ...{ instruct: () => {}, coordinate: () => {}, drain: async () => {}, hosts: () => [] },
    ...{ isFull: () => false, routed: () => {}, stands: () => {} },
  })
  t.teardown(() => running.end())
  running.begin('here.example:1027', [])
  const [own] = told
  if (own === undefined) throw new Error('it tells its facts')
  const elsewhere = { ...own, address: 'there.example:1027' }
  running.members([elsewhere])
  running.members([own])
  t.same(lines, [], 'a predecessor')
  running.members([elsewhere])
  running.members([own])
  running.members([elsewhere])
  const what = 'another process runs as node a too, at there.example:1027; this one is at here.example:1027'
  t.same(lines, [`${what}: end one of them, since each takes the partitions from the other`])
})
