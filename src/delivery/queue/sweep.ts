import type { DeliveryMeter } from '../../observe/measure/delivery-figures.js'
import type { Steps } from '../../slices.js'
import type { Milliseconds } from '../../time.js'
import type { OutboxNumber } from './outboxes.js'
import type { QueueLimits, Recipients } from './recipients.js'
import type { QueueClock, SubscriptionQueue } from './subscription-queue.js'

export interface SweepParts {
  readonly recipients: Recipients
  readonly clock: QueueClock
  readonly limits: Pick<QueueLimits, 'retention_ms'>
  readonly meter: Pick<DeliveryMeter, 'oldest' | 'withheld'>
  /** Whether notices of an outbox may be sent now. */
  readonly isOpen: (outbox: OutboxNumber) => boolean
  /** What waits of a subscription that has expired leaves, in steps. */
  readonly expiring: (queue: SubscriptionQueue) => Steps<void>
  /** Drops the oldest notice that waits, for a reason. */
  readonly dropOldest: (queue: SubscriptionQueue, reason: string) => void
}

/** One pass over the queues that were not empty when it began. */
interface Pass {
  readonly queues: Iterator<SubscriptionQueue, unknown>
  /** How many there still are. Queues that fill meanwhile come behind them: the pass ends however many do. */
  left: number
  /** When the oldest notice that waits to be sent was made, of the queues until now. */
  oldest_ms: number | undefined
}

/**
 * Goes through the queues that are not empty, of which there may be as many as subscriptions, some of them at a time and again and
 * again. What has waited too long or belongs to expired subscriptions leaves; what waited for an outbox that is open now may go, and
 * what waited for room for what listeners have not confirmed.
 */
export class Sweep {
  readonly #parts: SweepParts
  #pass: Pass | undefined
  /** Of which more has to leave. */
  #unfinished: SubscriptionQueue | undefined
  /** The queues that wait until an outbox is open. */
  readonly #shut = new Map<OutboxNumber, Set<SubscriptionQueue>>()

  constructor(parts: SweepParts) {
    this.#parts = parts
  }

  /** Notices of a queue wait until an outbox is open. */
  shut(queue: SubscriptionQueue, outbox: OutboxNumber): void {
    const queues = this.#shut.get(outbox)
    if (queues === undefined) this.#shut.set(outbox, new Set([queue]))
    else queues.add(queue)
  }

  /** Another node owns an outbox now. */
  forget(outbox: OutboxNumber): void {
    this.#shut.delete(outbox)
  }

  /** Goes on with the pass, or begins one. At most so many notices leave; gives how many more might have. */
  next(most: number): number {
    const { recipients, meter } = this.#parts
    this.#reopen()
    recipients.resumeStreams()
    this.#pass ??= { queues: recipients.filled.values(), left: recipients.filled.size, oldest_ms: undefined }
    let left = most
    for (let seen = 0; left > 0 && seen < seenAtOnce; seen += 1) {
      const queue = this.#unfinished ?? this.#nextOf(this.#pass)
      if (queue === undefined) {
        this.#end(this.#pass)
        break
      }
      left = this.#look(queue, this.#pass, left)
      this.#unfinished = left === 0 ? queue : undefined
    }
    meter.withheld(recipients.withheld)
    return left
  }

  #reopen(): void {
    let left = seenAtOnce
    for (const [outbox, queues] of this.#shut) {
      if (!this.#parts.isOpen(outbox)) continue
      for (const queue of queues) {
        if (left === 0) return
        left -= 1
        queues.delete(queue)
        if (!queue.ended) queue.order.release()
      }
      this.#shut.delete(outbox)
    }
  }

  #nextOf(pass: Pass): SubscriptionQueue | undefined {
    if (pass.left === 0) return undefined
    pass.left -= 1
    const { done, value } = pass.queues.next()
    return done ? undefined : value
  }

  /** Gives how many more notices might have left. */
  #look(queue: SubscriptionQueue, pass: Pass, most: number): number {
    // It was left unfinished, and its subscription has ended since.
    if (queue.ended) return most
    const { clock, limits, expiring, dropOldest } = this.#parts
    const madeBy_ms = clock.steady_ms() - limits.retention_ms
    let left = most
    // On hold, an undecided change may extend it.
    const hasExpired = !queue.onHold && queue.recipient !== undefined && queue.recipient.expires <= clock.now()
    if (hasExpired) left = stepsLeft(expiring(queue), left)
    while (left > 0 && (queue.order.oldest('waiting')?.since_ms ?? Number.POSITIVE_INFINITY) <= madeBy_ms) {
      dropOldest(queue, `not accepted within ${limits.retention_ms / 1000} s`)
      left -= 1
    }
    const own_ms = queue.isWithheld ? undefined : queue.order.oldest('all')?.since_ms
    if (own_ms !== undefined) pass.oldest_ms = Math.min(pass.oldest_ms ?? own_ms, own_ms)
    return left
  }

  #end({ oldest_ms }: Pass): void {
    const { clock, meter } = this.#parts
    this.#pass = undefined
    // As a date: whoever shows its age reads that clock.
    const at = (since_ms: number) => Math.round(clock.now() - (clock.steady_ms() - since_ms)) as Milliseconds
    meter.oldest(oldest_ms === undefined ? undefined : at(oldest_ms))
  }
}

/** Queues that are seen at a time: a few milliseconds. With four sweeps a second, 100,000 of them take 24 seconds. */
const seenAtOnce = 1024

/** Takes at most so many steps; gives how many more it might have taken. */
function stepsLeft(steps: Steps<void>, most: number): number {
  let left = most
  while (left > 0 && steps.next().done !== true) left -= 1
  return left
}
