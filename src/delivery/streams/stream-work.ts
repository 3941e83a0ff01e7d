import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Slices, Steps } from '../../slices.js'
import type { DeliveryQueue } from '../queue/delivery-queue.js'
import { Fifo, type QueuedNotice } from '../queue/notice-list.js'
import type { SubscriptionQueue } from '../queue/subscription-queue.js'
import type { NoticeStream } from './notice-stream.js'
import type { StreamGroup } from './stream-group.js'

/** Steps for one subscription before the next one has its turn. */
const stepsAtOnce = 64

/** Long work in slices, as it is done here. */
export type WorkSlices = Pick<Slices, 'isOver' | 'next'>

interface StreamWorkParts {
  readonly queue: DeliveryQueue
  readonly groupOf: (id: SubscriptionId) => StreamGroup | undefined
  /** The streams that wait for room for a large notice. */
  readonly waiting: ReadonlySet<NoticeStream>
  /** One of them waits no longer. */
  readonly roomFreed: () => void
  readonly slices: () => WorkSlices
}

/** What comes back from streams that have ended. */
interface Returned {
  readonly queue: SubscriptionQueue
  readonly notices: QueuedNotice[]
}

/**
 * What is done for the subscriptions that clients listen to, in slices: a part of what there is to do for each, then for the next
 * one. What waits again comes first, then what clients have asked for, then what their streams have room for.
 */
export class StreamWork {
  readonly #parts: StreamWorkParts
  /** Subscriptions that may have something to do, the one that is next first. */
  readonly #due = new Set<SubscriptionId>()
  #state: 'idle' | 'underWay' | 'closed' = 'idle'
  /** What clients have asked for of each subscription: one after the other, and nothing is sent meanwhile. */
  readonly #requests = new Map<SubscriptionId, Fifo<Steps<void>>>()
  readonly #returned = new Map<SubscriptionId, Returned>()

  constructor(parts: StreamWorkParts) {
    this.#parts = parts
  }

  /** A subscription may have something to do, which begins once the caller is done. */
  add(id: SubscriptionId): void {
    if (this.#state === 'closed') return
    this.#due.add(id)
    if (this.#state === 'idle') void this.#run()
  }

  /** Does what a client asks for, in steps, after what was asked for of the same subscription before. */
  request(id: SubscriptionId, steps: Steps<void>): void {
    const requests = this.#requests.get(id) ?? new Fifo()
    this.#requests.set(id, requests)
    requests.push(steps)
    this.add(id)
  }

  /** A stream has ended and leaves these notices, which wait again. */
  giveBack(id: SubscriptionId, queue: SubscriptionQueue, notices: Iterable<QueuedNotice>): void {
    const returned = this.#returned.get(id)
    if (returned?.queue !== queue) this.#returned.set(id, { queue, notices: [...notices] })
    else for (const notice of notices) returned.notices.push(notice)
    this.add(id)
  }

  /** What streams that have ended have left waits again, of all of them at once. */
  putBack(id: SubscriptionId): void {
    const returned = this.#returned.get(id)
    if (returned === undefined) return
    this.#returned.delete(id)
    if (!returned.queue.ended) returned.queue.putBackStreamed(returned.notices)
  }

  putBackAll(): void {
    for (const id of [...this.#returned.keys()]) this.putBack(id)
  }

  /** Does nothing more. */
  close(): void {
    this.#state = 'closed'
    this.#due.clear()
  }

  async #run(): Promise<void> {
    this.#state = 'underWay'
    await undefined
    const slices = this.#parts.slices()
    for (const id of this.#due) {
      this.#due.delete(id)
      if (this.#work(id, slices)) this.#due.add(id)
      if (slices.isOver) await slices.next()
    }
    if (this.#state === 'underWay') this.#state = 'idle'
  }

  /** Does a part of what there is to do for a subscription, and at least one step of it; false when there was nothing. */
  #work(id: SubscriptionId, slices: WorkSlices): boolean {
    this.putBack(id)
    const requests = this.#requests.get(id)
    if (requests !== undefined) return this.#serve(id, requests, slices)
    const group = this.#parts.groupOf(id)
    if (group === undefined) return false
    const queue = this.#parts.queue.streamed(id)
    const isAny = this.#assign(group, queue, slices)
    // What arrives has the others sent.
    if (queue?.isCrowded) for (const stream of group.members) if (stream.isDue) group.due.add(stream)
    return this.#step(group, slices) || isAny
  }

  #serve(id: SubscriptionId, requests: Fifo<Steps<void>>, slices: WorkSlices): true {
    let left = stepsAtOnce
    for (let first = requests.first; first !== undefined && left > 0; first = requests.first) {
      left -= 1
      if (first.next().done) requests.shift()
      if (slices.isOver) break
    }
    if (requests.size === 0) this.#requests.delete(id)
    return true
  }

  /** Assigns what the streams of a group have room for; whether it was anything. */
  #assign(group: StreamGroup, queue: SubscriptionQueue | undefined, slices: WorkSlices): boolean {
    let left = stepsAtOnce
    while (queue?.isOpen && left > 0) {
      const notice = queue.stream((each) => group.meantFor(each)?.hasRoom === true)
      const stream = notice && group.meantFor(notice)
      if (notice === undefined || stream === undefined) break
      group.assigned(stream, notice)
      stream.assign(notice)
      group.due.add(stream)
      left -= 1
      if (slices.isOver) break
    }
    return left < stepsAtOnce
  }

  /** Has the streams of a group go on, one after the other; whether any did. */
  #step(group: StreamGroup, slices: WorkSlices): boolean {
    const { waiting, roomFreed } = this.#parts
    let left = stepsAtOnce
    for (const stream of group.due) {
      group.due.delete(stream)
      const hasWaited = waiting.has(stream)
      let isMore = stream.step()
      while (isMore) {
        left -= 1
        if (left === 0 || slices.isOver) break
        isMore = stream.step()
      }
      stream.post()
      if (isMore) group.due.add(stream)
      if (hasWaited && !waiting.has(stream)) roomFreed()
      if (left === 0 || slices.isOver) break
    }
    return left < stepsAtOnce
  }
}
