import type { NoticeHead, NoticeNumber, OrderingKey } from '../subscription/notice.js'
import type { Milliseconds } from '../time.js'
import { Fifo } from './fifo.js'
import type { Arrived, SourceNumber } from './source.js'

/** What memory holds of a notice until it leaves; its body stays on disk. */
export interface QueuedNotice {
  readonly source: SourceNumber
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
  state: 'waiting' | 'underWay' | 'left'
  /** Whether an attempt was made. */
  tried: boolean
  /** Whether it is dropped unless the attempt that is under way succeeds. */
  dropOnFailure: boolean
  /** That of its subscription when its attempt was begun; see `SubscriptionQueue`. */
  epoch: number
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
  /** Refusals in a row. */
  failures: number
  /** Cancels the pause after a refusal. */
  endPause: (() => void) | undefined
  /** Whether it is in the list of those that may have something to send. */
  listed: boolean
}

export interface OrderParts {
  /** The number of the last notice of an outbox that has arrived. */
  readonly known: (source: SourceNumber) => NoticeNumber
  /** The number of the coordinator's outbox. */
  readonly coordinator: SourceNumber
}

/** A rendered entity is longer than its record, because of names and braces, by at most this factor. */
const renderedTimes = 4

/**
 * The order in which the notices of one subscription go. Ordering keys run beside each other, with one notice of each under
 * way. Barriers are notices that go after everything that was made before them, and before everything that was made
 * after them [subscriptions 5.2, 5.4].
 */
export class NoticeOrder {
  readonly #parts: OrderParts
  readonly #released: () => void
  readonly #keys = new Map<string, KeyQueue>()
  /** The notices of each outbox by their numbers. */
  readonly #bySource = new Map<SourceNumber, NoticeList>()
  /** Keys that may have something to send, each once; the one that was served longest ago comes first. */
  readonly #ready = new Fifo<KeyQueue>()
  /** Keys whose first notice waits for a barrier. */
  #behindBarrier: KeyQueue[] = []
  readonly #barriers = new Fifo<QueuedNotice>()

  /** `released` is called when a barrier that held notices back does so no longer. */
  constructor(parts: OrderParts, released: () => void) {
    this.#parts = parts
    this.#released = released
  }

  /** Adds a notice behind all others; gives the tick that it supersedes [subscriptions 3.6]. */
  add({ source, numbered, since_ms, tried }: Arrived): QueuedNotice | undefined {
    const { number, size_bytes, body_bytes, notice } = numbered
    const keyQueue = this.#keyQueueOf(notice.orderingKey)
    const queued: QueuedNotice = {
      ...{ source, number, size_bytes, made: notice.made, since_ms, keyQueue, tried },
      sent_bytes: body_bytes === undefined ? size_bytes * renderedTimes : size_bytes,
      barrier: this.#barrierOf(number, notice),
      ...{ state: 'waiting', dropOnFailure: false, epoch: 0, before: undefined, next: undefined },
    }
    const first = keyQueue.waiting.first
    const superseded = first !== undefined && isSuperseded(first, notice.made) ? first : undefined
    keyQueue.waiting.push(queued)
    this.#listOf(source).append(queued)
    if (queued.barrier !== undefined) this.#barriers.push(queued)
    this.offer(keyQueue)
    return superseded
  }

  /** Whether there may be something that can go now. */
  get hasReady(): boolean {
    return this.#ready.size > 0
  }

  /** The next notice that can go, which is under way from now on. */
  begin(): QueuedNotice | undefined {
    for (let keyQueue = this.#ready.shift(); keyQueue !== undefined; keyQueue = this.#ready.shift()) {
      keyQueue.listed = false
      const notice = keyQueue.waiting.first
      if (notice === undefined || keyQueue.underWay !== undefined || keyQueue.endPause !== undefined) continue
      if (!this.#isFree(notice)) {
        keyQueue.listed = true
        this.#behindBarrier.push(keyQueue)
        continue
      }
      keyQueue.waiting.shift()
      keyQueue.underWay = notice
      notice.state = 'underWay'
      return notice
    }
    return undefined
  }

  /** A notice that was under way waits again, before all others of its key. */
  putBack(notice: QueuedNotice): void {
    notice.state = 'waiting'
    notice.keyQueue.underWay = undefined
    notice.keyQueue.waiting.unshift(notice)
  }

  /** A notice leaves for good: it was under way, or it is the first of its key that waits. */
  remove(notice: QueuedNotice): void {
    const { keyQueue } = notice
    if (notice.state === 'underWay') keyQueue.underWay = undefined
    else if (keyQueue.waiting.first === notice) keyQueue.waiting.shift()
    else throw new Error('a notice that waits leaves its queue before an older one of its key')
    notice.state = 'left'
    this.#listOf(notice.source).remove(notice)
    if (notice.barrier !== undefined) this.#release()
    else this.recheck()
    this.offer(keyQueue)
    this.forgetIdle(keyQueue)
  }

  /** The key may have something that can go. */
  offer(keyQueue: KeyQueue): void {
    const { listed, underWay, endPause, waiting } = keyQueue
    if (listed || underWay !== undefined || endPause !== undefined || waiting.size === 0) return
    keyQueue.listed = true
    this.#ready.push(keyQueue)
  }

  /** Forgets a key that has neither notices nor a pause. */
  forgetIdle({ key, waiting, underWay, endPause }: KeyQueue): void {
    if (waiting.size === 0 && underWay === undefined && endPause === undefined) this.#keys.delete(key)
  }

  get keyQueues(): Iterable<KeyQueue> {
    return this.#keys.values()
  }

  /** The notice that has waited longest, of all or of those that are not under way. */
  oldest(which: 'all' | 'waiting'): QueuedNotice | undefined {
    let oldest: QueuedNotice | undefined
    for (const list of this.#bySource.values()) {
      for (const notice of list) {
        if (which === 'waiting' && notice.state !== 'waiting') continue
        if (oldest === undefined || notice.since_ms < oldest.since_ms) oldest = notice
        break
      }
    }
    return oldest
  }

  *notices(): Generator<QueuedNotice> {
    for (const list of this.#bySource.values()) yield* list
  }

  get hasBarrier(): boolean {
    return this.#barrier !== undefined
  }

  /** More notices have arrived, or one has left: the first barrier may be free now. */
  recheck(): void {
    const barrier = this.#barrier
    if (barrier !== undefined && barrier.state === 'waiting' && this.#isFree(barrier)) this.#release()
  }

  get #barrier(): QueuedNotice | undefined {
    while (this.#barriers.first?.state === 'left') this.#barriers.shift()
    return this.#barriers.first
  }

  #barrierOf(number: NoticeNumber, { after }: NoticeHead): readonly NoticeNumber[] | undefined {
    if (after === undefined) return undefined
    const { coordinator } = this.#parts
    const bound = (source: SourceNumber) => (source === coordinator ? number - 1 : (after[source] ?? 0))
    return Array.from({ length: coordinator + 1 }, (_, source) => bound(source))
  }

  /** Whether nothing has to go before it: before a barrier all that is older, before others the barriers that are older. */
  #isFree(notice: QueuedNotice): boolean {
    const barrier = this.#barrier
    if (barrier === undefined) return true
    const { barrier: bounds = [] } = barrier
    if (notice !== barrier) return notice.number <= (bounds[notice.source] ?? 0)
    return bounds.every((bound, source) => {
      const oldest = this.#bySource.get(source)?.first?.number ?? Number.POSITIVE_INFINITY
      return this.#parts.known(source) >= bound && oldest > bound
    })
  }

  #release(): void {
    const released = this.#behindBarrier
    this.#behindBarrier = []
    for (const keyQueue of released) this.#ready.push(keyQueue)
    this.#released()
  }

  #keyQueueOf(orderingKey: OrderingKey): KeyQueue {
    const key = orderingKey.kind === 'entity' ? orderingKey.key : orderingKey.kind
    const held = this.#keys.get(key)
    if (held !== undefined) return held
    const made: KeyQueue = {
      ...{ key, onlyNewest: orderingKey.kind === 'tick', waiting: new Fifo<QueuedNotice>(), underWay: undefined },
      ...{ failures: 0, endPause: undefined, listed: false },
    }
    this.#keys.set(key, made)
    return made
  }

  #listOf(source: SourceNumber): NoticeList {
    let list = this.#bySource.get(source)
    if (list === undefined) {
      list = new NoticeList()
      this.#bySource.set(source, list)
    }
    return list
  }
}

/** Whether a notice is superseded by one of its key that was made at `made`. A tick of several messages has several notices of one moment. */
export function isSuperseded({ keyQueue, made: own }: QueuedNotice, made: Milliseconds): boolean {
  return keyQueue.onlyNewest && own !== made
}

/** The notices of a subscription from one outbox by their numbers; any of them is removed in constant time. */
class NoticeList {
  #first: QueuedNotice | undefined
  #last: QueuedNotice | undefined

  get first(): QueuedNotice | undefined {
    return this.#first
  }

  append(notice: QueuedNotice): void {
    notice.before = this.#last
    if (this.#last === undefined) this.#first = notice
    else this.#last.next = notice
    this.#last = notice
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
