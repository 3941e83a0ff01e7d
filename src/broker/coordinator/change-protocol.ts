import type { Decision } from '../../model/subscription/decisions.js'
import { type Err, err, ok, type Result } from '../../result.js'
import type { Unavailable } from '../front-end/unavailable.js'

/** The state of a change of a subscription, which determines the next step. */
export type ChangeState =
  /** Next: write the proposal. */
  | { readonly kind: 'proposing' }
  /** Next: ask whether every partition and every courier knows of it. */
  | { readonly kind: 'asking' }
  /** Next: make the notifications that go with it. */
  | { readonly kind: 'composing' }
  /** Next: write that it is committed, with its notifications. */
  | { readonly kind: 'committing' }
  /** Next: write that it is withdrawn. */
  | { readonly kind: 'withdrawing'; readonly response: ChangeResponse }
  /** Next: bring the decision, which is in the log, into force. */
  | { readonly kind: 'enforcing'; readonly decision: Decision; readonly response: ChangeResponse }
  | { readonly kind: 'ended'; readonly response: ChangeResponse }

/** The response to the caller; a fault is thrown there. */
export type ChangeResponse = Result<undefined, Unavailable> | { readonly fault: unknown }

/** The outcome of a step. */
export type ChangeEvent =
  | { readonly kind: 'done' }
  | { readonly kind: 'refused'; readonly error: Unavailable }
  /** Another node coordinates: nothing was written, and this node can write nothing any more. */
  | { readonly kind: 'away' }
  /** The process ends before the outcome is known: the next start, or the next coordinator, withdraws what is undecided. */
  | { readonly kind: 'givenUp' }
  /** A fault: the record may stand. While proposing it does not, so nothing has to be withdrawn. */
  | { readonly kind: 'failed'; readonly fault: unknown }

export const begun: ChangeState = { kind: 'proposing' }

const away: Err<Unavailable> = err({ kind: 'coordinatorAway' })
const unknown: Err<Unavailable> = err({ kind: 'outcomeUnknown' })

/**
 * The protocol of a change. Success is answered when what was decided is in the log, and only then; a refusal when it is certain that
 * nobody will decide for the change: it is withdrawn, or its coordinator has been followed by another one, which withdraws whatever
 * it finds undecided. A successor never commits: nobody was answered success, and a client that was answered nothing may ask again.
 *
 *     state        | done            | refused          | away            | givenUp         | failed
 *     -------------|-----------------|------------------|-----------------|-----------------|-----------------
 *     proposing    | asking          | ended: refusal   | ended: away     | ended: unknown  | ended: fault
 *     asking       | composing       | withdrawing      | ended: away     | ended: unknown  | withdrawing
 *     composing    | committing      | withdrawing      | ended: away     | ended: unknown  | withdrawing
 *     committing   | enforcing: ok   | withdrawing      | ended: away     | ended: unknown  | withdrawing
 *     withdrawing  | enforcing       | withdrawing      | ended: answer   | ended: answer   | withdrawing
 *     enforcing    | ended: answer   | enforcing        | ended: answer   | ended: answer   | enforcing
 *
 * Only the first write can fail with nothing written. A decision is in the log before it is brought into force, so that step is repeated
 * until it succeeds.
 */
export function nextOfChange(state: ChangeState, event: ChangeEvent): ChangeState {
  if (state.kind === 'ended') return state
  if (state.kind === 'withdrawing' || state.kind === 'enforcing') {
    const { response } = state
    if (event.kind === 'away' || event.kind === 'givenUp') return { kind: 'ended', response }
    if (event.kind !== 'done') return state
    return state.kind === 'enforcing'
      ? { kind: 'ended', response }
      : { kind: 'enforcing', decision: 'withdrawn', response }
  }
  if (event.kind === 'away') return { kind: 'ended', response: away }
  if (event.kind === 'givenUp') return { kind: 'ended', response: unknown }
  if (event.kind === 'done') return behind[state.kind]
  const response = event.kind === 'refused' ? err(event.error) : { fault: event.fault }
  return { kind: state.kind === 'proposing' ? 'ended' : 'withdrawing', response }
}

const behind = {
  proposing: { kind: 'asking' },
  asking: { kind: 'composing' },
  composing: { kind: 'committing' },
  committing: { kind: 'enforcing', decision: 'committed', response: ok(undefined) },
} as const satisfies { readonly [Kind in ChangeState['kind']]?: ChangeState }
