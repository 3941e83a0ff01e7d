import { streamReference } from '../../model/subscription/targets.js'
import { urlWithoutSecrets } from '../../observe/log/secrets.js'
import type { Recipient } from './courier-protocol.js'
import { Fifo, type QueuedNotice } from './notice-list.js'
import { endpointName, mqttEndpoint } from './outgoing.js'
import type { SubscriptionQueue } from './subscription-queue.js'

export interface ReceiverLimits {
  /** Attempts at a time against one scheme, host and port, or over one connection of MQTT [NGSIv2 subscriptions 7.1]. */
  readonly perReceiver: number
  /** Attempts at a time in all. */
  readonly total: number
  /** Bytes of all attempts under way, by their notices; at this many or more none is begun. */
  readonly underWay_bytes: number
}

/** A receiver that is slow with large notifications leaves the others the rest of the bytes under way. */
const shareOfReceiver = 1 / 4

/** A receiver with the subscriptions that have something to send to it, in the order of their turns. */
interface Receiver {
  readonly name: string
  readonly turns: Fifo<SubscriptionQueue>
  underWay: number
  bytes: number
  /** Whether it is in the list of those that may begin an attempt. */
  listed: boolean
}

/** An attempt under way: a notice, and the recipient as it was known when the attempt was begun. */
export interface BegunAttempt {
  readonly notice: QueuedNotice
  readonly recipient: Recipient
  readonly queue: SubscriptionQueue
  readonly receiver: Receiver
}

/**
 * Shares the attempts that may run at a time: receivers take turns, and so do the subscriptions of a receiver. A receiver
 * that uses up its share only makes its own notifications wait [subscriptions 5.4].
 */
export class ReceiverTurns {
  readonly #limits: ReceiverLimits
  readonly #receivers = new Map<string, Receiver>()
  readonly #turns = new Fifo<Receiver>()
  readonly #waiting = new Set<SubscriptionQueue>()
  #underWay = 0
  #bytes = 0

  constructor(limits: ReceiverLimits) {
    this.#limits = limits
  }

  /** Whether no attempt is under way and no subscription waits for its turn. */
  get isIdle(): boolean {
    return this.#waiting.size === 0 && this.#underWay === 0
  }

  /** How many attempts are under way at a receiver. */
  underWay(name: string): number {
    return this.#receivers.get(name)?.underWay ?? 0
  }

  /** The subscription gets turns until it has nothing to send; whether that is new. */
  add(queue: SubscriptionQueue): boolean {
    if (queue.recipient === undefined || this.#waiting.has(queue) || !queue.mayBegin()) return false
    this.#waiting.add(queue)
    const receiver = this.#receiverOf(receiverOf(queue.recipient))
    receiver.turns.push(queue)
    this.#offer(receiver)
    return true
  }

  /** Begins the next attempt, if the limits allow one and there is something to send. */
  next(): BegunAttempt | undefined {
    const { total, underWay_bytes } = this.#limits
    while (this.#underWay < total && this.#bytes < underWay_bytes) {
      const receiver = this.#turns.shift()
      if (receiver === undefined) return undefined
      receiver.listed = false
      const queue = receiver.turns.shift()
      if (queue === undefined) continue
      this.#waiting.delete(queue)
      const attempt = this.#begin(receiver, queue)
      this.#offer(receiver)
      this.#forgetIdle(receiver)
      if (attempt !== undefined) return attempt
    }
    return undefined
  }

  /** The attempt has ended, whatever its outcome. */
  ended({ receiver, notice: { sent_bytes } }: BegunAttempt): void {
    receiver.underWay -= 1
    receiver.bytes -= sent_bytes
    this.#underWay -= 1
    this.#bytes -= sent_bytes
    this.#offer(receiver)
    this.#forgetIdle(receiver)
  }

  #begin(receiver: Receiver, queue: SubscriptionQueue): BegunAttempt | undefined {
    const { recipient } = queue
    if (recipient !== undefined && receiverOf(recipient) !== receiver.name) {
      this.add(queue) // The subscription was changed while it waited for its turn.
      return undefined
    }
    const notice = queue.begin()
    if (recipient === undefined || notice === undefined) return undefined
    receiver.underWay += 1
    receiver.bytes += notice.sent_bytes
    this.#underWay += 1
    this.#bytes += notice.sent_bytes
    this.add(queue)
    return { notice, recipient, queue, receiver }
  }

  #offer(receiver: Receiver): void {
    if (receiver.listed || receiver.turns.size === 0) return
    const { perReceiver, underWay_bytes } = this.#limits
    if (receiver.underWay >= perReceiver || receiver.bytes >= underWay_bytes * shareOfReceiver) return
    receiver.listed = true
    this.#turns.push(receiver)
  }

  #receiverOf(name: string): Receiver {
    let receiver = this.#receivers.get(name)
    if (receiver === undefined) {
      receiver = { name, turns: new Fifo(), underWay: 0, bytes: 0, listed: false }
      this.#receivers.set(name, receiver)
    }
    return receiver
  }

  #forgetIdle(receiver: Receiver): void {
    if (receiver.turns.size === 0 && receiver.underWay === 0) this.#receivers.delete(receiver.name)
  }
}

/** Names that were found once: receivers are asked for again and again. */
const names = new WeakMap<Recipient, string>()

/** A name of the receiver of a subscription that no other one has. */
export function receiverOf(recipient: Recipient): string {
  const known = names.get(recipient)
  if (known !== undefined) return known
  const name = nameOf(recipient)
  names.set(recipient, name)
  return name
}

/** The receiver of a subscription as operators see it, without secrets. */
export function shownReceiver({ reference: url, terms }: Recipient): string {
  if (url === streamReference) return url
  if (terms?.target.kind !== 'mqtt') return URL.canParse(url) ? new URL(url).origin : urlWithoutSecrets(url)
  const endpoint = mqttEndpoint({ url, user: undefined, password: undefined })
  const { user } = terms.target
  if (endpoint === undefined) return urlWithoutSecrets(url)
  return `mqtt://${user === undefined ? '' : `${user}@`}${endpoint.host}:${endpoint.port}`
}

/** Scheme, host and port, or the endpoint of an MQTT broker with its user. */
function nameOf({ reference: url, terms }: Recipient): string {
  if (terms?.target.kind === 'mqtt') {
    const { user, passwd: password } = terms.target
    const endpoint = mqttEndpoint({ url, user, password })
    return endpoint === undefined ? url : endpointName(endpoint)
  }
  return URL.canParse(url) && url !== streamReference ? new URL(url).origin : url
}
