import type { DeliveryStats, NoticeNumber } from '../subscription/notice.js'
import type { Milliseconds } from '../time.js'
import type { DeliveryState } from './message.js'
import { type AttemptOutcome, reasonText } from './outcome.js'

/** The account of a subscription of whose notices an outbox has seen nothing leave. */
export const noAccount: DeliveryStats = { sent: 0, discarded: 0, tried: [], fails: 0 }

/** An attempt that has ended. */
export interface Attempted {
  readonly number: NoticeNumber
  /** Whether it was the first one of its notice. */
  readonly first: boolean
  readonly outcome: AttemptOutcome
  readonly at: Milliseconds
  /** Failed attempts since the last acceptance, over all outboxes, this one included. */
  readonly fails: number
  /** A moment after that of every attempt before, so that the last one is known. */
  readonly attempted: Milliseconds
}

/** An account after an attempt [subscriptions 5.7]. */
export function afterAttempt(account: DeliveryStats, attempt: Attempted): DeliveryStats {
  const { number, first, outcome, at, fails, attempted } = attempt
  const sent = account.sent + (first ? 1 : 0)
  const tried = first ? [...account.tried, number] : account.tried
  const shared = { ...account, sent, tried, fails, attempted }
  if (outcome.kind === 'accepted') return { ...shared, lastSuccess: at, lastSuccessCode: outcome.status }
  return { ...shared, lastFailure: at, lastFailureReason: reasonText(outcome) }
}

/** A notice that leaves its outbox. */
export interface Departed {
  readonly number: NoticeNumber
  readonly made: Milliseconds
  /** Whether a limit dropped it. */
  readonly discarded: boolean
}

/** An account after a notice has left the outbox. */
export function afterDeparture(account: DeliveryStats, { number, made, discarded }: Departed): DeliveryStats {
  return {
    ...account,
    tried: account.tried.includes(number) ? account.tried.filter((other) => other !== number) : account.tried,
    discarded: account.discarded + (discarded ? 1 : 0),
    lastNotification: latest(account.lastNotification, made),
  }
}

/** A notice that was accepted when it was made, because nothing is sent [subscriptions 5.5, -simulatedNotification]. */
export function afterSimulation(account: DeliveryStats, made: Milliseconds): DeliveryStats {
  const lastNotification = latest(account.lastNotification, made)
  return { ...account, sent: account.sent + 1, lastNotification, lastSuccess: made, fails: 0 }
}

/** What the accounts of all outboxes say together [subscriptions 5.7]. */
export type Merged = Pick<
  DeliveryState,
  | 'timesSent'
  | 'discarded'
  | 'failsCounter'
  | 'lastNotification'
  | 'lastSuccess'
  | 'lastSuccessCode'
  | 'lastFailure'
  | 'lastFailureReason'
>

export function merged(accounts: readonly DeliveryStats[]): Merged {
  const success = last(accounts, ({ lastSuccess }) => lastSuccess)
  const failure = last(accounts, ({ lastFailure }) => lastFailure)
  const notified = last(accounts, ({ lastNotification }) => lastNotification)
  return {
    timesSent: accounts.reduce((sum, { sent }) => sum + sent, 0),
    discarded: accounts.reduce((sum, { discarded }) => sum + discarded, 0),
    failsCounter: last(accounts, ({ attempted }) => attempted)?.fails ?? 0,
    ...(notified?.lastNotification !== undefined && { lastNotification: notified.lastNotification }),
    ...(success?.lastSuccess !== undefined && { lastSuccess: success.lastSuccess }),
    ...(success?.lastSuccessCode !== undefined && { lastSuccessCode: success.lastSuccessCode }),
    ...(failure?.lastFailure !== undefined && { lastFailure: failure.lastFailure }),
    ...(failure?.lastFailureReason !== undefined && { lastFailureReason: failure.lastFailureReason }),
  }
}

function last(
  accounts: readonly DeliveryStats[],
  date: (account: DeliveryStats) => Milliseconds | undefined,
): DeliveryStats | undefined {
  let found: DeliveryStats | undefined
  for (const account of accounts) {
    const own = date(account)
    if (own !== undefined && own > ((found && date(found)) ?? Number.NEGATIVE_INFINITY)) found = account
  }
  return found
}

function latest(held: Milliseconds | undefined, other: Milliseconds): Milliseconds {
  return held !== undefined && held > other ? held : other
}
