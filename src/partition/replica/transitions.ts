import { type LogView, turnsOf, viewAfter } from '../../storage/etcd/log-view.js'
import type { LogSequence } from '../../storage/wal/record-log.js'
import type { ClockStart, Nanoseconds } from '../../time.js'
import { heartbeat_ns, ownsFrom } from './read-lease.js'
import type {
  EmptyRecord,
  OfferOutcome,
  ReplicaEffect,
  ReplicaEvent,
  ReplicaState,
  Role,
  Transition,
} from './replica-state.js'

/**
 * A replica whose store has applied its log up to a record. It follows from its first event on.
 *
 * @param view what is known of the log: up to there it is not read
 */
export function replicaOf(node: string, view: LogView, applied: LogSequence, awaitsOwner: boolean): ReplicaState {
  return {
    ...{ node, view, awaitsOwner, applied, held: [], applying: undefined },
    role: { kind: 'follows', isReading: false },
    ...{ commitIndex: 0 as LogSequence, metadataVersion: 0 as LogSequence, isToOwn: false, isToClose: false, reads: 0 },
  }
}

/** Whether turns are taken on this node. */
export function isOwner({ role }: ReplicaState): boolean {
  return role.kind === 'owns'
}

/** The transition function: its table stands at `ReplicaState`. */
export function transition(state: ReplicaState, event: ReplicaEvent): Transition {
  switch (event.kind) {
    case 'own':
      // Who is to end comes to own nothing more.
      return wentOn({ ...state, isToOwn: !state.isToClose })
    case 'release':
      return left({ ...state, isToOwn: false })
    case 'close':
      return left({ ...state, isToOwn: false, isToClose: true })
    case 'givenUp':
      return givenUp(state)
    case 'read':
      return read(state, event)
    case 'applied':
      return applied(state)
    case 'noRoom':
      return state.isToClose ? wentOn(toApply(state)) : just(state, { kind: 'retryLater' })
    case 'retry':
      return wentOn(toApply(state))
    case 'committed':
      return wentOn(event.index > state.commitIndex ? { ...state, commitIndex: event.index } : state)
    case 'metadataInForce':
      return wentOn(
        event.metadataVersion > state.metadataVersion ? { ...state, metadataVersion: event.metadataVersion } : state,
      )
    case 'campaigned':
      return campaigned(state, event.outcome)
    case 'heartbeat':
      return beat(state)
    case 'appended':
      return appended(state, event.record, event.outcome)
    case 'turned':
      return stands(state, event.sequence, event.sent)
    case 'fenced':
      return lost(state, 'fenced')
    case 'looked':
      return looked(state, event.now)
  }
}

/** The next effects after a change: the store and the log each do one thing at a time. */
function wentOn(state: ReplicaState): Transition {
  const { role } = state
  if (role.kind === 'closed') return just(state)
  const last = showable(state)
  if (state.applying === undefined && last > state.applied && !state.isToClose) {
    const applying = { turns: state.held.filter(({ sequence }) => sequence <= last), last }
    const held = state.held.slice(applying.turns.length)
    return also([{ kind: 'apply', ...applying }], wentOn({ ...state, held, applying }))
  }
  if (role.kind === 'follows') return followed(state, role)
  return role.kind === 'elected' && mayOwn(state) ? owned(state, role) : just(state)
}

/** Whether the wait of an elected node is over, with all that was before its election record applied and in force. */
function mayOwn({ role, view, applied, metadataVersion }: ReplicaState): boolean {
  return role.kind === 'elected' && role.isOver && applied === view.last && metadataVersion >= view.metadataNeeded
}

function followed(state: ReplicaState, role: Extract<Role, { kind: 'follows' }>): Transition {
  const { view, applying } = state
  if (state.isToClose) return applying === undefined ? ended(state) : just(state)
  if (state.isToOwn && view.last >= state.applied) {
    const metadataVersion = view.metadataNeeded > state.metadataVersion ? view.metadataNeeded : state.metadataVersion
    return just({ ...state, role: { kind: 'campaigns' } }, { kind: 'campaign', expected: view.last, metadataVersion })
  }
  if (role.isReading || applying !== undefined) return just(state)
  const reads = state.reads + 1
  return just({ ...state, reads, role: { ...role, isReading: true } }, { kind: 'read', read: reads, after: view.last })
}

/**
 * The last record that may be shown now. A record is in the log before its owner knows: until then reads at the owner are without it,
 * and a read there that begins after one here must not be behind it. After the end of the owner's read lease everything may be shown.
 */
function showable({ role, view, awaitsOwner, commitIndex }: ReplicaState): LogSequence {
  if (!awaitsOwner || (role.kind === 'elected' && role.isOver)) return view.last
  return Math.min(view.last, Math.max(view.proven, commitIndex)) as LogSequence
}

function read(state: ReplicaState, { read, records, received }: Extract<ReplicaEvent, { kind: 'read' }>): Transition {
  const { role } = state
  if (role.kind !== 'follows' || !role.isReading || read !== state.reads) return just(state)
  const view = viewAfter(state.view, records, received)
  // The last record that the store has applied is read for what it says of its writer.
  const turns = turnsOf(records).filter(({ sequence }) => sequence > state.applied)
  const held = [...state.held, ...turns]
  return wentOn({ ...state, view, held, role: { ...role, isReading: false } })
}

function applied(state: ReplicaState): Transition {
  const { applying, role } = state
  if (applying === undefined || role.kind === 'closed') return just(state)
  const { last } = applying
  return also([{ kind: 'show', last }], wentOn({ ...state, applied: last, applying: undefined }))
}

/** Applies again what the store had no room for. */
function toApply(state: ReplicaState): ReplicaState {
  const { applying, held } = state
  return applying === undefined ? state : { ...state, held: [...applying.turns, ...held], applying: undefined }
}

function campaigned(state: ReplicaState, outcome: OfferOutcome): Transition {
  if (state.role.kind !== 'campaigns') return just(state)
  if (outcome.kind !== 'stands') return lost(state, 'notElected')
  const { sequence: epoch, sent } = outcome
  const from = ownsFrom(state.view.writer, state.node)
  const role = { kind: 'elected', epoch, sent, from, isOver: from === 0n } as const
  const elected = { ...state, view: { ...state.view, last: epoch }, role }
  return also([{ kind: 'elected', epoch, from }], state.isToOwn ? wentOn(elected) : left(elected))
}

function owned(state: ReplicaState, { epoch, sent }: Extract<Role, { kind: 'elected' }>): Transition {
  const last = state.applied
  const owner = { ...state, role: { kind: 'owns', epoch, sent, isBeating: false } } as const
  return just(owner, { kind: 'owns', epoch }, { kind: 'show', last }, { kind: 'confirm', sent })
}

/** Checks whether the wait of an elected node is over, or a heartbeat due. */
function looked(state: ReplicaState, now: Nanoseconds): Transition {
  const { role } = state
  if (role.kind === 'elected' && now >= role.from) {
    const { state: next, effects } = wentOn({ ...state, role: { ...role, isOver: true } })
    return next.role.kind === 'owns' ? also(effects, looked(next, now)) : { state: next, effects }
  }
  return role.kind === 'owns' && now - role.sent.steady_ns >= heartbeat_ns ? beat(state) : just(state)
}

function beat(state: ReplicaState): Transition {
  const { role } = state
  if (role.kind !== 'owns' || role.isBeating) return just(state)
  return just({ ...state, role: { ...role, isBeating: true } }, { kind: 'append', record: 'idle' })
}

function appended(state: ReplicaState, record: EmptyRecord, outcome: OfferOutcome): Transition {
  if (record === 'release') return released(state, outcome)
  const { role } = state
  const next = role.kind === 'owns' ? { ...state, role: { ...role, isBeating: false } } : state
  if (outcome.kind === 'fenced') return lost(next, 'fenced')
  if (outcome.kind !== 'stands') return just(next)
  return also([{ kind: 'pass', last: outcome.sequence }], stands(next, outcome.sequence, outcome.sent))
}

/** The log counts as released even if the release is not in it: the next owner then waits until the read lease is over. */
function released(state: ReplicaState, outcome: OfferOutcome): Transition {
  if (state.role.kind !== 'releases') return just(state)
  if (outcome.kind !== 'stands') return lost(state, outcome.kind === 'fenced' ? 'fenced' : 'released')
  const last = outcome.sequence
  return also(
    [
      { kind: 'pass', last },
      { kind: 'show', last },
    ],
    lost(noted(state, last), 'released'),
  )
}

/** A record of this node is in the log and applied. */
function stands(state: ReplicaState, last: LogSequence, sent: ClockStart): Transition {
  const { role } = state
  const next = noted(state, last)
  if (role.kind === 'owns') {
    return just({ ...next, role: { ...role, sent } }, { kind: 'show', last }, { kind: 'confirm', sent })
  }
  return role.kind === 'releases' ? just(next, { kind: 'show', last }) : just(state)
}

/** Notes a record of this node as the last one known, and as applied. */
function noted(state: ReplicaState, last: LogSequence): ReplicaState {
  return { ...state, applied: last, view: { ...state.view, last } }
}

/** Releases the log if this node owns it, and ends the replica if it is to close. */
function left(state: ReplicaState): Transition {
  const { role } = state
  if (role.kind === 'follows') return wentOn(state)
  if (role.kind === 'closed' && state.isToClose) return just(state, { kind: 'ended' })
  if (role.kind !== 'elected' && role.kind !== 'owns') return just(state)
  // While the owner before may still show what it has, whoever is elected next has to wait, as behind this election.
  if (role.kind === 'elected' && !mayOwn(state)) return lost(state, 'released')
  // Nothing may be shown after the record that says so, from before it is sent.
  return just({ ...state, role: { kind: 'releases' } }, { kind: 'revoke' }, { kind: 'append', record: 'release' })
}

/** Follows again, or ends. */
function lost(state: ReplicaState, why: 'fenced' | 'released' | 'notElected'): Transition {
  const { role } = state
  if (role.kind === 'closed' || role.kind === 'follows') return just(state)
  const isToOwn = why === 'released' && state.isToOwn
  const next = wentOn({ ...state, isToOwn, role: { kind: 'follows', isReading: false } })
  return also([{ kind: 'revoke' }, { kind: 'lost', why }], next)
}

function givenUp(state: ReplicaState): Transition {
  if (state.role.kind === 'closed') return just(state)
  return also([{ kind: 'revoke' }, { kind: 'lost', why: 'givenUp' }], ended(state))
}

function ended(state: ReplicaState): Transition {
  return just({ ...state, isToOwn: false, role: { kind: 'closed' } }, { kind: 'ended' })
}

function just(state: ReplicaState, ...effects: readonly ReplicaEffect[]): Transition {
  return { state, effects }
}

function also(before: readonly ReplicaEffect[], { state, effects }: Transition): Transition {
  return { state, effects: [...before, ...effects] }
}
