import { Heap } from '../../heap.js'
import { advanceClock } from '../../model/subscription/clocks.js'
import type { DeliveryStats, NoticeNumber, NumberedNotice } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { AttemptResult } from '../../observe/measure/delivery-figures.js'
import { atOnce, type Steps } from '../../slices.js'
import type { Milliseconds, Nanoseconds } from '../../time.js'
import { AttemptRecords } from './attempt-records.js'
import type { InspectedQueue, KnownState, ReceiverPage, Recipient, WhichReceivers } from './courier-protocol.js'
import { DeliveryRecords, type RecordsParts } from './delivery-records.js'
import { EndedSubscriptions } from './ended-subscriptions.js'
import type { QueuedNotice } from './notice-list.js'
import type { OutboxNumber } from './outboxes.js'
import type { Accepted, AttemptOutcome, Unsendable } from './outgoing.js'
import { ReceiverRecords, receiverPage } from './receiver-records.js'
import { type BegunAttempt, ReceiverTurns } from './receiver-turns.js'
import { Recipients, type RecipientsParts } from './recipients.js'
import type { SubscriptionQueue } from './subscription-queue.js'
import { Sweep } from './sweep.js'

export interface DeliveryQueueParts extends Omit<RecipientsParts, 'ready' | 'shut' | 'isTried'>, RecordsParts {
  /** Nothing is sent: a notice counts as accepted when it arrives. */
  readonly simulated: boolean
  /** A notice was counted as accepted without being sent. */
  readonly countSimulated: () => void
  /** Whether an outbox may come from another node, with notices of subscriptions that are not known here yet. */
  readonly mayMove: (outbox: OutboxNumber) => boolean
  /** Why a notice is too long to be sent to a recipient; undefined of any other notice. */
  readonly tooLong: (recipient: Recipient, outbox: OutboxNumber, numbered: NumberedNotice) => string | undefined
  /** Called when `next()` may return an attempt. */
  readonly ready: () => void
  /** Listeners to the subscription may be sent something. */
  readonly streamReady: (id: SubscriptionId) => void
  /** More attempts in a row have failed than the subscription may have. */
  readonly failing: (id: SubscriptionId, fails: number) => void
}

/**
 * All notices that wait or are under way, and what has become of others until that is on disk [subscriptions 5].
 *
 *     add ──▶ waiting ── next ──▶ under way ── ended: accepted ───▶ accepted ───┐
 *              │   ▲                │ │  └─────────── unsendable ──▶ dropped ────┤
 *              │   └─────── failed ─┘ └────────────── missing ─────▶ ended ──────┤
 *              │           (a pause)                                             │
 *              ├── a limit: add, check, sweep ─────────────────────▶ dropped ────┼─ acks ──▶ in a batch ── stored ──▶ on disk
 *              ├── add of a newer tick ────────────────────────────▶ superseded ─┤
 *              ├── add, put while deliveries are simulated ────────▶ accepted ───┤
 *              └── expire, sweep, end ─────────────────────────────▶ ended ──────┘
 *
 * A notice that is under way is not taken away by a limit; when its subscription expires or a newer tick is added it leaves
 * once its attempt has failed. Only `end` takes it away, and the end of its attempt then changes nothing.
 *
 * The parts: `SubscriptionQueue` has the order and the pauses of one subscription, with one notice of each ordering key under
 * way; `Recipients` has the queues and the sums that limits are about; `ReceiverTurns` shares the attempts among receivers;
 * `DeliveryRecords` has the delivery stats and the pending acks; `EndedSubscriptions` has what leaves with its subscription later.
 */
export class DeliveryQueue {
  readonly records: DeliveryRecords
  /** How attempts ended, for operators. */
  readonly receiverRecords = new ReceiverRecords()
  readonly attemptRecords = new AttemptRecords()
  readonly #parts: DeliveryQueueParts
  readonly #recipients: Recipients
  readonly #turns: ReceiverTurns
  /** Queues with a barrier that may become free as more of the outboxes is read. */
  readonly #barred = new Set<SubscriptionQueue>()
  /** Outboxes between `restore` and `loaded`: their notices were made before they were read here. */
  readonly #loading = new Set<OutboxNumber>()
  /** Subscriptions named by moved outboxes but not known here, with the time of the last reading, by which they are in order. */
  readonly #unknownSince = new Map<SubscriptionId, number>()
  readonly #ended: EndedSubscriptions
  readonly #sweep: Sweep

  constructor(parts: DeliveryQueueParts) {
    this.#parts = parts
    this.records = new DeliveryRecords(parts)
    this.#recipients = new Recipients({
      ...parts,
      ready: (queue) => this.#offer(queue),
      shut: (queue, outbox) => this.#sweep.shut(queue, outbox),
      isTried: (id, outbox, number) => this.records.isTried(id, outbox, number),
    })
    this.#turns = new ReceiverTurns(parts)
    this.#ended = new EndedSubscriptions((id, left) => {
      for (const _ of left) parts.meter.left('ended')
      this.records.ended(id, left)
    })
    this.#sweep = new Sweep({
      ...{
        recipients: this.#recipients,
        clock: parts.clock,
        limits: parts.limits,
        meter: parts.meter,
        isOpen: parts.isOpen,
      },
      expiring: (queue) => this.#expiring(queue),
      dropOldest: (queue, reason) => this.#dropOldest(queue, reason),
    })
  }

  /**
   * Takes the stats that an outbox holds, before its notices are added and after all subscriptions were put. Stats of unknown
   * subscriptions are removed: at once, or after `unknownLimit_ms` if another node may have sent the outbox before.
   */
  restore(outbox: OutboxNumber, stored: Iterable<readonly [SubscriptionId, DeliveryStats]>): void {
    this.#loading.add(outbox)
    for (const [id, stats] of stored) {
      this.records.restore(id, outbox, stats)
      if (!this.#isKept(id, outbox)) this.records.ended(id, [])
      this.notified(id, stats.lastNotification)
    }
  }

  /** All notices that an outbox held were added: later ones are new. */
  loaded(outbox: OutboxNumber): void {
    this.#loading.delete(outbox)
  }

  /** So many notices of an outbox that is read from its beginning were not added yet, at most. */
  unread(outbox: OutboxNumber, notices: number): void {
    this.#recipients.unread(outbox, notices)
  }

  /** A notice was made, here or by another node: advances the clock of its subscription to it. */
  notified(id: SubscriptionId, made: Milliseconds | undefined): void {
    const clock = this.#recipients.known.get(id)?.clock
    if (clock !== undefined && made !== undefined) advanceClock(clock, made)
  }

  /** Another node owns an outbox now: what is known of it is forgotten, and attempts that are under way change nothing. */
  forget(outbox: OutboxNumber): void {
    for (const queue of this.#recipients.filled) {
      this.#recipients.forgotten(queue, outbox, queue.forget(outbox))
    }
    this.#sweep.forget(outbox)
    this.#ended.forget(outbox)
    this.records.forget(outbox)
    this.check()
  }

  #isKept(id: SubscriptionId, outbox: OutboxNumber): boolean {
    if (this.#recipients.known.has(id)) return true
    if (!this.#parts.mayMove(outbox) || this.#recipients.hasEnded(id)) return false
    this.#unknownSince.delete(id)
    this.#unknownSince.set(id, this.#parts.clock.steady_ms())
    return true
  }

  /** The owner of a partition learns of all subscriptions in force that its outbox names; one that is still unknown has ended. */
  #endUnknown(): void {
    const at_ms = this.#parts.clock.steady_ms()
    let left = endedBySweep
    for (const [id, since_ms] of this.#unknownSince) {
      if (at_ms - since_ms < unknownLimit_ms || left === 0) return
      left -= 1
      this.#unknownSince.delete(id)
      if (!this.#recipients.known.has(id) && this.#recipients.queue(id)?.onHold !== true) this.end(id)
    }
  }

  /** A subscription is new or was changed, or a change was decided: pauses end, and so does a hold; what is void leaves. */
  put(recipient: Recipient): void {
    const queue = this.#recipients.put(recipient)
    if (queue === undefined) return
    this.#removeVoid(queue)
    this.#dropBeyondLimit(queue)
    if (this.#parts.simulated) atOnce(this.#removingWaiting(queue, 'simulated'))
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
    this.#recipients.queue(id)?.order.release()
  }

  /** Whether a barrier may wait for what has to go before it. */
  get isBarred(): boolean {
    return this.#barred.size > 0
  }

  /** A subscription has ended: its stats leave, and all its notices, of which the next sweeps take what is too much for now. */
  end(id: SubscriptionId): void {
    const notices = this.#recipients.end(id)
    this.records.ended(id, [])
    this.attemptRecords.forget(id)
    this.#ended.add(id, notices)
    this.#ended.leave(endedAtOnce)
  }

  /** A subscription has expired: what waits leaves, in steps, and what is under way does unless it is accepted. */
  *expire(id: SubscriptionId): Steps<void> {
    const queue = this.#recipients.queue(id)
    if (queue !== undefined) yield* this.#expiring(queue)
  }

  *#expiring(queue: SubscriptionQueue): Steps<void> {
    yield* this.#removingWaiting(queue, 'ended')
    for (const notice of queue.order.notices()) notice.dropOnFailure = true
  }

  /** A notice of an outbox has arrived; they come by their numbers. `since_ms` is when it was made, by the steady clock. */
  add(outbox: OutboxNumber, numbered: NumberedNotice, since_ms: number): void {
    const { meter, simulated } = this.#parts
    const { number, notice } = numbered
    const isNew = !this.#loading.has(outbox)
    if (isNew) meter.stored(1)
    else if (notice.provisional?.by !== 'proposed') this.notified(notice.subscription, notice.made)
    const isKept = isNew || this.#isKept(notice.subscription, outbox)
    const queue = this.#recipients.queueOfNotice(notice.subscription, isKept)
    if (queue === undefined) {
      if (isNew) meter.left('ended')
      this.records.ended(notice.subscription, [{ outbox, number }])
      return
    }
    if (queue.verdictOn(notice.provisional) === 'void') {
      this.#voided(queue, { outbox, number })
      this.#recipients.forgetIdle(queue)
      return
    }
    const reason = queue.recipient && this.#parts.tooLong(queue.recipient, outbox, numbered)
    if (reason !== undefined) {
      this.#warnOfDrop(queue, reason)
      this.#left(queue, { outbox, number, made: notice.made }, 'dropped')
      return
    }
    const tried = !isNew && this.records.isTried(queue.id, outbox, number)
    const superseded = queue.add({ outbox, numbered, since_ms, tried })
    this.#recipients.added(queue, outbox, numbered.size_bytes)
    if (notice.after !== undefined) this.#barred.add(queue)
    this.#trace(queue, 'put into', outbox, number)
    if (superseded !== undefined) this.#remove(queue, superseded, 'ended')
    // On hold nothing is displaced: notices of an undecided change may turn out void.
    if (!queue.onHold) this.#dropBeyondLimit(queue)
    this.#recipients.warnOfQueue(queue)
    if (simulated && queue.recipient !== undefined && !queue.onHold) {
      atOnce(this.#removingWaiting(queue, 'simulated'))
    } else this.#offer(queue)
  }

  /** Begins the next attempt, if anything can be sent now; the caller tells `ended` of its outcome. */
  next(): BegunAttempt | undefined {
    return this.#turns.next()
  }

  /** An attempt has ended: its notice leaves, or waits again if it failed and neither its subscription has expired nor a newer tick waits. */
  ended(attempt: BegunAttempt, outcome: AttemptOutcome | Unsendable): void {
    this.#turns.ended(attempt, outcome)
    this.#parts.ready()
    const { queue, notice } = attempt
    const { clock, isOpen } = this.#parts
    // Its subscription has ended, or its outbox is another node's: the end of the attempt changes nothing.
    if (queue.ended || notice.state === 'left') return
    switch (outcome.kind) {
      case 'missing':
      case 'unsendable':
        this.unsendable(queue, notice, outcome)
        this.#offer(queue)
        break
      case 'accepted':
        queue.accepted(notice)
        this.#accepted(queue, notice, outcome, BigInt(Math.round((clock.steady_ms() - notice.since_ms) * 1e6)))
        break
      default: {
        const fails = this.records.failed(queue.id, notice, outcome, clock.now())
        if (queue.failed(notice, outcome)) this.#remove(queue, notice, 'ended')
        // A process that stood still has lost its lease, and the failure may be its own.
        if (isOpen(notice.outbox)) this.#endIfFailing(queue, fails)
      }
    }
  }

  /** Holds a subscription that has failed too often until the coordinator, who is told, puts it again. */
  #endIfFailing(queue: SubscriptionQueue, fails: number): void {
    const limit = queue.recipient?.terms?.maxFails
    if (limit === undefined || fails <= limit || queue.onHold) return
    queue.onHold = true
    this.#parts.failing(queue.id, fails)
  }

  /** A notice that cannot be sent, by an attempt or to a listener, leaves. */
  unsendable(queue: SubscriptionQueue, notice: QueuedNotice, { kind, reason }: Unsendable): void {
    if (reason !== undefined) this.#warnOfDrop(queue, reason)
    this.#remove(queue, notice, kind === 'missing' ? 'ended' : 'dropped')
  }

  /** A listener has a notice: it has confirmed it, or was sent it long enough ago; `waited` until it was sent, if it was. */
  arrived(queue: SubscriptionQueue, notice: QueuedNotice, waited?: Nanoseconds): void {
    queue.remove(notice)
    this.#accepted(queue, notice, { kind: 'accepted' }, waited)
  }

  /** A listener has everything of an outbox up to a number: it leaves in steps, and what is only on disk is not read for that. */
  *arrivedUpTo(queue: SubscriptionQueue, outbox: OutboxNumber, number: NoticeNumber): Steps<void> {
    for (const notice of queue.takeUnreadUpTo(outbox, number)) {
      const tried = this.records.isTried(queue.id, outbox, notice.number)
      this.#accepted(queue, { ...notice, tried }, { kind: 'accepted' })
      yield
      if (queue.ended) return
    }
    for (const notice of queue.order.waitingUpTo(outbox, number)) {
      this.arrived(queue, notice)
      yield
      if (queue.ended) return
    }
  }

  #accepted(
    queue: SubscriptionQueue,
    notice: DepartedNotice & Pick<QueuedNotice, 'tried'>,
    outcome: Accepted,
    waited?: Nanoseconds,
  ): void {
    const { meter, clock } = this.#parts
    queue.dropWarned = false
    this.#recipients.removed(queue, notice)
    meter.left('accepted', waited)
    this.records.accepted(queue.id, notice, outcome, clock.now())
    this.#trace(queue, 'taken from', notice.outbox, notice.number)
  }

  /** More of the outboxes was read: frees barriers, and drops what is beyond the limits. */
  check(): void {
    for (const queue of this.#barred) {
      if (!queue.ended && queue.order.hasBarrier) queue.order.recheck()
      else this.#barred.delete(queue)
    }
    this.#dropExcess()
  }

  /**
   * Drops what has waited too long or belongs to expired subscriptions, and resumes outboxes that are open again. Call it often, and again
   * soon where it returns true: more has to leave, and others should have their turn first.
   */
  sweep(): boolean {
    this.#endUnknown()
    return this.#sweep.next(this.#ended.leave(droppedAtOnce)) === 0
  }

  /** Whether nothing is under way and nothing can be begun. */
  get isIdle(): boolean {
    return this.#turns.isIdle
  }

  /** The delivery states of the known ones among these subscriptions; of all known ones by default [subscriptions 5.7]. */
  states(ids: Iterable<SubscriptionId> = this.#recipients.known.keys()): readonly KnownState[] {
    return [...ids].flatMap((id) => {
      const recipient = this.#recipients.known.get(id)
      return recipient === undefined
        ? []
        : [{ id, delivery: this.records.state(recipient, this.#recipients.queue(id)) }]
    })
  }

  /** What waits for one subscription, and its last attempts. */
  inspected(id: SubscriptionId): InspectedQueue {
    const queue = this.#recipients.queue(id)
    let underWay = 0
    for (const keyQueue of queue?.order.keyQueues ?? []) if (keyQueue.underWay !== undefined) underWay += 1
    return { state: queue?.state ?? 'idle', underWay, attempts: this.attemptRecords.of(id) }
  }

  /** A page of the receivers of all subscriptions. */
  receivers(which: WhichReceivers): Steps<ReceiverPage> {
    return receiverPage(which, {
      recipients: which.onlyWaiting ? this.#waitedFor() : this.#recipients.known.values(),
      queue: (id) => this.#recipients.queue(id),
      underWay: (name) => this.#turns.underWay(name),
      records: this.receiverRecords,
    })
  }

  /** The recipients for which something waits that is to be sent; a copy, since queues fill and empty while it is read in steps. */
  #waitedFor(): readonly Recipient[] {
    return [...this.#recipients.filled].flatMap((queue) =>
      queue.recipient === undefined || queue.onHold || queue.isWithheld ? [] : [queue.recipient],
    )
  }

  /** The queue of a subscription whose notices go to listeners; nothing while it has none, and of any other one. */
  streamed(id: SubscriptionId): SubscriptionQueue | undefined {
    const queue = this.#recipients.queue(id)
    return queue?.order.isStreamed ? queue : undefined
  }

  /** Notices that are not only on disk. */
  get inMemory(): number {
    return this.#recipients.held
  }

  /** All subscriptions as they are known. */
  get recipients(): Iterable<Recipient> {
    return this.#recipients.known.values()
  }

  recipient(id: SubscriptionId): Recipient | undefined {
    return this.#recipients.known.get(id)
  }

  #offer(queue: SubscriptionQueue): void {
    if (queue.order.isStreamed) this.#parts.streamReady(queue.id)
    else if (this.#turns.add(queue)) this.#parts.ready()
  }

  /** All that waits leaves, in steps, unless the subscription ends meanwhile. */
  *#removingWaiting(queue: SubscriptionQueue, result: 'ended' | 'simulated'): Steps<void> {
    for (const notice of queue.takeUnread()) {
      this.#departed(queue, notice, result)
      if (result === 'simulated') this.#parts.countSimulated()
      yield
      if (queue.ended) return
    }
    for (let first = queue.order.oldest('waiting'); first !== undefined; first = queue.order.oldest('waiting')) {
      this.#remove(queue, first, result)
      if (result === 'simulated') this.#parts.countSimulated()
      yield
      if (queue.ended) return
    }
  }

  /** Those that are void, now that more was decided, leave their queue. */
  #removeVoid(queue: SubscriptionQueue): void {
    for (const notice of queue.takeVoid()) {
      this.#recipients.removed(queue, notice)
      this.#voided(queue, notice)
    }
  }

  #dropBeyondLimit(queue: SubscriptionQueue): void {
    const { queueMax } = this.#parts.limits
    let isDropped = true
    while (isDropped && queue.depth > queueMax) isDropped = this.#dropOldest(queue, `${queue.depth} are waiting`)
  }

  /** Drops the oldest notice of whichever queue is the largest until no more waits in all than is allowed; warns when it is nearly as much. */
  #dropExcess(): void {
    let queues: Heap<SubscriptionQueue> | undefined
    for (let excess = this.#recipients.excess; excess !== undefined; excess = this.#recipients.excess) {
      queues ??= new Heap(largestFirst, this.#recipients.filled)
      if (queues.first === undefined) break
      if (this.#dropOldest(queues.first, excess)) queues.firstChanged()
      else queues.takeFirst()
    }
    this.#recipients.warnOfAll()
  }

  /** Drops the oldest notice that waits, for a reason; false when none waits. */
  #dropOldest(queue: SubscriptionQueue, reason: string): boolean {
    const oldest = queue.order.oldest('waiting')
    if (oldest === undefined) return false
    this.#warnOfDrop(queue, reason)
    this.#remove(queue, oldest, 'dropped')
    return true
  }

  /** Every drop is counted, and warned of once per subscription until a delivery succeeds. */
  #warnOfDrop(queue: SubscriptionQueue, reason: string): void {
    if (queue.dropWarned) return
    queue.dropWarned = true
    const message = `notifications of subscription ${queue.id} are dropped: ${reason}`
    this.#parts.log.warn('notif:drop', message, { subscription: queue.id })
  }

  #remove(queue: SubscriptionQueue, notice: QueuedNotice, result: UnacceptedResult): void {
    queue.remove(notice)
    this.#departed(queue, notice, result)
  }

  /** A notice that was not accepted is no longer in the queue of its subscription. */
  #departed(queue: SubscriptionQueue, notice: DepartedNotice, result: UnacceptedResult): void {
    this.#recipients.removed(queue, notice)
    this.#left(queue, notice, result)
  }

  /** A notice that was not accepted leaves its outbox; it may never have been in a queue. */
  #left(
    queue: SubscriptionQueue,
    notice: Pick<QueuedNotice, 'outbox' | 'number' | 'made'>,
    result: UnacceptedResult,
  ): void {
    this.#parts.meter.left(result)
    if (result === 'simulated') this.records.simulated(queue.id, notice)
    else this.records.left(queue.id, notice, result === 'dropped')
    this.#trace(queue, result === 'dropped' ? 'rejected by' : 'taken from', notice.outbox, notice.number)
  }

  /** A notice is void: it leaves its outbox as if it had never been there. It may never have been in a queue. */
  #voided(queue: SubscriptionQueue, notice: Pick<QueuedNotice, 'outbox' | 'number'>): void {
    this.#parts.meter.left('ended')
    this.records.voided(queue.id, notice)
    this.#trace(queue, 'void in', notice.outbox, notice.number)
  }

  #trace({ id, depth }: SubscriptionQueue, done: string, outbox: OutboxNumber, number: NoticeNumber): void {
    const { log } = this.#parts
    if (!log.isTraced('notify.queue')) return
    log.trace('notify.queue', `notification ${outbox}-${number} ${done} the queue of ${id}: ${depth} wait`)
  }
}

/** Notices that one sweep has leave, each of which may have another one read: some milliseconds. */
const droppedAtOnce = 512

/** Unknown subscriptions that one sweep ends. */
const endedBySweep = 256

/** Notices that leave at once with their subscription: many subscriptions may end in one turn. */
const endedAtOnce = 64

type UnacceptedResult = Exclude<AttemptResult, 'accepted'>

type DepartedNotice = Pick<QueuedNotice, 'outbox' | 'number' | 'made' | 'size_bytes'>

/** How long notices of an unknown subscription are kept after their partition came: the subscription may still be on its way. */
const unknownLimit_ms = 60_000

function largestFirst(one: SubscriptionQueue, other: SubscriptionQueue): number {
  return other.bytes - one.bytes
}
