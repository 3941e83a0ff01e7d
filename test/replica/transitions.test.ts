import { test } from 'tap'
import type { ReplicaEvent } from '../../src/partition/replica/replica-state.js'
import { replicaOf, transition } from '../../src/partition/replica/transitions.js'
import { viewBehind } from '../../src/storage/etcd/log-view.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import type { ClockStart, Milliseconds } from '../../src/time.js'

const none = 0 as LogSequence
const sent: ClockStart = { steady_ns: 1n, date: 0 as Milliseconds }

/** The kinds of all effects that events have on a replica which has read nothing, in their order. */
function effectsOf(...events: readonly ReplicaEvent[]): readonly string[] {
  let state = replicaOf('a', viewBehind(none), none, true)
  const kinds: string[] = []
  for (const event of events) {
    const next = transition(state, event)
    state = next.state
    kinds.push(...next.effects.map(({ kind }) => kind))
  }
  return kinds
}

test('a replica that is to close while it campaigns gives up what it was elected for, and ends, whatever it is told to own', async (t) => {
  const stands = { kind: 'stands', sequence: 1 as LogSequence, sent } as const
  const effects = effectsOf(
    { kind: 'retry' },
    { kind: 'own' },
    { kind: 'close' },
    { kind: 'own' },
    { kind: 'campaigned', outcome: stands },
  )
  t.same(effects, ['read', 'campaign', 'elected', 'revoke', 'lost', 'ended'])
})
