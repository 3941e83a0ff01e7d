import { test } from 'tap'
import { checkJoin, twinRefusal } from '../../src/cluster/link/join-check.js'
import type { NodeFacts } from '../../src/storage/etcd/node-facts.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { byToken, GivenNode } from './given.js'

const caller = { self: { cluster: 'c', node: 'a' }, security: byToken }

function factsOf({ name, port }: Pick<GivenNode, 'name' | 'port'>): NodeFacts {
  const address = `127.0.0.1:${port}`
  const none = { unreachable: [], isLeaving: false, isFull: false, owns: [], coordinates: 0 as LogSequence }
  return { name, slot: 0, address, hosts: [], ports: [], formats: [1], ...none }
}

/** A clock that is so far ahead of that of the nodes. */
function ahead(lead_ms: number): () => number {
  return () => Date.now() + lead_ms
}

test('whose clock differs by a second from those of most members does not join', async (t) => {
  const [b, c] = [await GivenNode.start(t, 'b'), await GivenNode.start(t, 'c')]
  const members = [b, c].map(factsOf)
  t.same(await checkJoin([], caller, Date.now), { kind: 'right' })
  t.same(await checkJoin(members, caller, Date.now), { kind: 'right' })
  t.match(await checkJoin(members, caller, ahead(60_000)), {
    kind: 'refused',
    reason:
      /is (?:59\d{3}|60000) ms ahead of that of node b, (?:59\d{3}|60000) ms ahead of that of node c: most nodes that answered differ from it, so it is probably wrong; let all machines .* \(NTP\), then start again$/,
  })
  t.match(await checkJoin(members, caller, ahead(-60_000)), {
    kind: 'refused',
    reason: /is (?:59\d{3}|60000) ms behind/,
  })

  // One that is wrong itself keeps nobody out.
  c.services = { clock: ahead(60_000) }
  t.match(await checkJoin(members, caller, Date.now), {
    kind: 'warned',
    reason:
      /behind that of node c: the other nodes that answered agree with it, so theirs is probably wrong; let .* \(NTP\)$/,
  })
  t.match(await checkJoin(members, caller, ahead(-60_000)), { kind: 'refused' })
  // Who does not answer says nothing.
  b.listener.close()
  t.match(await checkJoin(members, caller, ahead(60_000)), { kind: 'right' })
  t.match(await checkJoin(members, caller, Date.now), {
    kind: 'refused',
    reason: /behind that of node c: either of the two may be wrong, since no other node has answered; let all machines/,
  })
})

test('a node does not run beside another process of its name', async (t) => {
  const [a, b] = [await GivenNode.start(t, 'a'), await GivenNode.start(t, 'b')]
  const died = factsOf(a)
  t.equal(
    await twinRefusal([died, factsOf(b)], caller),
    `another process runs as its node a, at 127.0.0.1:${a.port}: end that one, or start this one with another -nodeName and a new folder`,
  )
  const elsewhere = { ...factsOf(b), name: 'a' }
  t.equal(await twinRefusal([elsewhere], caller), undefined, 'the address is that of another node now')
  t.equal(await twinRefusal([factsOf(b)], caller), undefined, 'no process of its name is a member')
  a.listener.close()
  t.equal(await twinRefusal([died], caller), undefined, 'a predecessor has died')
})

test('who has no token of the cluster, or is of another one, does not join', async (t) => {
  const [b, c] = [await GivenNode.start(t, 'b'), await GivenNode.start(t, 'c')]
  const members = [b, c].map(factsOf)
  const unknownNode = { ...caller, security: { tls: undefined, tokens: ['another token'.padEnd(40, '-')] } }
  t.match(await checkJoin(members, unknownNode, Date.now), {
    kind: 'refused',
    reason: /for a node of their cluster: node b answers 401: .*-clusterTokenFile.*node c answers 401: /,
  })
  const elsewhere = { ...caller, self: { cluster: 'other', node: 'a' } }
  t.match(await checkJoin(members, elsewhere, Date.now), { kind: 'refused', reason: /node b answers 409: / })
  b.listener.close()
  t.match(await checkJoin(members, unknownNode, Date.now), { kind: 'refused' })
  c.listener.close()
  t.match(await checkJoin(members, unknownNode, Date.now), { kind: 'right' })
})
