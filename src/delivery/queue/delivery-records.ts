import { lastNotified } from '../../model/subscription/clocks.js'
import type { DeliveryStats, NoticeAck, NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Milliseconds } from '../../time.js'
import { OutboxAcks } from './acks.js'
import type { DeliveryState, Recipient } from './courier-protocol.js'
import type { QueuedNotice } from './notice-list.js'
import type { OutboxNumber } from './outboxes.js'
import { type Accepted, type Failed, reasonText } from './outgoing.js'
import type { QueueClock, SubscriptionQueue } from './subscription-queue.js'

/** The stats of one subscription by outbox; failures in a row and the date of the last attempt over all of them. */
interface SubscriptionStats {
  readonly byOutbox: Map<OutboxNumber, DeliveryStats>
  fails: number
  attempted: number
}

export interface RecordsParts {
  /** The number of the coordinator's outbox, which is the last one. */
  readonly coordinator: OutboxNumber
  readonly clock: QueueClock
  /** Asks the owner of an outbox to store acks; `done` hears whether they are on disk. */
  readonly ack: (outbox: OutboxNumber, acks: readonly NoticeAck[], done: (isStored: boolean) => void) => void
  /** The stats of a subscription in the outboxes that other nodes send, by this node's replicas. */
  readonly elsewhere: (id: SubscriptionId) => readonly DeliveryStats[]
}

type LeavingNotice = Pick<QueuedNotice, 'outbox' | 'number' | 'made'>
type TriedNotice = Pick<QueuedNotice, 'outbox' | 'number' | 'tried'>

/**
 * The delivery stats of all subscriptions, and the acks by which they go to disk [subscriptions 5.7]: every change of the stats
 * is one, together with the notice that leaves if there is one.
 */
export class DeliveryRecords {
  readonly #subscriptions = new Map<SubscriptionId, SubscriptionStats>()
  readonly #acks: readonly OutboxAcks[]
  readonly #elsewhere: RecordsParts['elsewhere']

  constructor({ coordinator, clock: { later }, ack, elsewhere }: RecordsParts) {
    this.#elsewhere = elsewhere
    this.#acks = Array.from({ length: coordinator + 1 }, (_, outbox) => {
      const statsOf = (id: SubscriptionId) => this.#subscriptions.get(id)?.byOutbox.get(outbox)
      return new OutboxAcks({ statsOf, later, ack: (acks, done) => ack(outbox, acks, done) })
    })
  }

  /** The stats of a subscription as an outbox holds them when it is read. */
  restore(id: SubscriptionId, outbox: OutboxNumber, stats: DeliveryStats): void {
    const own = this.#of(id)
    own.byOutbox.set(outbox, stats)
    const { attempted = 0, fails } = stats
    if (attempted > own.attempted) Object.assign(own, { attempted, fails })
  }

  /** Whether an attempt at a notice was made that is still in its outbox. */
  isTried(id: SubscriptionId, outbox: OutboxNumber, number: NoticeNumber): boolean {
    return this.#subscriptions.get(id)?.byOutbox.get(outbox)?.tried.includes(number) === true
  }

  /** The stats of all outboxes as one. */
  merged(id: SubscriptionId): MergedStats {
    return mergedStats([...(this.#subscriptions.get(id)?.byOutbox.values() ?? []), ...this.#elsewhere(id)])
  }

  state({ id, clock }: Recipient, queue: SubscriptionQueue | undefined): DeliveryState {
    const nextAttempt = queue?.nextAttempt
    const oldest = queue?.order.oldest('all')
    const { lastNotification = 0, ...stats } = this.merged(id)
    const latest = Math.max(lastNotification, lastNotified(clock))
    return {
      ...stats,
      ...(latest > 0 && { lastNotification: latest as Milliseconds }),
      queueDepth: queue?.depth ?? 0,
      queueBytes: queue?.bytes ?? 0,
      ...(oldest !== undefined && { oldestQueued: oldest.made }),
      ...(nextAttempt !== undefined && { nextAttempt }),
    }
  }

  /** An attempt has failed; returns how many have in a row, over all outboxes. */
  failed(id: SubscriptionId, notice: TriedNotice, outcome: Failed, at: Milliseconds): number {
    const own = this.#of(id)
    own.fails += 1
    const { outbox, number, tried } = notice
    const attempt = { number, first: !tried, outcome, at, fails: own.fails, attempted: nextAttempted(own, at) }
    this.#change(id, outbox, (stats) => afterFailure(stats, attempt))
    notice.tried = true
    return own.fails
  }

  /** A notice was accepted and leaves its outbox. */
  accepted(id: SubscriptionId, notice: TriedNotice & LeavingNotice, outcome: Accepted, at: Milliseconds): void {
    const own = this.#of(id)
    own.fails = 0
    const { outbox, number, made, tried } = notice
    const attempt = { number, made, first: !tried, status: outcome.status, at, attempted: nextAttempted(own, at) }
    this.#change(id, outbox, (stats) => afterAcceptance(stats, attempt), number)
  }

  /** A notice leaves its outbox; `discarded` when a limit dropped it. */
  left(id: SubscriptionId, { outbox, number, made }: LeavingNotice, discarded: boolean): void {
    this.#change(id, outbox, (stats) => afterDeparture(stats, { number, made, discarded }), number)
  }

  /** A notice leaves its outbox as if it had never been there. */
  voided(id: SubscriptionId, { outbox, number }: Pick<LeavingNotice, 'outbox' | 'number'>): void {
    this.#change(id, outbox, (stats) => stats, number)
  }

  /** A notice leaves its outbox that counts as accepted without being sent. */
  simulated(id: SubscriptionId, { outbox, number, made }: LeavingNotice): void {
    this.#change(id, outbox, (stats) => afterSimulation(stats, made), number)
  }

  /** A subscription has ended, or is unknown: its stats leave the disk with these notices. */
  ended(id: SubscriptionId, gone: Iterable<Pick<QueuedNotice, 'outbox' | 'number'>>): void {
    const outboxes = new Set(this.#subscriptions.get(id)?.byOutbox.keys())
    this.#subscriptions.delete(id)
    for (const { outbox, number } of gone) {
      outboxes.add(outbox)
      this.#acks[outbox]?.note(id, number)
    }
    for (const outbox of outboxes) this.#acks[outbox]?.note(id)
  }

  /** Resolves when all acks of a subscription are on disk. */
  async stored(id: SubscriptionId): Promise<void> {
    await Promise.all(this.#acks.map((acks) => acks.stored(id)))
  }

  /** Stores the pending acks of an outbox, or of all, without gathering more; resolves when they are on disk. */
  async flush(outbox?: OutboxNumber): Promise<void> {
    const meant = outbox === undefined ? this.#acks : this.#acks.slice(outbox, outbox + 1)
    await Promise.all(
      meant.map((acks) => {
        acks.flush()
        return acks.empty()
      }),
    )
  }

  /** Acks that are not on disk: each is of a subscription, or of several in one batch. */
  get unstored(): number {
    return this.#acks.reduce((sum, { size }) => sum + size, 0)
  }

  /** Gives up acks that are not on disk. */
  close(): void {
    for (const acks of this.#acks) acks.close()
  }

  /** An outbox is another node's now: its stats are forgotten, and the acks of it that are not on disk. */
  forget(outbox: OutboxNumber): void {
    for (const [id, { byOutbox }] of this.#subscriptions) {
      if (byOutbox.delete(outbox) && byOutbox.size === 0) this.#subscriptions.delete(id)
    }
    this.#acks[outbox]?.forget()
  }

  #change(
    id: SubscriptionId,
    outbox: OutboxNumber,
    change: (stats: DeliveryStats) => DeliveryStats,
    gone?: number,
  ): void {
    const { byOutbox } = this.#of(id)
    byOutbox.set(outbox, change(byOutbox.get(outbox) ?? noStats))
    this.#acks[outbox]?.note(id, gone)
  }

  #of(id: SubscriptionId): SubscriptionStats {
    let own = this.#subscriptions.get(id)
    if (own === undefined) {
      own = { byOutbox: new Map(), fails: 0, attempted: 0 }
      this.#subscriptions.set(id, own)
    }
    return own
  }
}

/** The date of an attempt: later than that of every one before. */
function nextAttempted(own: SubscriptionStats, at: Milliseconds): Milliseconds {
  own.attempted = Math.max(at, own.attempted + 1)
  return own.attempted as Milliseconds
}

/** The stats of a subscription in an outbox that none of its notices has left yet. */
export const noStats: DeliveryStats = { sent: 0, discarded: 0, tried: [], fails: 0 }

/**
 * Notices that are remembered as tried, of one subscription in one outbox: each outcome stores all of them again. Further ones count
 * once more if the courier starts anew before they leave.
 */
const mostTried = 1000

/** An attempt that has ended. */
interface EndedAttempt {
  readonly number: NoticeNumber
  /** Whether it was the first one of its notice. */
  readonly first: boolean
  readonly at: Milliseconds
  /** Later than the same field of every attempt before, so that the last attempt is known. */
  readonly attempted: Milliseconds
}

interface FailedAttempt extends EndedAttempt {
  readonly outcome: Failed
  /** Failed attempts since the last acceptance, over all outboxes, this one included. */
  readonly fails: number
}

interface AcceptedAttempt extends EndedAttempt {
  /** Of the response; MQTT has none. */
  readonly status: number | undefined
  /** When its notice was made. */
  readonly made: Milliseconds
}

/** The stats after an attempt that failed [subscriptions 5.7]. */
export function afterFailure(stats: DeliveryStats, attempt: FailedAttempt): DeliveryStats {
  const { number, first, outcome, at, fails, attempted } = attempt
  const tried = first && stats.tried.length < mostTried ? [...stats.tried, number] : stats.tried
  const sent = sentAfter(stats, first)
  return { ...stats, sent, tried, fails, attempted, lastFailure: at, lastFailureReason: reasonText(outcome) }
}

/** The stats after an attempt that was accepted, with which its notice leaves the outbox [subscriptions 5.7]. */
export function afterAcceptance(stats: DeliveryStats, attempt: AcceptedAttempt): DeliveryStats {
  const { number, first, status, made, at, attempted } = attempt
  const accepted = {
    ...stats,
    ...{ sent: sentAfter(stats, first), fails: 0, attempted, lastSuccess: at },
    ...{ tried: triedWithout(stats, number), lastNotification: latest(stats.lastNotification, made) },
  }
  return status === undefined ? accepted : { ...accepted, lastSuccessCode: status }
}

function sentAfter({ sent }: DeliveryStats, isFirst: boolean): number {
  return isFirst ? sent + 1 : sent
}

function triedWithout({ tried }: DeliveryStats, number: NoticeNumber): readonly NoticeNumber[] {
  return tried.includes(number) ? tried.filter((other) => other !== number) : tried
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
    tried: triedWithout(stats, number),
    discarded: stats.discarded + (discarded ? 1 : 0),
    lastNotification: latest(stats.lastNotification, made),
  }
}

/** The stats after a notice that counts as accepted without being sent [subscriptions 5.5, -simulatedNotification]. */
function afterSimulation(stats: DeliveryStats, made: Milliseconds): DeliveryStats {
  const lastNotification = latest(stats.lastNotification, made)
  return { ...stats, sent: stats.sent + 1, lastNotification, lastSuccess: made, fails: 0 }
}

/** The part of a delivery state that comes from stats. */
type MergedStats = Omit<DeliveryState, 'queueDepth' | 'queueBytes' | 'oldestQueued' | 'nextAttempt'>

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
