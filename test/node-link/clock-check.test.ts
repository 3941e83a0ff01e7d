import { test } from 'tap'
import type { NodeFacts } from '../../src/cluster/node-facts.js'
import { checkClock } from '../../src/node-link/clock-check.js'
import type { LogSequence } from '../../src/wal/record-log.js'
import { byToken, GivenNode } from './given.js'

const caller = { self: { cluster: 'c', node: 'a' }, security: byToken }

function factsOf({ name, port }: Pick<GivenNode, 'name' | 'port'>): NodeFacts {
  const address = `127.0.0.1:${port}`
  const none = { unreachable: [], isLeaving: false, owns: [], coordinates: 0 as LogSequence }
  return { name, slot: 0, address, formats: [1], ...none }
}

/** A clock that is so far ahead of that of the nodes. */
function ahead(lead_ms: number): () => number {
  return () => Date.now() + lead_ms
}

test('whose clock differs by a second from those of most members does not join', async (t) => {
  const [b, c] = [await GivenNode.start(t, 'b'), await GivenNode.start(t, 'c')]
  const members = [b, c].map(factsOf)
  t.same(await checkClock([], caller, Date.now), { kind: 'right' })
  t.same(await checkClock(members, caller, Date.now), { kind: 'right' })
  t.match(await checkClock(members, caller, ahead(60_000)), {
    kind: 'refused',
    reason:
      /is (?:59\d{3}|60000) ms ahead of that of node b, (?:59\d{3}|60000) ms ahead of that of node c: let all machines/,
  })
  t.match(await checkClock(members, caller, ahead(-60_000)), {
    kind: 'refused',
    reason: /is (?:59\d{3}|60000) ms behind/,
  })

  // One that is wrong itself keeps nobody out.
  c.services = { clock: ahead(60_000) }
  t.match(await checkClock(members, caller, Date.now), { kind: 'warned', reason: /behind that of node c: let/ })
  t.match(await checkClock(members, caller, ahead(-60_000)), { kind: 'refused' })
  // Who does not answer says nothing.
  b.listener.close()
  t.match(await checkClock(members, caller, ahead(60_000)), { kind: 'right' })
})
