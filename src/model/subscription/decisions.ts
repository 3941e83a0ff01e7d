import type { Decisions, Proposal, Subscription } from './subscription.js'

export type Decision = 'committed' | 'withdrawn'

/**
 * Marks a notice that was made while a change of its subscription was undecided: the number of the change, and whether the
 * version then in force or the proposed one has made the notice. The notice is sent if the decision is for that version.
 */
export interface Provisional {
  readonly change: number
  readonly by: 'standing' | 'proposed'
}

/** A version of a subscription, and the mark of its notices while there is another version. */
export interface Version {
  readonly subscription: Subscription
  readonly provisional: Provisional | undefined
}

/** A subscription without recorded decisions was created, and no other change of it was ever proposed. */
const created: Decisions = { last: 1, withdrawn: [] }

/** Before a subscription is created. */
const none: Decisions = { last: 0, withdrawn: [] }

/**
 * The most ranges that are kept. A waiting notice from an older, withdrawn change is judged as if that change had been committed:
 * at least this many changes came since, each of which took the time limit of a round.
 */
const mostRanges = 64

/**
 * The record of a subscription for which a change is proposed.
 *
 *     state of the record      | propose create | propose replace | propose remove | commit        | withdraw
 *     -------------------------|----------------|-----------------|----------------|---------------|----------------
 *     absent                   | create         | -               | -              | -             | -
 *     decided                  | -              | replace         | remove         | -             | -
 *     proposed: create         | -              | -               | -              | decided       | absent
 *     proposed: replace        | -              | -               | -              | decided (by)  | decided (as it was)
 *     proposed: remove         | -              | -               | -              | absent        | decided (as it was)
 */
export function proposed(subscription: Subscription, proposal: Proposal): Subscription {
  if (proposal.kind === 'create') return { ...subscription, decisions: { ...none, proposal } }
  const decisions = subscription.decisions ?? created
  if (decisions.proposal !== undefined)
    throw new Error(`a change of subscription ${subscription.id} is not decided yet`)
  const { last, withdrawn } = decisions
  return { ...subscription, decisions: { last, withdrawn, proposal } }
}

/** The record of a subscription after the decision on its proposal; undefined when it no longer exists. */
export function decided(record: Subscription, decision: Decision): Subscription | undefined {
  const { last, withdrawn, proposal } = record.decisions ?? created
  if (proposal === undefined) throw new Error(`nothing is proposed for subscription ${record.id}`)
  if (decision === 'withdrawn') {
    if (proposal.kind === 'create') return undefined
    return { ...record, decisions: { last: last + 1, withdrawn: withNumber(withdrawn, last + 1) } }
  }
  if (proposal.kind === 'remove') return undefined
  if (proposal.kind === 'replace') return { ...proposal.by, decisions: { last: last + 1, withdrawn } }
  const { decisions: _, ...subscription } = record
  return subscription
}

/** Whether a proposed change of a subscription is undecided. */
export function isUndecided({ decisions }: Pick<Subscription, 'decisions'>): boolean {
  return decisions?.proposal !== undefined
}

/** Whether a subscription holds the proposal of this record, undecided. */
export function isSameProposal(held: Subscription | undefined, record: Subscription): boolean {
  if (held?.id !== record.id) return false
  return held.decisions?.proposal !== undefined && held.decisions.last === record.decisions?.last
}

/** Whether the subscription of a record was only proposed, and was never in force. */
export function isProposedOnly({ decisions }: Pick<Subscription, 'decisions'>): boolean {
  return decisions?.proposal?.kind === 'create'
}

/** Whether the last decision about a subscription was for the proposal. */
export function isCommitted({ decisions = created }: Pick<Subscription, 'decisions'>): boolean {
  return !hasNumber(decisions.withdrawn, decisions.last)
}

/** The versions of a subscription that changes of entities are matched against: both while it is undecided which one holds. */
export function versionsOf(record: Subscription): { readonly standing?: Version; readonly proposed?: Version } {
  const { last, proposal } = record.decisions ?? created
  if (proposal === undefined) return { standing: { subscription: record, provisional: undefined } }
  const change = last + 1
  const standing: Version = { subscription: record, provisional: { change, by: 'standing' } }
  const by: Provisional = { change, by: 'proposed' }
  if (proposal.kind === 'create') return { proposed: { subscription: record, provisional: by } }
  if (proposal.kind === 'remove') return { standing }
  return { standing, proposed: { subscription: proposal.by, provisional: by } }
}

/**
 * The verdict on a notice that was made while a change was undecided: it waits, is sent, or is void.
 *
 * @param decisions absent for a subscription with no decision but its creation
 * @param isHeld whether the subscription is on hold, as it is while a change is undecided. An unknown change of a subscription that is
 * not on hold was never decided: its proposal never became durable, or was lost with the disk.
 */
export function verdictOn(
  { change, by }: Provisional,
  decisions: Pick<Decisions, 'last' | 'withdrawn'> = created,
  isHeld = false,
): 'undecided' | 'valid' | 'void' {
  if (change > decisions.last && isHeld) return 'undecided'
  const isWithdrawn = change > decisions.last || hasNumber(decisions.withdrawn, change)
  return isWithdrawn === (by === 'standing') ? 'valid' : 'void'
}

function hasNumber(ranges: readonly number[], number: number): boolean {
  for (let at = 0; at < ranges.length; at += 2) {
    if (number >= (ranges[at] ?? 0) && number <= (ranges[at + 1] ?? 0)) return true
  }
  return false
}

/** Adds a number that is greater than all in the ranges. */
function withNumber(ranges: readonly number[], number: number): readonly number[] {
  if (ranges.at(-1) === number - 1) return [...ranges.slice(0, -1), number]
  return [...ranges, number, number].slice(-2 * mostRanges)
}
