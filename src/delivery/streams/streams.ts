import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { streamReference } from '../../model/subscription/targets.js'
import { type MessageSource, onMessages } from '../../threads/calls/messages.js'
import type { Recipient } from '../queue/courier-protocol.js'
import type { DeliveryQueue } from '../queue/delivery-queue.js'
import type { QueueClock, SubscriptionQueue } from '../queue/subscription-queue.js'
import { isCovered, NoticeStream } from './notice-stream.js'
import { StreamGroup } from './stream-group.js'
import type { LargeNotices, StreamLimits } from './stream-limits.js'
import type { StreamEnd, StreamInstruction, StreamRefusal, StreamReport, StreamRequest } from './stream-message.js'
import type { StreamPosition } from './stream-position.js'
import { StreamPositions } from './stream-positions.js'
import { type EventParts, streamEvent } from './streamed-notice.js'

export interface StreamsParts extends EventParts {
  readonly queue: DeliveryQueue
  readonly clock: QueueClock
  readonly limits: StreamLimits
  /** The room for those that are on the way to all clients. */
  readonly large: LargeNotices<NoticeStream>
  /** The number of the last notice of an outbox that has arrived. */
  readonly known: (outbox: number) => number
}

/** Clocks of the nodes of a cluster do not differ by more. */
const clockSkew_ms = 1000

/** The port of a front end. */
type StreamPort = MessageSource<StreamInstruction> & {
  on(event: 'close', left: () => void): unknown
  postMessage(report: StreamReport): void
  close(): void
}

/** The stream of a client, and which it is for its front end. */
interface Opened {
  readonly port: StreamPort
  readonly number: number
  readonly subscription: SubscriptionId
  readonly stream: NoticeStream
}

/**
 * Sends the notices of subscriptions that clients listen to, on the streams that their front ends hold. A subscription has one
 * stream, or several that share its notices as a group. A client that does not read holds back the queue of its subscription
 * and nothing else; without a client the queue waits.
 */
export class Streams {
  readonly #parts: StreamsParts
  readonly #positions: StreamPositions
  readonly #ports = new Map<StreamPort, Map<number, Opened>>()
  readonly #groups = new Map<SubscriptionId, StreamGroup>()
  readonly #opened = new Map<NoticeStream, Opened>()
  #serials = 0
  /** Subscriptions that may have something to send, which is looked at once the caller is done. */
  readonly #due = new Set<SubscriptionId>()

  constructor(parts: StreamsParts) {
    this.#parts = parts
    this.#positions = new StreamPositions(parts.brokerId, parts.outboxes.all.length, parts.known)
  }

  /** Serves the clients of a front end. */
  connect(port: StreamPort): void {
    const streams = new Map<number, Opened>()
    this.#ports.set(port, streams)
    onMessages(port, (instruction: StreamInstruction) => this.#obey(port, streams, instruction))
    port.on('close', () => {
      this.#ports.delete(port)
      for (const opened of streams.values()) this.#leave(opened)
    })
  }

  /** A subscription may have something to send. */
  ready(id: SubscriptionId): void {
    if (!this.#groups.has(id)) return
    if (this.#due.size === 0) queueMicrotask(() => this.#sendDue())
    this.#due.add(id)
  }

  /** A subscription is about to be changed. */
  changed({ id, reference }: Recipient): void {
    if (reference !== streamReference) this.end(id, 'changed')
  }

  /** Ends the streams of a subscription; what has not arrived waits again. */
  end(id: SubscriptionId, why: StreamEnd): void {
    for (const stream of [...(this.#groups.get(id)?.members ?? [])]) {
      const opened = this.#opened.get(stream)
      if (opened !== undefined) this.#end(opened, why)
    }
  }

  #end(opened: Opened, why: StreamEnd): void {
    this.#tell(opened.port, { kind: 'ended', stream: opened.number, why })
    this.#leave(opened)
  }

  /** Another node sends some of the notices now: all streams end, and what has not arrived waits again. */
  interrupt(): void {
    for (const id of [...this.#groups.keys()]) this.end(id, 'interrupted')
  }

  /**
   * What was sent for long enough has arrived, and the streams of subscriptions that have expired end, and slow ones that others wait
   * for; to be called often.
   */
  sweep(): void {
    const at = this.#parts.clock.now()
    for (const [id, { members }] of this.#groups) {
      if ((this.#parts.queue.recipient(id)?.expires ?? 0) <= at) this.end(id, 'expired')
      else for (const stream of members) stream.expire()
    }
    if (this.#parts.large.waiting.size === 0) return
    for (const opened of [...this.#opened.values()]) if (opened.stream.isSlow) this.#end(opened, 'slow')
  }

  /** Sends nothing more; the streams are ended by their front ends. */
  close(): void {
    for (const port of this.#ports.keys()) port.close()
  }

  #obey(port: StreamPort, streams: Map<number, Opened>, instruction: StreamInstruction): void {
    switch (instruction.kind) {
      case 'open': {
        const refusal = this.#refusal(instruction)
        if (refusal === undefined) this.#open(port, instruction.stream, instruction)
        else this.#tell(port, { kind: 'refused', stream: instruction.stream, why: refusal })
        break
      }
      case 'took': {
        const opened = streams.get(instruction.stream)
        opened?.stream.took(instruction.notices)
        if (opened !== undefined) this.ready(opened.subscription)
        break
      }
      case 'closed': {
        const opened = streams.get(instruction.stream)
        if (opened !== undefined) this.#leave(opened)
        break
      }
      case 'confirm': {
        const { number, subscription, upTo } = instruction
        this.#tell(port, { kind: 'confirmed', number, isKnown: this.#confirm(subscription, upTo) })
      }
    }
  }

  /** Those that are replaced make room for the one that replaces them. */
  #refusal({ subscription, group }: StreamRequest): StreamRefusal | undefined {
    const { queue, clock, limits } = this.#parts
    const recipient = queue.recipient(subscription)
    if (recipient === undefined) return 'unknown'
    if (recipient.reference !== streamReference) return 'notStreamed'
    if (recipient.expires <= clock.now()) return 'expired'
    const present = this.#groups.get(subscription)
    const replaced = present === undefined || this.#isJoined(present, group) ? 0 : present.size
    return this.#opened.size - replaced >= limits.listeners ? 'full' : undefined
  }

  #isJoined(present: StreamGroup, group: string | undefined): boolean {
    return group !== undefined && present.name === group
  }

  #open(port: StreamPort, number: number, request: StreamRequest): void {
    const { subscription, after, group: name, isExplicit, since = Number.POSITIVE_INFINITY } = request
    const present = this.#groups.get(subscription)
    // A request may come late: to a node that was paused, or from one that has reached it only now.
    if (present !== undefined && !this.#isJoined(present, name) && since < present.since - clockSkew_ms) {
      this.#tell(port, { kind: 'opened', stream: number })
      this.#tell(port, { kind: 'ended', stream: number, why: 'replaced' })
      return
    }
    if (present !== undefined && !this.#isJoined(present, name)) this.end(subscription, 'replaced')
    if (after !== undefined) this.#confirm(subscription, after)
    const group = this.#groups.get(subscription) ?? new StreamGroup(name)
    this.#groups.set(subscription, group)
    group.since = Math.max(group.since, request.since ?? 0)
    const stream = this.#newStream(port, number, { subscription, group, isExplicit })
    if (after?.ofGroup === undefined) this.#goOn(stream, subscription, after)
    group.join(stream)
    const opened = { port, number, subscription, stream }
    this.#opened.set(stream, opened)
    this.#parts.meter.listening(this.#opened.size)
    this.#ports.get(port)?.set(number, opened)
    this.#tell(port, { kind: 'opened', stream: number })
    this.ready(subscription)
  }

  #newStream(
    port: StreamPort,
    number: number,
    { subscription, group, isExplicit }: { subscription: SubscriptionId; group: StreamGroup; isExplicit: boolean },
  ): NoticeStream {
    this.#serials += 1
    const { limits, clock, queue, large } = this.#parts
    return new NoticeStream({
      ...{ subscription, serial: this.#serials, group: group.name, isExplicit, limits, large },
      steady_ms: clock.steady_ms,
      isCrowded: () => queue.streamed(subscription)?.isCrowded === true,
      ordinal: () => this.#positions.nextOrdinal(),
      event: (notice, stream) => {
        const sent = streamEvent(this.#parts, subscription, notice, this.#positions.at(stream, subscription))
        if (sent === undefined) group.done(notice)
        return sent
      },
      post: (text, notices) => this.#tell(port, { kind: 'events', stream: number, text, notices }),
      arrived: (notice, waited) => {
        group.done(notice)
        const own = queue.streamed(subscription)
        if (own !== undefined) queue.arrived(own, notice, waited)
      },
      roomFreed: () => this.#roomFreed(),
    })
  }

  /** The first one that waits has the others go on after it, see `sendDue`. */
  #roomFreed(): void {
    const [first] = this.#parts.large.waiting
    const opened = first && this.#opened.get(first)
    if (opened !== undefined) this.ready(opened.subscription)
  }

  /** A client that comes back has what was sent before: its next position says so as well. */
  #goOn(stream: NoticeStream, subscription: SubscriptionId, after: StreamPosition | undefined): void {
    if (after === undefined || !this.#positions.isOf(after, subscription)) return
    for (const [outbox, number] of this.#positions.possible(after).sent) stream.position.set(outbox, number)
  }

  /** A client has everything up to a position; false when it is a position of another subscription or broker. */
  #confirm(subscription: SubscriptionId, given: StreamPosition): boolean {
    if (!this.#positions.isOf(given, subscription)) return false
    const { queue, known } = this.#parts
    const upTo = this.#positions.possible(given)
    const serial = this.#positions.serialOf(upTo)
    for (const stream of this.#groups.get(subscription)?.members ?? []) {
      if (serial === undefined ? stream.group === undefined : stream.serial === serial) stream.confirm(upTo)
    }
    const own = queue.streamed(subscription)
    if (own === undefined) return true
    const bounds = serial === undefined ? upTo.sent : this.#parts.outboxes.all.map((_, at) => [at, known(at)] as const)
    for (const [outbox, number] of bounds) {
      for (const notice of own.waitingUpTo(outbox, number)) {
        if (serial === undefined) queue.arrived(own, notice)
        else if (notice.stream === serial && isCovered(notice, upTo)) queue.arrived(own, notice)
      }
    }
    this.ready(subscription)
    return true
  }

  #leave(opened: Opened): void {
    const { port, number, subscription, stream } = opened
    if (!this.#opened.delete(stream)) return
    this.#parts.meter.listening(this.#opened.size)
    this.#ports.get(port)?.delete(number)
    const group = this.#groups.get(subscription)
    group?.leave(stream)
    if (group?.size === 0) this.#groups.delete(subscription)
    const left = stream.close()
    this.#parts.queue.streamed(subscription)?.putBackStreamed(left)
    this.ready(subscription)
  }

  #sendDue(): void {
    const due = [...this.#due]
    this.#due.clear()
    for (const id of due) this.#send(id)
    const { waiting } = this.#parts.large
    for (const stream of waiting) {
      const opened = this.#opened.get(stream)
      if (opened !== undefined) this.#send(opened.subscription)
      // All others are behind it.
      if (waiting.has(stream)) break
    }
  }

  #send(id: SubscriptionId): void {
    const group = this.#groups.get(id)
    const queue = this.#parts.queue.streamed(id)
    if (group === undefined) return
    let isMore = true
    while (isMore) {
      isMore = queue !== undefined && this.#assign(group, queue)
      for (const stream of group.members) stream.flush()
    }
    // What arrives has the others sent.
    if (queue?.isCrowded) for (const stream of group.members) stream.expire()
  }

  /** Assigns what the streams of a group have room for; whether it was anything. */
  #assign(group: StreamGroup, queue: SubscriptionQueue): boolean {
    let isAny = false
    while (queue.isOpen) {
      const notice = queue.stream((each) => group.meantFor(each)?.hasRoom === true)
      const stream = notice && group.meantFor(notice)
      if (notice === undefined || stream === undefined) break
      group.assigned(stream, notice)
      stream.assign(notice)
      isAny = true
    }
    return isAny
  }

  #tell(port: StreamPort, report: StreamReport): void {
    port.postMessage(report)
  }
}
