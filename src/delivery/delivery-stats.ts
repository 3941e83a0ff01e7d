import type { DeliveryStats, NoticeNumber } from '../subscription/notice.js'
import type { Milliseconds } from '../time.js'
import type { DeliveryState } from './message.js'
import { type AttemptOutcome, reasonText } from './outcome.js'

/** The stats of a subscription in an outbox that none of its notices has left yet. */
export const noStats: DeliveryStats = { sent: 0, discarded: 0, tried: [], fails: 0 }

/** An attempt that has ended. */
interface EndedAttempt {
  readonly number: NoticeNumber
  /** Whether it was the first one of its notice. */
  readonly first: boolean
  readonly outcome: AttemptOutcome
  readonly at: Milliseconds
  /** Failed attempts since the last acceptance, over all outboxes, this one included. */
  readonly fails: number
  /** Later than the same field of every attempt before, so that the last attempt is known. */
  readonly attempted: Milliseconds
}

/** The stats after an attempt [subscriptions 5.7]. */
export function afterAttempt(stats: DeliveryStats, attempt: EndedAttempt): DeliveryStats {
  const { number, first, outcome, at, fails, attempted } = attempt
  const sent = stats.sent + (first ? 1 : 0)
  const tried = first ? [...stats.tried, number] : stats.tried
  const shared = { ...stats, sent, tried, fails, attempted }
  if (outcome.kind === 'accepted') {
    const { status } = outcome
    return { ...shared, lastSuccess: at, ...(status !== undefined && { lastSuccessCode: status }) }
  }
  return { ...shared, lastFailure: at, lastFailureReason: reasonText(outcome) }
}

/** A notice that leaves its outbox. */
interface DepartedNotice {
  readonly number: NoticeNumber
  readonly made: Milliseconds
  /** Whether a limit dropped it. */
  readonly discarded: boolean
}

/** The stats after a notice has left the outbox. */
export function afterDeparture(stats: DeliveryStats, { number, made, discarded }: DepartedNotice): DeliveryStats {
  return {
    ...stats,
    tried: stats.tried.includes(number) ? stats.tried.filter((other) => other !== number) : stats.tried,
    discarded: stats.discarded + (discarded ? 1 : 0),
    lastNotification: latest(stats.lastNotification, made),
  }
}

/** The stats after a notice that counts as accepted without being sent [subscriptions 5.5, -simulatedNotification]. */
export function afterSimulation(stats: DeliveryStats, made: Milliseconds): DeliveryStats {
  const lastNotification = latest(stats.lastNotification, made)
  return { ...stats, sent: stats.sent + 1, lastNotification, lastSuccess: made, fails: 0 }
}

/** The part of a delivery state that comes from stats. */
export type MergedStats = Omit<DeliveryState, 'queueDepth' | 'queueBytes' | 'oldestQueued' | 'nextAttempt'>

/** The stats of all outboxes as one [subscriptions 5.7]. */
export function mergedStats(all: readonly DeliveryStats[]): MergedStats {
  const success = newest(all, ({ lastSuccess }) => lastSuccess)
  const failure = newest(all, ({ lastFailure }) => lastFailure)
  const notified = newest(all, ({ lastNotification }) => lastNotification)
  return {
    timesSent: all.reduce((sum, { sent }) => sum + sent, 0),
    discarded: all.reduce((sum, { discarded }) => sum + discarded, 0),
    failsCounter: newest(all, ({ attempted }) => attempted)?.fails ?? 0,
    ...(notified?.lastNotification !== undefined && { lastNotification: notified.lastNotification }),
    ...(success?.lastSuccess !== undefined && { lastSuccess: success.lastSuccess }),
    ...(success?.lastSuccessCode !== undefined && { lastSuccessCode: success.lastSuccessCode }),
    ...(failure?.lastFailure !== undefined && { lastFailure: failure.lastFailure }),
    ...(failure?.lastFailureReason !== undefined && { lastFailureReason: failure.lastFailureReason }),
  }
}

function newest(
  all: readonly DeliveryStats[],
  date: (stats: DeliveryStats) => Milliseconds | undefined,
): DeliveryStats | undefined {
  let found: DeliveryStats | undefined
  for (const stats of all) {
    const own = date(stats)
    if (own !== undefined && own > ((found && date(found)) ?? Number.NEGATIVE_INFINITY)) found = stats
  }
  return found
}

function latest(held: Milliseconds | undefined, other: Milliseconds): Milliseconds {
  return held !== undefined && held > other ? held : other
}
