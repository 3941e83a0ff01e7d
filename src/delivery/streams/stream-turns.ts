import type { SubscriptionId } from '../../model/subscription/subscription.js'

/** What all streams do in a turn of the event loop takes no longer than this; the rest is done in the next ones. */
const turn_ms = 5

interface StreamTurnsParts {
  /**
   * Does a part of what there is to do for a subscription, and at least one step of it, until `isOver` says so; false when there was nothing
   * to do.
   */
  readonly work: (id: SubscriptionId, isOver: () => boolean) => boolean
  readonly steady_ms: () => number
}

/**
 * Shares the turns of the event loop among the subscriptions that clients listen to, and between these and everything else: each
 * subscription has a part of its work done, then the next one, until the time is up.
 */
export class StreamTurns {
  readonly #parts: StreamTurnsParts
  /** Subscriptions that may have something to do, the one that is next first. */
  readonly #due = new Set<SubscriptionId>()
  #isBegun = false
  #isClosed = false
  /** What was taken of this turn of the event loop, which ends with the timer. */
  #used_ms = 0
  #turn: NodeJS.Immediate | undefined

  constructor(parts: StreamTurnsParts) {
    this.#parts = parts
  }

  /** A subscription may have something to do, which begins once the caller is done. */
  add(id: SubscriptionId): void {
    if (this.#isClosed) return
    this.#due.add(id)
    if (this.#isBegun || this.#isUsed) return
    this.#isBegun = true
    queueMicrotask(() => {
      this.#isBegun = false
      this.#work()
    })
  }

  /** Does nothing more. */
  close(): void {
    this.#isClosed = true
    this.#due.clear()
    clearImmediate(this.#turn)
  }

  get #isUsed(): boolean {
    return this.#used_ms > turn_ms
  }

  #work(): void {
    if (this.#due.size === 0 || this.#isUsed) return
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined
      this.#used_ms = 0
      this.#work()
    })
    const { work, steady_ms } = this.#parts
    const began_ms = steady_ms() - this.#used_ms
    const isOver = () => {
      this.#used_ms = steady_ms() - began_ms
      return this.#isUsed
    }
    for (const id of this.#due) {
      this.#due.delete(id)
      if (work(id, isOver)) this.#due.add(id)
      if (isOver()) return
    }
  }
}
