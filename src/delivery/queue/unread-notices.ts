import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { Milliseconds } from '../../time.js'
import { NumberList } from './number-list.js'
import type { OutboxNumber } from './outboxes.js'

/**
 * How many notices are held in memory: over all subscriptions, and of one whatever others hold. As many again may have
 * been sent to listeners and be unconfirmed, beyond what each subscription may have of these in any case.
 */
export interface WindowLimits {
  readonly most: number
  readonly share: number
  readonly streamShare: number
}

/** What is known of the notices of one subscription from one outbox that wait on disk only. */
interface UnreadOfOutbox {
  readonly numbers: NumberList
  bytes: number
  /** When the last one was made. */
  made: Milliseconds
  /** None of them was made before, by the steady clock. */
  since_ms: number
}

/** A notice that waits on disk only. */
interface UnreadNotice {
  readonly outbox: OutboxNumber
  readonly number: NoticeNumber
  readonly made: Milliseconds
}

/** One that was removed; of these `made` is when the last one of the outbox was. */
export interface TakenNotice extends UnreadNotice {
  readonly size_bytes: number
  /** When it was made by the steady clock, as far as that is known. */
  readonly since_ms: number
}

/** What is found out of a notice when it is read again; when it was made may be too early, by the clock of the day. */
type Found = Pick<TakenNotice, 'size_bytes' | 'since_ms'>

/** The notices of one subscription beyond those in memory: they are counted, and only their numbers are kept. */
export class UnreadNotices {
  readonly #byOutbox = new Map<OutboxNumber, UnreadOfOutbox>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The outboxes that have some. */
  get outboxes(): readonly OutboxNumber[] {
    return this.#size === 0 ? [] : [...this.#byOutbox.keys()]
  }

  /** The number of the first one of an outbox, if it has one. */
  first(outbox: OutboxNumber): NoticeNumber | undefined {
    return this.#byOutbox.get(outbox)?.numbers.first
  }

  /** Adds a notice behind all others of its outbox. */
  add({ outbox, number, made }: UnreadNotice, { size_bytes, since_ms }: Found): void {
    let own = this.#byOutbox.get(outbox)
    if (own === undefined) {
      own = { numbers: new NumberList(), bytes: 0, made, since_ms }
      this.#byOutbox.set(outbox, own)
    }
    own.numbers.push(number)
    own.bytes += size_bytes
    own.made = made
    this.#size += 1
  }

  /** Puts notices of an outbox that were read, in ascending order, before all others of it. */
  putBefore(outbox: OutboxNumber, notices: readonly (UnreadNotice & Found)[]): void {
    const [first, last] = [notices[0], notices.at(-1)]
    if (first === undefined || last === undefined) return
    const own = this.#byOutbox.get(outbox) ?? { numbers: new NumberList(), bytes: 0, made: last.made, since_ms: 0 }
    this.#byOutbox.set(outbox, own)
    own.numbers.putBefore(notices.map(({ number }) => number))
    for (const { size_bytes } of notices) own.bytes += size_bytes
    own.since_ms = first.since_ms
    this.#size += notices.length
  }

  /**
   * Removes and returns the first one of an outbox. One of which nothing is found is taken to be as large as the others. None was made
   * before those with lower numbers: a clock of the day that was set back and forth makes nothing older than it is.
   */
  shift(outbox: OutboxNumber, found?: Found): TakenNotice | undefined {
    const own = this.#byOutbox.get(outbox)
    const number = own?.numbers.first
    if (own === undefined || number === undefined) return undefined
    const left = own.numbers.size
    // The last one takes what is left, so that sums stay right.
    const size_bytes = left === 1 ? own.bytes : (found?.size_bytes ?? Math.floor(own.bytes / left))
    own.numbers.shift()
    own.bytes -= size_bytes
    own.since_ms = Math.max(own.since_ms, found?.since_ms ?? Number.NEGATIVE_INFINITY)
    this.#size -= 1
    if (left === 1) this.#byOutbox.delete(outbox)
    return { outbox, number, made: own.made, size_bytes, since_ms: own.since_ms }
  }

  /** Removes those of an outbox; gives how many there were, and their bytes. */
  forget(outbox: OutboxNumber): { readonly depth: number; readonly bytes: number } {
    const own = this.#byOutbox.get(outbox)
    this.#byOutbox.delete(outbox)
    const depth = own?.numbers.size ?? 0
    this.#size -= depth
    return { depth, bytes: own?.bytes ?? 0 }
  }

  /** Removes all; their sizes are right in sum. */
  *takeAll(): Generator<TakenNotice> {
    for (const outbox of this.outboxes) yield* this.takeUpTo(outbox, Number.POSITIVE_INFINITY)
  }

  /** Removes those of an outbox up to a number; the sizes are right in sum when none is left. */
  *takeUpTo(outbox: OutboxNumber, number: NoticeNumber): Generator<TakenNotice> {
    for (let first = this.first(outbox); first !== undefined && first <= number; first = this.first(outbox)) {
      const taken = this.shift(outbox)
      if (taken !== undefined) yield taken
    }
  }
}

/** How many notices are held in memory over all subscriptions, and how many may be. */
export class NoticeWindow {
  readonly #most: number
  /** What one subscription takes before it needs more, whatever others hold. */
  readonly share: number
  /** What the listeners to one subscription may have unconfirmed, whatever others have. */
  readonly streamShare: number
  /** Notices that wait or are under way. */
  held = 0
  /** Notices that were sent to listeners and are not confirmed. */
  streamed = 0
  /** Resumes the streams of subscriptions that found no room. */
  readonly crowded = new Set<() => void>()

  constructor({ most, share, streamShare }: WindowLimits) {
    this.#most = most
    this.share = share
    this.streamShare = streamShare
  }

  get hasRoom(): boolean {
    return this.held < this.#most
  }

  /** What one subscription may hold: as much as is left to others, so that what waits of a few is seldom read twice. */
  get mostOfOne(): number {
    return Math.max(this.share, this.#most - this.held)
  }

  /** How many more are held than may be, since what was sent to listeners waits again. */
  get excess(): number {
    return Math.max(0, this.held - this.#most)
  }

  get hasStreamRoom(): boolean {
    return this.streamed < this.#most
  }

  /** Resumes the streams that found no room, if there is some now. */
  resumeStreams(): void {
    if (!this.hasStreamRoom || this.crowded.size === 0) return
    const resumed = [...this.crowded]
    this.crowded.clear()
    for (const resume of resumed) resume()
  }
}
