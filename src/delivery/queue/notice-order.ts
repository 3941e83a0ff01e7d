import type { NoticeHead, NoticeNumber, OrderingKey } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Milliseconds } from '../../time.js'
import { type Arrived, Fifo, type KeyQueue, NoticeList, type QueuedNotice } from './notice-list.js'
import type { OutboxNumber } from './outboxes.js'

export interface OrderParts {
  /** The number of the last notice of an outbox that has arrived. */
  readonly known: (outbox: OutboxNumber) => NoticeNumber
  /** The number of the coordinator's outbox. */
  readonly coordinator: OutboxNumber
  /** Whether notices of an outbox may be sent now. */
  readonly isOpen: (outbox: OutboxNumber) => boolean
  /** By outbox, the last notice that may go before the subscription's first remote barrier; nothing without such a barrier. */
  readonly remoteBarrier: (id: SubscriptionId) => readonly NoticeNumber[] | undefined
  /** Up to which notice an outbox sent by another node holds nothing of the subscription; nothing for an outbox that this node sends. */
  readonly goneElsewhere: (
    outbox: OutboxNumber,
    id: SubscriptionId,
    from: NoticeNumber,
    bound: NoticeNumber,
  ) => NoticeNumber | undefined
}

interface OrderEvents {
  /** Notices that were held back may go. */
  readonly released: () => void
  /** A notice waits until its outbox is open. */
  readonly shut: (outbox: OutboxNumber) => void
}

/** Names and braces make a rendered entity at most this many times as long as its record. */
const renderedTimes = 4

/**
 * The order in which the notices of one subscription go. Ordering keys run beside each other, with one notice of each under
 * way. Barriers are notices that go after everything that was made before them, and before everything that was made
 * after them [subscriptions 5.2, 5.4].
 */
export class NoticeOrder {
  readonly #id: SubscriptionId
  readonly #parts: OrderParts
  readonly #events: OrderEvents
  readonly #keys = new Map<string, KeyQueue>()
  /** The notices of each outbox by their numbers. */
  readonly #byOutbox = new Map<OutboxNumber, NoticeList>()
  /** Keys that may have something to send, each once, least recently served first. */
  #ready = new Fifo<KeyQueue>()
  /** Keys whose first notice waits for a barrier, or for its outbox to be open. */
  #held: KeyQueue[] = []
  readonly #barriers = new Fifo<QueuedNotice>()
  /** In the order in which they were sent to listeners. */
  readonly #streamed = new Set<QueuedNotice>()
  #isStreamed = false
  /** The last results of `goneElsewhere`, by outbox. */
  readonly #gone: NoticeNumber[] = []

  constructor(id: SubscriptionId, parts: OrderParts, events: OrderEvents) {
    this.#id = id
    this.#parts = parts
    this.#events = events
  }

  /** Adds a notice behind all others; gives the tick that it supersedes [subscriptions 3.6]. */
  add({ outbox, numbered, since_ms, tried }: Arrived): QueuedNotice | undefined {
    const { number, size_bytes, body_bytes, notice } = numbered
    const keyQueue = this.#keyQueueOf(notice.orderingKey)
    const queued: QueuedNotice = {
      ...{ outbox, number, size_bytes, made: notice.made, since_ms, keyQueue, tried },
      sent_bytes: body_bytes === undefined ? size_bytes * renderedTimes : size_bytes,
      barrier: this.#barrierOf(number, notice),
      provisional: notice.provisional,
      ...{
        state: 'waiting',
        dropOnFailure: false,
        epoch: 0,
        stream: 0,
        ordinal: 0,
        before: undefined,
        next: undefined,
      },
    }
    const first = keyQueue.waiting.first
    const superseded = first !== undefined && isSuperseded(first, notice.made) ? first : undefined
    keyQueue.waiting.push(queued)
    this.#listOf(outbox).add(queued)
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
      if (!this.#isOpen(notice) || !this.#isFree(notice)) {
        keyQueue.listed = true
        this.#held.push(keyQueue)
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

  /** Whether notices go to listeners, by their numbers, and not by their keys. */
  get isStreamed(): boolean {
    return this.#isStreamed
  }

  set isStreamed(isStreamed: boolean) {
    if (this.#isStreamed === isStreamed) return
    this.#isStreamed = isStreamed
    this.#ready = new Fifo()
    this.#held = []
    for (const keyQueue of this.#keys.values()) {
      keyQueue.listed = false
      this.offer(keyQueue)
    }
  }

  /** How many notices were sent to listeners and are not confirmed. */
  get streamed(): number {
    return this.#streamed.size
  }

  /**
   * The next notice for a listener, which is streamed from now on: of each outbox they go by their numbers, so that one that
   * may not go holds back those after it.
   */
  stream(mayGo: (notice: QueuedNotice) => boolean): QueuedNotice | undefined {
    let found: QueuedNotice | undefined
    for (const { first } of this.#byOutbox.values()) {
      if (first === undefined || !this.#isFirst(first) || !this.#isFree(first) || !this.#isOpen(first)) continue
      if ((found === undefined || first.since_ms < found.since_ms) && mayGo(first)) found = first
    }
    if (found === undefined) return undefined
    const { keyQueue, outbox } = found
    keyQueue.waiting.shift()
    keyQueue.streamed += 1
    found.state = 'streamed'
    this.#listOf(outbox).remove(found)
    this.#streamed.add(found)
    return found
  }

  /** Returns streamed notices to those that wait, in their order. */
  putBackStreamed(notices: readonly QueuedNotice[]): void {
    const byOutbox = new Map<OutboxNumber, QueuedNotice[]>()
    for (const notice of notices.toSorted((one, other) => other.number - one.number)) {
      notice.state = 'waiting'
      notice.keyQueue.streamed -= 1
      notice.keyQueue.waiting.unshift(notice)
      if (notice.barrier !== undefined) this.#barriers.unshift(notice)
      this.#streamed.delete(notice)
      const own = byOutbox.get(notice.outbox)
      if (own === undefined) byOutbox.set(notice.outbox, [notice])
      else own.push(notice)
    }
    for (const [outbox, own] of byOutbox) this.#listOf(outbox).putBack(own.reverse())
    for (const { keyQueue } of notices) this.offer(keyQueue)
  }

  /**
   * The notices of an outbox that wait, up to the first one that does not or has a higher number. Whatever joins or leaves while this is
   * read, each is given once, and those that join behind it are.
   */
  *waitingUpTo(outbox: OutboxNumber, number: NoticeNumber): Generator<QueuedNotice> {
    let notice = this.#byOutbox.get(outbox)?.first
    while (notice !== undefined && notice.state === 'waiting' && notice.number <= number) {
      const { number: seen, next } = notice
      if (this.#isFirst(notice)) yield notice
      notice = next?.state === 'waiting' || next?.state === 'underWay' ? next : this.#firstAfter(outbox, seen)
    }
  }

  #firstAfter(outbox: OutboxNumber, number: NoticeNumber): QueuedNotice | undefined {
    for (const notice of this.#byOutbox.get(outbox) ?? []) if (notice.number > number) return notice
    return undefined
  }

  /** Whether it waits, and none of its key before it. */
  #isFirst(notice: QueuedNotice): boolean {
    return notice.state === 'waiting' && notice.keyQueue.waiting.first === notice
  }

  /** A notice leaves for good: it was under way or streamed, or it is the first of its key that waits. */
  remove(notice: QueuedNotice): void {
    const { keyQueue } = notice
    if (notice.state === 'streamed') {
      notice.state = 'left'
      keyQueue.streamed -= 1
      this.#streamed.delete(notice)
      this.forgetIdle(keyQueue)
      return
    }
    if (notice.state === 'underWay') keyQueue.underWay = undefined
    else if (keyQueue.waiting.first === notice) keyQueue.waiting.shift()
    else throw new Error('a notice that waits leaves its queue before an older one of its key')
    notice.state = 'left'
    this.#listOf(notice.outbox).remove(notice)
    if (notice.barrier !== undefined) this.release()
    else this.recheck()
    this.offer(keyQueue)
    this.forgetIdle(keyQueue)
  }

  /** Removes and returns the notices of an outbox, none of which may be streamed. An attempt that is under way goes on. */
  forget(outbox: OutboxNumber): readonly QueuedNotice[] {
    const forgotten = [...(this.#byOutbox.get(outbox) ?? [])]
    this.#byOutbox.delete(outbox)
    for (const notice of forgotten) {
      if (notice.state === 'underWay') notice.keyQueue.underWay = undefined
      notice.state = 'left'
    }
    this.#taken(forgotten)
    return forgotten
  }

  /** Removes and returns the waiting notices for which the test holds. */
  takeWaiting(isMeant: (notice: QueuedNotice) => boolean): readonly QueuedNotice[] {
    const taken: QueuedNotice[] = []
    for (const list of this.#byOutbox.values()) {
      for (const notice of [...list]) {
        if (notice.state !== 'waiting' || !isMeant(notice)) continue
        notice.state = 'left'
        list.remove(notice)
        taken.push(notice)
      }
    }
    this.#taken(taken)
    return taken
  }

  /**
   * Removes and returns, in ascending order, at most so many waiting notices of an outbox of a partition, the last ones. Its first notice
   * stays.
   */
  takeLast(outbox: OutboxNumber, most: number): readonly QueuedNotice[] {
    const list = this.#listOf(outbox)
    const taken: QueuedNotice[] = []
    let notice = list.last
    while (notice !== undefined && notice !== list.first && taken.length < most) {
      const { before } = notice
      if (notice.state === 'waiting') {
        notice.state = 'left'
        list.remove(notice)
        taken.push(notice)
      }
      notice = before
    }
    this.#taken(taken)
    return taken.reverse()
  }

  /** Notices that waited were removed from their lists. */
  #taken(taken: readonly QueuedNotice[]): void {
    for (const keyQueue of new Set(taken.map((notice) => notice.keyQueue))) {
      keyQueue.waiting.keep(({ state }) => state !== 'left')
      this.offer(keyQueue)
      this.forgetIdle(keyQueue)
    }
    if (taken.length > 0) this.release()
  }

  /** Offers again what was held back: an outbox is open that was not, or a barrier that another node sends has left its outbox. */
  release(): void {
    const released = this.#held
    this.#held = []
    for (const keyQueue of released) this.#ready.push(keyQueue)
    this.#events.released()
  }

  /** The key may have something that can go. */
  offer(keyQueue: KeyQueue): void {
    const { listed, underWay, endPause, waiting } = keyQueue
    if (this.#isStreamed || listed || underWay !== undefined || endPause !== undefined || waiting.size === 0) return
    keyQueue.listed = true
    this.#ready.push(keyQueue)
  }

  /** Forgets a key that has neither notices nor a pause. */
  forgetIdle({ key, waiting, underWay, streamed, endPause }: KeyQueue): void {
    if (waiting.size === 0 && underWay === undefined && streamed === 0 && endPause === undefined) this.#keys.delete(key)
  }

  get keyQueues(): Iterable<KeyQueue> {
    return this.#keys.values()
  }

  /** The notice that has waited longest, of all or of those that are not under way. */
  oldest(which: 'all' | 'waiting'): QueuedNotice | undefined {
    let oldest = which === 'all' ? this.#streamed.values().next().value : undefined
    for (const list of this.#byOutbox.values()) {
      for (const notice of list) {
        if (which === 'waiting' && notice.state !== 'waiting') continue
        if (oldest === undefined || notice.since_ms < oldest.since_ms) oldest = notice
        break
      }
    }
    return oldest
  }

  *notices(): Generator<QueuedNotice> {
    yield* this.#streamed
    for (const list of this.#byOutbox.values()) yield* list
  }

  /** Whether one from an outbox waits that is older than a number. */
  hasWaitingBefore(outbox: OutboxNumber, number: NoticeNumber): boolean {
    for (const notice of this.#byOutbox.get(outbox) ?? []) {
      if (notice.number > number) return false
      if (notice.state === 'waiting') return true
    }
    return false
  }

  get hasBarrier(): boolean {
    return this.#barrier !== undefined
  }

  /** More notices have arrived, or one has left: the first barrier may be free now. */
  recheck(): void {
    const barrier = this.#barrier
    if (barrier !== undefined && barrier.state === 'waiting' && this.#isFree(barrier)) this.release()
  }

  get #barrier(): QueuedNotice | undefined {
    for (let first = this.#barriers.first; first !== undefined; first = this.#barriers.first) {
      if (first.state !== 'left' && first.state !== 'streamed') return first
      this.#barriers.shift()
    }
    return undefined
  }

  #barrierOf(number: NoticeNumber, { after }: Pick<NoticeHead, 'after'>): readonly NoticeNumber[] | undefined {
    if (after === undefined) return undefined
    const { coordinator } = this.#parts
    const bound = (outbox: OutboxNumber) => (outbox === coordinator ? number - 1 : (after[outbox] ?? 0))
    return Array.from({ length: coordinator + 1 }, (_, outbox) => bound(outbox))
  }

  /** Whether nothing has to go before it: before a barrier all that is older, before others the barriers that are older. */
  #isFree(notice: QueuedNotice): boolean {
    const { remoteBarrier, coordinator } = this.#parts
    const remote = notice.outbox === coordinator ? undefined : remoteBarrier(this.#id)
    if (remote !== undefined && notice.number > (remote[notice.outbox] ?? 0)) return false
    const barrier = this.#barrier
    if (barrier === undefined) return true
    const { barrier: bounds = [] } = barrier
    if (notice !== barrier) return notice.number <= (bounds[notice.outbox] ?? 0)
    return bounds.every((bound, outbox) => {
      const oldest = this.#byOutbox.get(outbox)?.first?.number ?? Number.POSITIVE_INFINITY
      return this.#parts.known(outbox) >= bound && oldest > bound && this.#isGoneElsewhere(outbox, bound)
    })
  }

  /** Whether an outbox that another node sends holds nothing up to a number; true for one that this node sends, whose notices are queued here. */
  #isGoneElsewhere(outbox: OutboxNumber, bound: NoticeNumber): boolean {
    const from = this.#gone[outbox] ?? 0
    if (from >= bound) return true
    const gone = this.#parts.goneElsewhere(outbox, this.#id, from, bound)
    if (gone === undefined) return true
    this.#gone[outbox] = gone
    return gone >= bound
  }

  #isOpen({ outbox }: QueuedNotice): boolean {
    if (this.#parts.isOpen(outbox)) return true
    this.#events.shut(outbox)
    return false
  }

  #keyQueueOf(orderingKey: OrderingKey): KeyQueue {
    const key = orderingKey.kind === 'entity' ? orderingKey.key : orderingKey.kind
    const held = this.#keys.get(key)
    if (held !== undefined) return held
    const made: KeyQueue = {
      ...{ key, onlyNewest: orderingKey.kind === 'tick', waiting: new Fifo<QueuedNotice>(), underWay: undefined },
      ...{ streamed: 0, failures: 0, endPause: undefined, listed: false },
    }
    this.#keys.set(key, made)
    return made
  }

  #listOf(outbox: OutboxNumber): NoticeList {
    let list = this.#byOutbox.get(outbox)
    if (list === undefined) {
      list = new NoticeList()
      this.#byOutbox.set(outbox, list)
    }
    return list
  }
}

/** Whether a notice is superseded by one of its key that was made at `made`. A tick of several messages has several notices of one moment. */
export function isSuperseded({ keyQueue, made: own }: QueuedNotice, made: Milliseconds): boolean {
  return keyQueue.onlyNewest && own !== made
}
