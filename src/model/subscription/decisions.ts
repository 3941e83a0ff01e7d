import type { Decisions, Proposal, Subscription } from './subscription.js'

export type Decision = 'committed' | 'withdrawn'

/**
 * Of a notice that was made while a change of its subscription was undecided: the number of the change, and which version has made
 * it, the one that stood until then or the one that was proposed. It is sent if that version is the one that was decided for.
 */
export interface Provisional {
  readonly change: number
  readonly by: 'standing' | 'proposed'
}

/** A version of a subscription, with what is said of its notices while there is another one. */
export interface Version {
  readonly subscription: Subscription
  readonly provisional: Provisional | undefined
}

/** Without a word about decisions a subscription was created, and nothing else of it was ever proposed. */
const created: Decisions = { last: 1, withdrawn: [] }

/** Before a subscription is created. */
const none: Decisions = { last: 0, withdrawn: [] }

/**
 * Ranges that are remembered. A notice that was made during an older change which was withdrawn, and that still waits, is judged as
 * if that change had been committed: there were as many others since, each of which took the time limit of a round.
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

/** The record of a subscription after what was proposed is decided; nothing when there is none. */
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

/** Whether a change of a subscription is proposed and not decided yet. */
export function isUndecided({ decisions }: Pick<Subscription, 'decisions'>): boolean {
  return decisions?.proposal !== undefined
}

/** Whether a subscription has the very proposal of a record, and that is not decided yet. */
export function isSameProposal(held: Subscription | undefined, record: Subscription): boolean {
  if (held?.id !== record.id) return false
  return held.decisions?.proposal !== undefined && held.decisions.last === record.decisions?.last
}

/** Whether a record is that of a subscription which is proposed, and of none that is in force. */
export function isProposedOnly({ decisions }: Pick<Subscription, 'decisions'>): boolean {
  return decisions?.proposal?.kind === 'create'
}

/** Whether the last change of a subscription was decided in favour of what was proposed. */
export function isCommitted({ decisions = created }: Pick<Subscription, 'decisions'>): boolean {
  return !hasNumber(decisions.withdrawn, decisions.last)
}

/** The versions of a subscription by which changes of entities are matched: both while it is not decided which one holds. */
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
 * What becomes of a notice that was made while a change was undecided: it waits, it is sent, or it is void.
 *
 * @param decisions what is known of the decisions; nothing of a subscription that nobody has decided anything of but its creation
 * @param isHeld whether the subscription is on hold, as it is while a change is undecided. A change that is not known without that
 * was never decided: its proposal did not come to be on disk, or was lost with it.
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

/** With a number that is greater than all in it. */
function withNumber(ranges: readonly number[], number: number): readonly number[] {
  if (ranges.at(-1) === number - 1) return [...ranges.slice(0, -1), number]
  return [...ranges, number, number].slice(-2 * mostRanges)
}
