import type { Provisional } from '../../model/subscription/decisions.js'
import type { NoticeHead, NoticeNumber, NumberedNotice } from '../../model/subscription/notice.js'
import type { Milliseconds } from '../../time.js'
import type { OutboxNumber } from './outboxes.js'

/** A notice as it joins the queue of its subscription. */
export interface Arrived extends ReadNotice {
  readonly outbox: OutboxNumber
  /** Whether an attempt was made before this courier was there. */
  readonly tried: boolean
}

/** A notice as it is read from its outbox, without its body. */
export interface ReadNotice {
  readonly numbered: Omit<NumberedNotice, 'notice'> & {
    readonly notice: Pick<NoticeHead, 'orderingKey' | 'made' | 'after' | 'provisional'>
  }
  /** When it was made, by the steady clock of this thread. */
  readonly since_ms: number
}

/** What memory holds of a notice until it leaves; its body stays on disk. */
export interface QueuedNotice {
  readonly outbox: OutboxNumber
  readonly number: NoticeNumber
  readonly size_bytes: number
  /** What it may take in memory while it is sent. */
  readonly sent_bytes: number
  readonly made: Milliseconds
  /** When it was made by the steady clock, which tells for how long it has waited. */
  readonly since_ms: number
  readonly keyQueue: KeyQueue
  /** For each outbox the number of the last notice that has to be gone before this one is sent; undefined of a change. */
  readonly barrier: readonly NoticeNumber[] | undefined
  readonly provisional: Provisional | undefined
  /** `streamed`: sent to a listener that has not confirmed it. */
  state: 'waiting' | 'underWay' | 'streamed' | 'left'
  /** Whether an attempt was made. */
  tried: boolean
  /** Whether it is dropped if the attempt under way fails. */
  dropOnFailure: boolean
  /** The epoch of its `SubscriptionQueue` when its attempt was begun. */
  epoch: number
  /** The stream that it was last sent on, and how many had been sent on all streams by then; 0 before that. */
  stream: number
  ordinal: number
  /** Its neighbours among the notices of the subscription from the same outbox. */
  before: QueuedNotice | undefined
  next: QueuedNotice | undefined
}

/** The notices of one subscription and ordering key in their order. The one that is under way is not among those that wait. */
export interface KeyQueue {
  readonly key: string
  /** Whether a newer notice supersedes those that wait. */
  readonly onlyNewest: boolean
  readonly waiting: Fifo<QueuedNotice>
  underWay: QueuedNotice | undefined
  /** How many of its notices were sent to listeners and may come back. */
  streamed: number
  /** Refusals in a row. */
  failures: number
  /** Cancels the pause after a refusal. */
  endPause: (() => void) | undefined
  /** Whether it is in the list of those that may have something to send. */
  listed: boolean
}

/**
 * The notices of a subscription from one outbox by their numbers, linked: any of them is removed, and the first one found, in constant
 * time. (The first entry of a `Map` is found only behind the places of all that were deleted before it.)
 */
export class NoticeList {
  #first: QueuedNotice | undefined
  #last: QueuedNotice | undefined

  get first(): QueuedNotice | undefined {
    return this.#first
  }

  get last(): QueuedNotice | undefined {
    return this.#last
  }

  /** Adds a notice by its number: behind all others, but where later ones were read before it. */
  add(notice: QueuedNotice): void {
    let before = this.#last
    while (before !== undefined && before.number > notice.number) before = before.before
    this.#insert(notice, before)
  }

  #insert(notice: QueuedNotice, before: QueuedNotice | undefined): void {
    const next = before === undefined ? this.#first : before.next
    notice.before = before
    notice.next = next
    if (before === undefined) this.#first = notice
    else before.next = notice
    if (next === undefined) this.#last = notice
    else next.before = notice
  }

  /** Inserts notices, in ascending order, by their numbers. */
  putBack(notices: readonly QueuedNotice[]): void {
    let after: QueuedNotice | undefined
    let next = this.#first
    for (const notice of notices) {
      for (; next !== undefined && next.number < notice.number; next = next.next) after = next
      this.#insert(notice, after)
      after = notice
    }
  }

  remove(notice: QueuedNotice): void {
    if (notice.before === undefined) this.#first = notice.next
    else notice.before.next = notice.next
    if (notice.next === undefined) this.#last = notice.before
    else notice.next.before = notice.before
  }

  *[Symbol.iterator](): Generator<QueuedNotice> {
    for (let notice = this.#first; notice !== undefined; notice = notice.next) yield notice
  }
}

/** A queue that takes constant time at both ends, on average. */
export class Fifo<Item extends object> {
  #items: (Item | undefined)[] = []
  #head = 0

  get size(): number {
    return this.#items.length - this.#head
  }

  get first(): Item | undefined {
    return this.#items[this.#head]
  }

  push(item: Item): void {
    this.#items.push(item)
  }

  /** Puts an item before all others. */
  unshift(item: Item): void {
    if (this.#head === 0) {
      // Room for half as many as there are, so that moving these costs no more than what is put before them.
      const room = (this.#items.length >> 1) + 1
      this.#items = [...new Array<undefined>(room), ...this.#items]
      this.#head = room
    }
    this.#head -= 1
    this.#items[this.#head] = item
  }

  /** Leaves only the items that a test holds of, in their order. */
  keep(isKept: (item: Item) => boolean): void {
    this.#items = this.#items.slice(this.#head).filter((item) => item !== undefined && isKept(item))
    this.#head = 0
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head]
    if (item === undefined) return undefined
    this.#items[this.#head] = undefined
    this.#head += 1
    // Moving what is left costs no more than what was taken since the last time.
    if (this.#head > 16 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}
