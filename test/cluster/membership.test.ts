import { type Test, test } from 'tap'
import { Membership } from '../../src/cluster/membership/membership.js'
import { err, ok, type Result } from '../../src/result.js'
import type { EngineUnavailable } from '../../src/storage/etcd/engine.js'
import { EtcdNodes, type MemberLease } from '../../src/storage/etcd/etcd-nodes.js'
import { factsText, type NodeFacts } from '../../src/storage/etcd/node-facts.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { until } from '../until.js'
import { EtcdInMemory } from './etcd-in-memory.js'

type Joined = Result<MemberLease, EngineUnavailable>

const self: NodeFacts = {
  ...{ name: 'a', slot: 0, address: '', hosts: [], ports: [], formats: [], unreachable: [] },
  ...{ isLeaving: false, isFull: false, owns: [], coordinates: 0 as LogSequence },
}

/** A node that joins by what a test answers, with the lines that it writes. */
function joining(t: Test, patience_ms: number, join: () => Promise<Joined>) {
  const lines: string[] = []
  const memberships: boolean[] = []
  const membership = new Membership(self, {
    nodes: { join, watchMembers: () => ({ stop: () => {} }) },
    changed: () => {},
    isMember: (isMember) => memberships.push(isMember),
    taken: (address) => void lines.push(`TAKEN ${address}`),
    log: {
      warn: (_op, line) => void lines.push(`WARN ${line}`),
      info: (_op, line) => void lines.push(`INFO ${line}`),
    },
    patience_ms,
  })
  t.teardown(() => membership.leave())
  return { membership, lines, memberships }
}

function lease(lost: Promise<void> = new Promise(() => {})): Joined {
  return ok({ lost, tell: () => {}, stands: () => {}, leave: async () => {} })
}

test('a node that gets no lease says so once, and why, and that it has one then', async (t) => {
  const responses: ((joined: Joined) => void)[] = []
  const { lines, memberships } = joining(t, 5, () => new Promise((resolve) => responses.push(resolve)))
  await until(() => lines.length > 0, 'it says that it waits')
  t.match(lines[0], /^WARN this node is no member of its cluster: etcd has given it no lease for 0.005 s \(it has not/)
  let lose: () => void = () => {}
  responses[0]?.(
    lease(
      new Promise((resolve) => {
        lose = resolve
      }),
    ),
  )
  await until(() => memberships.length > 0, 'it is a member')
  t.match(lines, [/^WARN/, /^INFO etcd has given this node a lease: it is a member/])
  lose()
  await until(() => lines.length > 2, 'it waits for another one, and says so')
  t.match(lines[2], /^WARN/)
  t.same(memberships, [true, false])
})

test('it says with what etcd refuses the lease', async (t) => {
  const refusal: Joined = err({ kind: 'unavailable', reason: 'permission denied' })
  const { lines } = joining(t, 5, async () => refusal)
  await until(() => lines.length > 0, 'it says that it waits')
  t.match(lines, [/no lease for 0.005 s \(permission denied\), and is asked again/])
})

test('a node that is a member in time, or leaves before, writes no line', async (t) => {
  const { lines, memberships } = joining(t, 60_000, async () => lease())
  await until(() => memberships.length > 0, 'it is a member')
  const leaving = joining(t, 5, () => new Promise(() => {}))
  await leaving.membership.leave()
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.same([...lines, ...leaving.lines], [])
})

test('what a request does that was given up, and is carried out later, is put right with the next renewal', async (t) => {
  const client = new EtcdInMemory().client()
  const nodes = new EtcdNodes(client, '/late')
  let members: readonly NodeFacts[] = []
  const changed = (heard: readonly NodeFacts[]): void => {
    members = heard
  }
  const membership = new Membership(self, {
    nodes: { join: (facts) => nodes.join(facts, 60), watchMembers: (take) => nodes.watchMembers(take) },
    ...{ changed, isMember: () => {}, taken: () => {}, log: { warn: () => {}, info: () => {} } },
  })
  t.teardown(() => membership.leave())
  await until(() => members.length === 1, 'it is a member')
  membership.tell({ ...self, owns: [{ partition: 0, epoch: 7 as LogSequence }] })
  await until(() => members[0]?.owns.length === 1, 'it has said what it owns')
  // It had asked for another lease before, and was not answered in time.
  t.ok((await client.call('leaseGrant', { ID: 5, TTL: 60 })).ok)
  const requestPut = { key: '/late/member/a', value: Buffer.from(factsText(self)), lease: 5 }
  t.ok((await client.call('txn', { compare: [], success: [{ requestPut }], failure: [] })).ok)
  await until(() => members[0]?.owns.length === 0, 'what it had said before stands again')
  await until(() => members[0]?.owns.length === 1, 'it has said again what it owns')
  t.ok((await client.call('leaseRevoke', { ID: 5 })).ok)
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(members.length, 1, 'it is a member for as long as it renews its own lease')
})

test('what it says while it renews its lease stands, also when that is not answered', async (t) => {
  let [isSlow, isLost] = [false, false]
  const carried = async (to: 'etcd' | 'client'): Promise<void> => {
    if (to === 'etcd' || !isSlow) return
    isSlow = false
    await new Promise((resolve) => setTimeout(resolve, 50))
    isLost = true
  }
  const lost = (): boolean => {
    const was = isLost
    isLost = false
    return was
  }
  const nodes = new EtcdNodes(new EtcdInMemory().client({ carried, isLost: lost }), '/unanswered')
  const owned: number[] = []
  const membership = new Membership(self, {
    nodes: { join: (facts) => nodes.join(facts, 60), watchMembers: (take) => nodes.watchMembers(take) },
    changed: (members) => void owned.push(members[0]?.owns.length ?? 0),
    ...{ isMember: () => {}, taken: () => {}, log: { warn: () => {}, info: () => {} } },
  })
  t.teardown(() => membership.leave())
  await until(() => owned.length > 0, 'it is a member')
  isSlow = true
  membership.tell({ ...self, owns: [{ partition: 0, epoch: 7 as LogSequence }] })
  await until(() => owned.at(-1) === 1, 'it has said what it owns')
  const heard = owned.length
  await until(() => owned.length > heard, 'it says that again')
  t.equal(owned.at(-1), 1)
})

/** Two processes with one name and the addresses that they say, at one etcd. */
function namesakes(t: Test, addresses: readonly string[], ttl_ms: number, taken_ms: number) {
  const etcd = new EtcdInMemory()
  return addresses.map((address) => {
    const nodes = new EtcdNodes(etcd.client(), '/name')
    const told: string[] = []
    let heard: readonly NodeFacts[] = []
    const membership = new Membership(
      { ...self, address },
      {
        nodes: { join: (facts) => nodes.join(facts, ttl_ms), watchMembers: (take) => nodes.watchMembers(take) },
        changed: (members) => {
          heard = members
        },
        isMember: (isMember) => void told.push(isMember ? 'member' : 'no member'),
        taken: (other) => void told.push(`taken by ${other}`),
        log: { warn: () => {}, info: () => {} },
        taken_ms,
      },
    )
    t.teardown(() => membership.leave())
    return { address, told, membership, standing: () => heard[0]?.address }
  })
}

test('of two processes that begin as one node at the same moment one is the member, and the other hears of it', async (t) => {
  const both = namesakes(t, ['here:1', 'there:1'], 60_000, 700)
  const isRefused = ({ told }: { readonly told: readonly string[] }) => told.some((what) => what.startsWith('taken'))
  await until(() => both.some(isRefused), 'one of them is refused')
  const [winner, loser] = both[0]?.told[0] === 'member' ? both : [...both].reverse()
  t.same(winner?.told, ['member'])
  t.same(loser?.told, [`taken by ${winner?.address}`])
  t.equal(loser?.standing(), winner?.address)
  winner?.membership.tell({ ...self, address: winner.address, isFull: true })
  t.equal(loser?.standing(), winner?.address)
})

test('a process takes the name that its predecessor had elsewhere as soon as that has left', async (t) => {
  const [first, second] = namesakes(t, ['here:1', 'there:1'], 60_000, 60_000)
  await until(() => [first, second].some((each) => each?.told[0] === 'member'), 'one of them is the member')
  const [before, after] = first?.told[0] === 'member' ? [first, second] : [second, first]
  await before?.membership.leave()
  await until(() => after?.told[0] === 'member', 'the other one is the member then')
  t.equal(after?.standing(), after?.address)
})

test('a process whose predecessor stands at its own address is the member at once', async (t) => {
  const both = namesakes(t, ['here:1', 'here:1'], 60_000, 60_000)
  await until(() => both.every(({ told }) => told[0] === 'member'), 'both are taken for one')
  t.same(
    both.map(({ told }) => told),
    [['member'], ['member']],
  )
})
