import { setTimeout as sleep } from 'node:timers/promises'
import type { Entry } from './entry.js'
import { Fifo } from './fifo.js'
import type { RecipientQueue } from './recipient-queue.js'

/** How often it is looked whether all attempts have ended. */
const look_ms = 10

export interface ReceiverLimits {
  /** Attempts at a time against one scheme, host and port. */
  readonly perReceiver: number
  /** Attempts at a time in all. */
  readonly total: number
  /** Bytes of all attempts under way, by their notices; when there are as many none is begun. */
  readonly underWay_bytes: number
}

/** A receiver that is slow with large notifications leaves the others most of the room. */
const shareOfReceiver = 1 / 4

/** A scheme, host and port with the subscriptions that wait for it, in the order of their turns. */
interface Receiver {
  readonly origin: string
  readonly turns: Fifo<RecipientQueue>
  underWay: number
  bytes: number
  /** Whether it stands among those that may begin an attempt. */
  offered: boolean
}

/**
 * Shares the attempts that may run at a time: receivers take turns, and so do the subscriptions of a receiver. A receiver
 * that uses up its share only makes its own notifications wait [subscriptions 5.4].
 */
export class Receivers {
  readonly #limits: ReceiverLimits
  readonly #launch: (queue: RecipientQueue, entry: Entry) => Promise<void>
  readonly #receivers = new Map<string, Receiver>()
  readonly #turns = new Fifo<Receiver>()
  readonly #listed = new Set<RecipientQueue>()
  #underWay = 0
  #bytes = 0
  #ended = 0
  #soon = false
  #stopped = true

  /** `launch` resolves when its attempt has ended. */
  constructor(limits: ReceiverLimits, launch: (queue: RecipientQueue, entry: Entry) => Promise<void>) {
    this.#limits = limits
    this.#launch = launch
  }

  /**
   * Resolves when nothing is under way and nothing can be begun, and at the latest after this time, or when no attempt
   * has ended for as long as patience lasts.
   */
  async idle(limit_ms: number, patience_ms: number): Promise<void> {
    const begun = performance.now()
    let progress = { ended: this.#ended, at: begun }
    while (this.#listed.size > 0 || this.#underWay > 0) {
      const at = performance.now()
      if (this.#ended !== progress.ended) progress = { ended: this.#ended, at }
      if (at - begun >= limit_ms || at - progress.at >= patience_ms) return
      await sleep(look_ms)
    }
  }

  start(): void {
    this.#stopped = false
    this.#pumpSoon()
  }

  stop(): void {
    this.#stopped = true
  }

  /** The subscription may have something to send: it gets its turns until it has not. */
  want(queue: RecipientQueue): void {
    if (queue.recipient === undefined || this.#listed.has(queue) || !queue.mayBegin) return
    this.#listed.add(queue)
    const receiver = this.#receiverOf(originOf(queue.recipient.reference))
    receiver.turns.push(queue)
    this.#offer(receiver)
    this.#pumpSoon()
  }

  #pumpSoon(): void {
    if (this.#soon) return
    this.#soon = true
    // Whoever calls is in the middle of a change of its queue.
    queueMicrotask(() => {
      this.#soon = false
      this.#pump()
    })
  }

  #pump(): void {
    const { total, underWay_bytes } = this.#limits
    while (!this.#stopped && this.#underWay < total && this.#bytes < underWay_bytes) {
      const receiver = this.#turns.shift()
      if (receiver === undefined) return
      receiver.offered = false
      const queue = receiver.turns.shift()
      if (queue === undefined) continue
      this.#listed.delete(queue)
      this.#turn(receiver, queue)
      this.#offer(receiver)
      this.#forget(receiver)
    }
  }

  #turn(receiver: Receiver, queue: RecipientQueue): void {
    if (queue.recipient !== undefined && originOf(queue.recipient.reference) !== receiver.origin) {
      this.want(queue) // It was changed while it waited.
      return
    }
    const entry = queue.begin()
    if (entry === undefined) return
    const { sent_bytes } = entry
    receiver.underWay += 1
    receiver.bytes += sent_bytes
    this.#underWay += 1
    this.#bytes += sent_bytes
    this.want(queue)
    this.#launch(queue, entry).finally(() => {
      receiver.underWay -= 1
      receiver.bytes -= sent_bytes
      this.#underWay -= 1
      this.#bytes -= sent_bytes
      this.#ended += 1
      this.#offer(receiver)
      this.#forget(receiver)
      this.#pumpSoon()
    })
  }

  #offer(receiver: Receiver): void {
    if (receiver.offered || receiver.turns.size === 0) return
    const { perReceiver, underWay_bytes } = this.#limits
    if (receiver.underWay >= perReceiver || receiver.bytes >= underWay_bytes * shareOfReceiver) return
    receiver.offered = true
    this.#turns.push(receiver)
  }

  #receiverOf(origin: string): Receiver {
    let receiver = this.#receivers.get(origin)
    if (receiver === undefined) {
      receiver = { origin, turns: new Fifo(), underWay: 0, bytes: 0, offered: false }
      this.#receivers.set(origin, receiver)
    }
    return receiver
  }

  #forget(receiver: Receiver): void {
    if (receiver.turns.size === 0 && receiver.underWay === 0) this.#receivers.delete(receiver.origin)
  }
}

function originOf(reference: string): string {
  return URL.canParse(reference) ? new URL(reference).origin : reference
}
