import { test } from 'tap'
import { type JoiningFolder, joinRefusal } from '../../src/runtime/join-rules.js'
import type { ClusterState } from '../../src/storage/etcd/cluster-state.js'
import type { ClusterNodes, NodeFacts } from '../../src/storage/etcd/node-facts.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'

const several: ClusterNodes = { replicas: 3, nodes: [{ name: 'a', slot: 0, folder: 'folder-a' }] }
const options = { name: 'city', prefix: '/rigel/city' }

function factsOf(name: string, formats: readonly number[]): NodeFacts {
  const none = { unreachable: [], isLeaving: false, isFull: false, owns: [], coordinates: 0 as LogSequence }
  return { name, slot: 0, address: '', hosts: [], ports: [], formats, ...none }
}

function state(more: Partial<ClusterState> = {}): ClusterState {
  const began = { id: 'second', behind: { 0: 7, control: 3 } }
  return {
    description: { format: 1, name: 'city', folder: 'folder-a', partitions: 1, began },
    ...{ nodes: several, nodesRevision: 1, members: [], unreadMembers: [] },
    ...{ heads: new Map(), checkpoints: new Map(), covered: new Map() },
    ...more,
  }
}

/** A folder that has applied this many records of the log of its partition. */
function folder(applied: number, fact?: JoiningFolder['fact']): JoiningFolder {
  const records = new Map([[0, applied as LogSequence]])
  return { path: 'data', id: 'folder-b', partitions: 1, fact, applied: async () => records }
}

const member = { name: 'city', prefix: '/rigel/city', state: 'member', began: 'second' } as const

test('a new folder joins a cluster, and goes on as a member', async (t) => {
  t.equal(await joinRefusal(state(), options, folder(0)), undefined)
  t.equal(await joinRefusal(state(), options, folder(9, member)), undefined)
  t.match(await joinRefusal(state(), { ...options, name: 'town' }, folder(0)), /is the place of cluster city/)
  t.match(await joinRefusal(state(), options, { ...folder(0), partitions: 2 }), /it has 1 partitions, and data has 2/)
  t.match(await joinRefusal(state(), options, folder(1)), /data of its own/)
  const joining = { ...member, state: 'joining' } as const
  t.match(await joinRefusal(state(), options, folder(1, joining)), /data of its own/, 'who was slower to begin it')
  const begun = state({ nodes: { ...several, nodes: [] } })
  t.match(
    await joinRefusal(begun, options, folder(0)),
    /another data folder, of id folder-a: start .* that folder first/,
  )
  t.equal(await joinRefusal(begun, options, { ...folder(9, joining), id: 'folder-a' }), undefined, 'the first node')
})

test('what a version does not read of others is refused', async (t) => {
  const later = state({ unreadMembers: ['c'] })
  t.match(await joinRefusal(later, options, folder(0)), /node c of it has a later version/)
  const standing = { facts: factsOf('c', [2, 3]), leaseLeft_s: 5 }
  t.match(await joinRefusal(state({ members: [standing] }), options, folder(0)), /records of formats 2, 3, and this/)
})

test('a folder of before a recovery joins with what the cluster has as well, and not with more', async (t) => {
  for (const began of ['first', undefined]) {
    const before = { ...member, began }
    t.equal(await joinRefusal(state(), options, folder(7, before)), undefined)
    t.match(
      await joinRefusal(state(), options, folder(8, before)),
      /record 8 of log 0, which went on behind 7\. Move data/,
    )
  }
})
