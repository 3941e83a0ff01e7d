import type { Log } from '../log/log.js'
import type { AttemptResult, DeliveryMeter } from '../measure/delivery-table.js'
import { type Milliseconds, type Nanoseconds, now } from '../time.js'
import { traceArea } from '../trace-area.js'
import type { Books } from './books.js'
import type { Entry } from './entry.js'
import { Watermark } from './limits.js'
import type { RecipientQueue } from './recipient-queue.js'
import type { Arrived, NumberedNotice, SourceNumber } from './source.js'

/** How much may wait, and how long [subscriptions 5.5]. */
export interface BacklogLimits {
  readonly retention_ms: number
  /** Notifications that wait per subscription. */
  readonly queueMax: number
  /** In all; what waits is known to the courier's heap by number, however small it is. */
  readonly bytesMax: number
  readonly noticesMax: number
}

export interface BacklogParts {
  readonly limits: BacklogLimits
  readonly books: Books
  readonly meter: DeliveryMeter
  readonly log: Log
  /** How many outboxes there are. */
  readonly sources: number
}

/** What waits or is under way, over all subscriptions: its sums, and the limits that keep them in bounds. */
export class Backlog {
  readonly #parts: BacklogParts
  readonly #waiting = new Set<RecipientQueue>()
  /** Those that have a barrier, which more knowledge of the outboxes may free. */
  readonly #barred = new Set<RecipientQueue>()
  readonly #outboxes: { depth: number; bytes: number }[]
  readonly #fullness = new Watermark()
  #bytes = 0
  #depth = 0

  constructor(parts: BacklogParts) {
    this.#parts = parts
    this.#outboxes = Array.from({ length: parts.sources }, () => ({ depth: 0, bytes: 0 }))
  }

  /** A notice joins the queue of its subscription. */
  add(queue: RecipientQueue, arrived: Arrived): void {
    const { source, numbered } = arrived
    const superseded = queue.add(arrived)
    this.#sum(source, 1, numbered.size_bytes)
    this.#waiting.add(queue)
    if (numbered.notice.after !== undefined) this.#barred.add(queue)
    this.#trace(queue, 'put into', source, numbered.number)
    if (superseded !== undefined) this.drop(queue, superseded, 'ended')
    if (queue.depth > this.#parts.limits.queueMax) this.#dropOldest(queue, `${queue.depth} are waiting`)
    if (!queue.fullness.passed(queue.depth, this.#parts.limits.queueMax)) return
    const message = `the queue of subscription ${queue.id} is nearly full: ${queue.depth} notifications wait`
    this.#parts.log.warn('notif:queue', message, { waiting: queue.depth })
  }

  /** A notice is dropped that is not under way. */
  drop(queue: RecipientQueue, entry: Entry, how: Exclude<AttemptResult, 'accepted'>, reason?: string): void {
    queue.remove(entry)
    if (reason !== undefined) this.#warnOfDrop(queue, reason)
    this.left(queue, entry, how)
  }

  /** Everything of a subscription that is not under way is dropped, what is under way when it fails. */
  dropAll(queue: RecipientQueue): void {
    for (let entry = queue.lineup.oldestWaiting; entry !== undefined; entry = queue.lineup.oldestWaiting) {
      this.drop(queue, entry, 'ended')
    }
    for (const entry of queue.lineup.entries()) entry.doomed = true
  }

  /** A notice has left its queue. */
  left(queue: RecipientQueue, entry: Entry, how: AttemptResult, inQueue?: Nanoseconds): void {
    this.#sum(entry.source, -1, -entry.size_bytes)
    if (queue.depth === 0) this.#waiting.delete(queue)
    this.#parts.meter.left(how, inQueue)
    if (how === 'simulated') this.#parts.books.simulate(queue.id, entry)
    else this.#parts.books.depart(queue.id, entry, how === 'dropped')
    this.#trace(queue, how === 'dropped' ? 'rejected by' : 'taken from', entry.source, entry.number)
  }

  /** A subscription has ended: nothing of it counts any more, also what is under way. */
  end(queue: RecipientQueue): void {
    const entries = [...queue.lineup.entries()]
    for (const { source, size_bytes } of entries) {
      this.#sum(source, -1, -size_bytes)
      this.#parts.meter.left('ended')
    }
    this.#waiting.delete(queue)
    this.#barred.delete(queue)
    queue.end()
    this.#parts.books.end(queue.id, entries)
  }

  /** More of the outboxes is known: barriers may be free, and more may wait than is allowed. */
  check(): void {
    for (const queue of this.#barred) {
      if (queue.lineup.hasBarrier) queue.lineup.recheck()
      else this.#barred.delete(queue)
    }
    const { bytesMax, noticesMax } = this.#parts.limits
    while (this.#isOverfull) {
      const largest = this.#largest()
      if (largest === undefined) break
      this.#dropFrom(largest)
    }
    const taken = Math.max(this.#bytes / bytesMax, this.#depth / noticesMax)
    if (!this.#fullness.passed(taken, 1)) return
    const message = `the space for notifications is nearly full: ${this.#depth} wait, of ${this.#bytes} bytes`
    this.#parts.log.warn('notif:queue', message, { waiting: this.#depth, bytes: this.#bytes })
  }

  /** Drops what has waited too long, and what belongs to subscriptions that have expired; to be called often. */
  sweep(): void {
    const at = now()
    const at_ms = performance.now()
    const { retention_ms } = this.#parts.limits
    let oldest_ms: number | undefined
    for (const queue of this.#waiting) {
      if (queue.recipient !== undefined && queue.recipient.expires <= at) this.dropAll(queue)
      for (
        let entry = queue.lineup.oldestWaiting;
        entry && entry.since_ms + retention_ms <= at_ms;
        entry = queue.lineup.oldestWaiting
      ) {
        this.drop(queue, entry, 'dropped', `not accepted within ${retention_ms / 1000} s`)
      }
      const own_ms = queue.lineup.oldest?.since_ms
      if (own_ms !== undefined) oldest_ms = Math.min(oldest_ms ?? own_ms, own_ms)
    }
    // As a date of now's clock, which whoever shows its age reads as well.
    this.#parts.meter.oldest(
      oldest_ms === undefined ? undefined : (Math.round(at - (at_ms - oldest_ms)) as Milliseconds),
    )
  }

  /** A notice that does not even join the queue, because of its size. */
  reject(
    queue: RecipientQueue,
    source: SourceNumber,
    { number, notice: { made } }: NumberedNotice,
    reason: string,
  ): void {
    this.#warnOfDrop(queue, reason)
    this.#parts.meter.left('dropped')
    this.#parts.books.depart(queue.id, { source, number, made }, true)
    this.#trace(queue, 'rejected by', source, number)
  }

  /** A notice that was begun and can not be sent, because of its size. */
  refuse(queue: RecipientQueue, entry: Entry, reason: string): void {
    this.#warnOfDrop(queue, reason)
    queue.accepted(entry)
    this.left(queue, entry, 'dropped')
  }

  /** Every drop is counted, and warned of once per subscription until a delivery succeeds. */
  #warnOfDrop(queue: RecipientQueue, reason: string): void {
    if (queue.dropWarned) return
    queue.dropWarned = true
    const { log } = this.#parts
    log.warn('notif:drop', `notifications of subscription ${queue.id} are dropped: ${reason}`, {
      subscription: queue.id,
    })
  }

  #dropOldest(queue: RecipientQueue, reason: string): boolean {
    const entry = queue.lineup.oldestWaiting
    if (entry === undefined) return false
    this.drop(queue, entry, 'dropped', reason)
    return true
  }

  get #isOverfull(): boolean {
    const { bytesMax, noticesMax } = this.#parts.limits
    return this.#bytes > bytesMax || this.#depth > noticesMax
  }

  #dropFrom(queue: RecipientQueue): void {
    while (this.#isOverfull && this.#dropOldest(queue, `${this.#depth} wait in all, of ${this.#bytes} bytes`));
  }

  /** The subscription with the most bytes of those that have something to drop. */
  #largest(): RecipientQueue | undefined {
    let largest: RecipientQueue | undefined
    for (const queue of this.#waiting) {
      if (queue.bytes <= (largest?.bytes ?? 0) || queue.lineup.oldestWaiting === undefined) continue
      largest = queue
    }
    return largest
  }

  #sum(source: SourceNumber, depth: number, bytes: number): void {
    this.#bytes += bytes
    this.#depth += depth
    const outbox = this.#outboxes[source]
    if (outbox === undefined) return
    outbox.depth += depth
    outbox.bytes += bytes
    this.#parts.meter.queue(source, outbox.depth, outbox.bytes)
  }

  #trace(queue: RecipientQueue, done: string, source: SourceNumber, number: number): void {
    const { log } = this.#parts
    if (log.traces[traceArea['notify.queue']] !== 1) return
    log.trace('notify.queue', `notification ${source}-${number} ${done} the queue of ${queue.id}: ${queue.depth} wait`)
  }
}
