import type { Steps } from '../slices.js'
import { advanceClock } from '../subscription/clocks.js'
import type { DeliveryStats, NumberedNotice } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Milliseconds, Nanoseconds } from '../time.js'
import { DeliveryRecords, type RecordsParts } from './delivery-records.js'
import { type DepartureParts, Departures } from './departures.js'
import type { InspectedQueue, KnownState, ReceiverPage, Recipient, WhichReceivers } from './message.js'
import type { QueuedNotice } from './notice-list.js'
import type { SourceNumber } from './outboxes.js'
import type { Accepted, Failed } from './outgoing.js'
import { ReceiverRecords, receiverPage } from './receiver-records.js'
import { type BegunAttempt, ReceiverTurns } from './receiver-turns.js'
import { Recipients, type RecipientsParts } from './recipients.js'
import type { SubscriptionQueue } from './subscription-queue.js'

export interface DeliveryQueueParts extends Omit<RecipientsParts, 'ready'>, DepartureParts, RecordsParts {
  /** Nothing is sent: a notice counts as accepted when it arrives. */
  readonly simulated: boolean
  /** Whether an outbox may come from another node, with notices of subscriptions that are not known here yet. */
  readonly mayMove: (source: SourceNumber) => boolean
  /** Why a notice is too long to be sent to a recipient; undefined of any other notice. */
  readonly tooLong: (recipient: Recipient, source: SourceNumber, numbered: NumberedNotice) => string | undefined
  /** `next` may give something. */
  readonly ready: () => void
  /** Listeners to the subscription may be sent something. */
  readonly streamReady: (id: SubscriptionId) => void
  /** More attempts in a row have failed than the subscription may have. */
  readonly failing: (id: SubscriptionId, fails: number) => void
}

/**
 * All notices that wait or are under way, and what has become of others until that is on disk [subscriptions 5].
 *
 *     add ──▶ waiting ── next ──▶ under way ── accepted ───▶ accepted ───┐
 *              │   ▲                │ │  └──── unsendable ──▶ dropped ────┤
 *              │   └─── failed ─────┘ └─────── missing ─────▶ ended ──────┤
 *              │        (a pause)                                         │
 *              ├── a limit: add, check, sweep ──────────────▶ dropped ────┼─ acks ──▶ in a batch ── acked ──▶ on disk
 *              ├── add of a newer tick ─────────────────────▶ superseded ─┤
 *              ├── add, put while deliveries are simulated ─▶ accepted ───┤
 *              └── expire, sweep, end ──────────────────────▶ ended ──────┘
 *
 * A notice that is under way is not taken away by a limit; when its subscription expires or a newer tick is added it leaves
 * once its attempt has failed. Only `end` takes it away, and the end of its attempt then changes nothing.
 *
 * The parts: `SubscriptionQueue` has the order and the pauses of one subscription, with one notice of each ordering key under
 * way; `Recipients` has the queues and the sums that limits are about; `ReceiverTurns` shares the attempts among receivers;
 * `DeliveryRecords` has the delivery stats and the pending acks; `Departures` tells these two of each notice that leaves.
 */
export class DeliveryQueue {
  /** The delivery stats and the acks. */
  readonly records: DeliveryRecords
  /** How attempts ended, for operators. */
  readonly receiverRecords = new ReceiverRecords()
  readonly #parts: DeliveryQueueParts
  readonly #recipients: Recipients
  readonly #turns: ReceiverTurns
  readonly #departures: Departures
  /** The queues with a barrier, which may be free when more of the outboxes is known. */
  readonly #barred = new Set<SubscriptionQueue>()
  /** Outboxes whose notices were made before they were read here. */
  readonly #loading = new Set<SourceNumber>()
  /** Notices of these, by outbox and number, of which an attempt was made before. */
  readonly #tried = new Set<string>()
  /** Subscriptions that such outboxes name and that are not known, with when they were read. */
  readonly #strange = new Map<SubscriptionId, number>()

  constructor(parts: DeliveryQueueParts) {
    this.#parts = parts
    this.#recipients = new Recipients({ ...parts, ready: (queue) => this.#offer(queue) })
    this.#turns = new ReceiverTurns(parts.limits)
    this.records = new DeliveryRecords(parts)
    this.#departures = new Departures(parts, this.#recipients, this.records)
  }

  /**
   * An outbox is about to be read, after all subscriptions were put: the stats that it holds. Those of subscriptions that are
   * not known are removed; at once, or a while later where another node has sent it before. Until `loaded`, what is added from
   * it was made before.
   */
  restore(source: SourceNumber, stored: Iterable<readonly [SubscriptionId, DeliveryStats]>): void {
    this.#loading.add(source)
    for (const [id, stats] of stored) {
      this.records.restore(id, source, stats)
      if (this.#isKept(id, source)) for (const number of stats.tried) this.#tried.add(`${source}-${number}`)
      else this.records.ended(id, [])
      this.notified(id, stats.lastNotification)
    }
  }

  /** All that an outbox held was added. */
  loaded(source: SourceNumber): void {
    this.#loading.delete(source)
    if (this.#loading.size === 0) this.#tried.clear()
  }

  /** A notice was made, here or by another node: the clock of its subscription is not behind it. */
  notified(id: SubscriptionId, made: Milliseconds | undefined): void {
    const clock = this.#recipients.known.get(id)?.clock
    if (clock !== undefined && made !== undefined) advanceClock(clock, made)
  }

  /** Another node owns an outbox now: what is known of it is forgotten, and attempts that are under way change nothing. */
  forget(source: SourceNumber): void {
    for (const queue of this.#recipients.filled) {
      for (const notice of queue.forget(source)) this.#recipients.removed(queue, notice)
    }
    this.records.forget(source)
    this.check()
  }

  #isKept(id: SubscriptionId, source: SourceNumber): boolean {
    if (this.#recipients.known.has(id)) return true
    if (!this.#parts.mayMove(source) || this.#recipients.hasEnded(id)) return false
    this.#strange.set(id, this.#parts.clock.steady_ms())
    return true
  }

  /** Whoever owns a partition has all subscriptions in force that its outbox names: the others have ended. */
  #endStrange(at_ms: number): void {
    for (const [id, since_ms] of this.#strange) {
      if (at_ms - since_ms < strange_ms) continue
      this.#strange.delete(id)
      if (!this.#recipients.known.has(id) && this.#recipients.queue(id)?.onHold !== true) this.end(id)
    }
  }

  /** A subscription is new or was changed, or a change was decided: pauses end, and so does a hold; what is void leaves. */
  put(recipient: Recipient): void {
    const queue = this.#recipients.put(recipient)
    if (queue === undefined) return
    this.#departures.removeVoid(queue)
    this.#dropBeyondLimit(queue)
    if (this.#parts.simulated) this.#departures.removeWaiting(queue, 'simulated')
    this.#recipients.forgetIdle(queue)
  }

  /** Nothing of a subscription is begun until it is put; it need not be known yet. */
  hold(id: SubscriptionId): void {
    this.#recipients.hold(id)
  }

  /** Whether nothing of a subscription is begun until it is put. */
  isOnHold(id: SubscriptionId): boolean {
    return this.#recipients.queue(id)?.onHold === true
  }

  /** A barrier of a subscription that another node sends is gone. */
  unbarred(id: SubscriptionId): void {
    this.#recipients.queue(id)?.order.unbarred()
  }

  /** Whether a barrier may wait for what has to go before it. */
  get isBarred(): boolean {
    return this.#barred.size > 0
  }

  /** A subscription has ended: all its notices leave, and its stats with them. */
  end(id: SubscriptionId): void {
    const notices = this.#recipients.end(id)
    for (const _ of notices) this.#parts.meter.left('ended')
    this.records.ended(id, notices)
  }

  /** A subscription has expired: what waits leaves, and what is under way does unless it is accepted. */
  expire(id: SubscriptionId): void {
    const queue = this.#recipients.queue(id)
    if (queue !== undefined) this.#departures.expire(queue)
  }

  /** A notice of an outbox has arrived; they come by their numbers. `since_ms` is when it was made, by the steady clock. */
  add(source: SourceNumber, numbered: NumberedNotice, since_ms: number): void {
    const { meter, simulated } = this.#parts
    const { number, notice } = numbered
    const isNew = !this.#loading.has(source)
    if (isNew) meter.stored(1)
    else if (notice.provisional?.by !== 'proposed') this.notified(notice.subscription, notice.made)
    const isKept = isNew || this.#isKept(notice.subscription, source)
    const queue = this.#recipients.queueOfNotice(notice.subscription, isKept)
    if (queue === undefined) {
      if (isNew) meter.left('ended')
      this.records.ended(notice.subscription, [{ source, number }])
      return
    }
    if (queue.verdictOn(notice.provisional) === 'void') {
      this.#departures.voided(queue, { source, number })
      this.#recipients.forgetIdle(queue)
      return
    }
    const reason = queue.recipient && this.#parts.tooLong(queue.recipient, source, numbered)
    if (reason !== undefined) {
      this.#departures.warnOfDrop(queue, reason)
      this.#departures.left(queue, { source, number, made: notice.made }, 'dropped')
      return
    }
    const tried = this.#tried.size > 0 && this.#tried.has(`${source}-${number}`)
    const superseded = queue.add({ source, numbered, since_ms, tried })
    this.#recipients.added(queue, { source, size_bytes: numbered.size_bytes })
    if (notice.after !== undefined) this.#barred.add(queue)
    this.#departures.trace(queue, 'put into', source, number)
    if (superseded !== undefined) this.#departures.remove(queue, superseded, 'ended')
    // What a change that is undecided has made displaces nothing: some of it may be void.
    if (!queue.onHold) this.#dropBeyondLimit(queue)
    this.#recipients.warnOfQueue(queue)
    if (simulated && queue.recipient !== undefined && !queue.onHold) this.#departures.removeWaiting(queue, 'simulated')
    else this.#offer(queue)
  }

  #dropBeyondLimit(queue: SubscriptionQueue): void {
    const { queueMax } = this.#parts.limits
    let isDropped = true
    while (isDropped && queue.depth > queueMax) {
      isDropped = this.#departures.dropOldest(queue, `${queue.depth} are waiting`)
    }
  }

  /** Begins the next attempt, if anything can be sent now. It ends with one of the five methods that follow. */
  next(): BegunAttempt | undefined {
    return this.#turns.next()
  }

  /** The receiver has accepted the notice. */
  accepted(attempt: BegunAttempt, outcome: Accepted): void {
    this.#free(attempt)
    const { queue, notice } = attempt
    if (isForgotten(attempt)) return
    const { clock } = this.#parts
    this.records.attempted(queue.id, notice, outcome, clock.now())
    queue.dropWarned = false
    queue.done(notice)
    this.#departures.departed(
      queue,
      notice,
      'accepted',
      BigInt(Math.round((clock.steady_ms() - notice.since_ms) * 1e6)),
    )
  }

  /** The attempt has failed: the notice waits again, unless its subscription has expired or a newer tick waits. */
  failed(attempt: BegunAttempt, outcome: Failed): void {
    this.#free(attempt)
    const { queue, notice } = attempt
    if (isForgotten(attempt)) return
    const fails = this.records.attempted(queue.id, notice, outcome, this.#parts.clock.now())
    if (queue.failed(notice, outcome)) this.#departures.remove(queue, notice, 'ended')
    // A node that was paused was late itself.
    if (this.#parts.isOpen(notice.source)) this.#endIfFailing(queue, fails)
  }

  /** Nothing more is begun until the owner of the subscription, who is told of it, has put it again. */
  #endIfFailing(queue: SubscriptionQueue, fails: number): void {
    const limit = queue.recipient?.terms?.maxFails
    if (limit === undefined || fails <= limit || queue.onHold) return
    queue.onHold = true
    this.#parts.failing(queue.id, fails)
  }

  /** Nothing was sent, because the notice can not be; a reason is warned of. */
  unsendable(attempt: BegunAttempt, reason?: string): void {
    if (reason !== undefined && !isForgotten(attempt)) this.#departures.warnOfDrop(attempt.queue, reason)
    this.#unsent(attempt, 'dropped')
  }

  /** Nothing was sent, because the notice is not in its outbox any more. */
  missing(attempt: BegunAttempt): void {
    this.#unsent(attempt, 'ended')
  }

  #unsent(attempt: BegunAttempt, result: 'dropped' | 'ended'): void {
    this.#free(attempt)
    const { queue, notice } = attempt
    if (isForgotten(attempt)) return
    queue.done(notice)
    this.#departures.departed(queue, notice, result)
  }

  /** More of the outboxes is known: barriers may be free, and more may wait than is allowed. */
  check(): void {
    for (const queue of this.#barred) {
      if (!queue.ended && queue.order.hasBarrier) queue.order.recheck()
      else this.#barred.delete(queue)
    }
    this.#departures.dropExcess()
  }

  /**
   * Drops what has waited too long, and what belongs to subscriptions that have expired; goes on with outboxes that are open
   * again. To be called often.
   */
  sweep(): void {
    const { clock, limits, meter } = this.#parts
    const at = clock.now()
    const at_ms = clock.steady_ms()
    const madeBy_ms = at_ms - limits.retention_ms
    const reason = `not accepted within ${limits.retention_ms / 1000} s`
    let oldest_ms: number | undefined
    this.#endStrange(at_ms)
    for (const queue of this.#recipients.filled) {
      queue.order.reopen()
      // Until it is decided it may be that it does not end yet.
      if (!queue.onHold && queue.recipient !== undefined && queue.recipient.expires <= at)
        this.#departures.expire(queue)
      while ((queue.order.oldest('waiting')?.since_ms ?? Number.POSITIVE_INFINITY) <= madeBy_ms) {
        this.#departures.dropOldest(queue, reason)
      }
      const own_ms = queue.order.oldest('all')?.since_ms
      if (own_ms !== undefined) oldest_ms = Math.min(oldest_ms ?? own_ms, own_ms)
    }
    // As a date of the clock that whoever shows its age reads as well.
    meter.oldest(oldest_ms === undefined ? undefined : (Math.round(at - (at_ms - oldest_ms)) as Milliseconds))
  }

  /** Whether nothing is under way and nothing can be begun. */
  get isIdle(): boolean {
    return this.#turns.isIdle
  }

  /** How the deliveries go of these subscriptions, as far as they are known; of all without ids [subscriptions 5.7]. */
  states(ids: Iterable<SubscriptionId> = this.#recipients.known.keys()): readonly KnownState[] {
    return [...ids].flatMap((id) => {
      const recipient = this.#recipients.known.get(id)
      return recipient === undefined
        ? []
        : [{ id, delivery: this.records.state(recipient, this.#recipients.queue(id)) }]
    })
  }

  /** What waits for one subscription, and what has failed. */
  inspected(id: SubscriptionId): InspectedQueue {
    const queue = this.#recipients.queue(id)
    let underWay = 0
    for (const keyQueue of queue?.order.keyQueues ?? []) if (keyQueue.underWay !== undefined) underWay += 1
    return { state: queue?.state ?? 'idle', underWay, failures: this.receiverRecords.failuresOf(id) }
  }

  /** A page of the receivers of all subscriptions. */
  receivers(which: WhichReceivers): Steps<ReceiverPage> {
    return receiverPage(which, {
      recipients: this.#recipients.known.values(),
      queue: (id) => this.#recipients.queue(id),
      underWay: (name) => this.#turns.underWay(name),
      records: this.receiverRecords,
    })
  }

  /** The queue of a subscription whose notices go to listeners; nothing while it has none, and of any other one. */
  streamed(id: SubscriptionId): SubscriptionQueue | undefined {
    const queue = this.#recipients.queue(id)
    return queue?.order.isStreamed ? queue : undefined
  }

  /** A subscription as it is now; nothing when there is none. */
  recipient(id: SubscriptionId): Recipient | undefined {
    return this.#recipients.known.get(id)
  }

  /** A listener has a notice: it has confirmed it, or was sent it long enough ago; `waited` until it was sent, if it was. */
  arrived(queue: SubscriptionQueue, notice: QueuedNotice, waited?: Nanoseconds): void {
    this.records.attempted(queue.id, notice, { kind: 'accepted' }, this.#parts.clock.now())
    queue.dropWarned = false
    queue.remove(notice)
    this.#departures.departed(queue, notice, 'accepted', waited)
  }

  /** A notice that can not be sent to listeners leaves; a reason is warned of. */
  dropStreamed(queue: SubscriptionQueue, notice: QueuedNotice, result: 'dropped' | 'ended', reason?: string): void {
    if (reason !== undefined) this.#departures.warnOfDrop(queue, reason)
    this.#departures.remove(queue, notice, result)
  }

  #offer(queue: SubscriptionQueue): void {
    if (queue.order.isStreamed) this.#parts.streamReady(queue.id)
    else if (this.#turns.add(queue)) this.#parts.ready()
  }

  /** The attempt has ended, so that another one may begin. */
  #free(attempt: BegunAttempt): void {
    this.#turns.ended(attempt)
    this.#parts.ready()
  }
}

/** How long a subscription is waited for that is not known when a partition comes: what tells of it is on its way. */
const strange_ms = 60_000

/** Whether the end of an attempt changes nothing: its subscription has ended, or its outbox is another node's. */
function isForgotten({ queue, notice }: BegunAttempt): boolean {
  return queue.ended || notice.state === 'left'
}
