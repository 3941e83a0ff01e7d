import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { streamReference } from '../../model/subscription/targets.js'
import type { Steps } from '../../slices.js'
import { type MessageSource, onMessages } from '../../threads/calls/messages.js'
import type { Recipient } from '../queue/courier-protocol.js'
import type { DeliveryQueue } from '../queue/delivery-queue.js'
import type { QueueClock } from '../queue/subscription-queue.js'
import { isCovered, NoticeStream } from './notice-stream.js'
import { StreamGroup } from './stream-group.js'
import type { LargeNotices, StreamLimits } from './stream-limits.js'
import type { StreamEnd, StreamInstruction, StreamRefusal, StreamReport, StreamRequest } from './stream-message.js'
import type { StreamPosition } from './stream-position.js'
import { StreamPositions } from './stream-positions.js'
import { StreamWork, type WorkSlices } from './stream-work.js'
import { type EventParts, streamEvent } from './streamed-notice.js'

export interface StreamsParts extends EventParts {
  readonly queue: DeliveryQueue
  readonly clock: QueueClock
  readonly limits: StreamLimits
  /** The room for those that are on the way to all clients. */
  readonly large: LargeNotices<NoticeStream>
  /** The number of the last notice of an outbox that has arrived. */
  readonly known: (outbox: number) => number
  readonly slices: () => WorkSlices
}

/** Clocks of the nodes of a cluster do not differ by more. */
const clockSkew_ms = 1000

/** The port of a front end. */
type StreamPort = MessageSource<StreamInstruction> & {
  on(event: 'close', left: () => void): unknown
  postMessage(report: StreamReport): void
  close(): void
}

/** The streams of a front end, by its numbers. */
interface PortStreams {
  readonly opened: Map<number, Opened>
  /** Those that its clients wait for. */
  readonly opening: Set<number>
}

type OpenInstruction = Extract<StreamInstruction, { kind: 'open' }>
type ConfirmInstruction = Extract<StreamInstruction, { kind: 'confirm' }>

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
  readonly #ports = new Map<StreamPort, PortStreams>()
  readonly #groups = new Map<SubscriptionId, StreamGroup>()
  readonly #opened = new Map<NoticeStream, Opened>()
  #serials = 0
  readonly #work: StreamWork

  constructor(parts: StreamsParts) {
    this.#parts = parts
    this.#work = new StreamWork({
      ...{ queue: parts.queue, slices: parts.slices },
      groupOf: (id) => this.#groups.get(id),
      waiting: parts.large.waiting,
      roomFreed: () => this.#roomFreed(),
    })
    this.#positions = new StreamPositions(parts.brokerId, parts.outboxes.all.length, parts.known)
  }

  /** Serves the clients of a front end. */
  connect(port: StreamPort): void {
    const streams: PortStreams = { opened: new Map(), opening: new Set() }
    this.#ports.set(port, streams)
    onMessages(port, (instruction: StreamInstruction) => this.#obey(port, streams, instruction))
    port.on('close', () => {
      this.#ports.delete(port)
      streams.opening.clear()
      for (const opened of streams.opened.values()) this.#leave(opened)
    })
  }

  /** A subscription may have something to send. */
  ready(id: SubscriptionId): void {
    if (this.#groups.has(id)) this.#work.add(id)
  }

  /** A subscription is about to be changed. */
  changed({ id, reference }: Recipient): void {
    if (reference !== streamReference) this.end(id, 'changed')
    else this.#work.putBack(id)
  }

  /** Ends the streams of a subscription; what has not arrived waits again. */
  end(id: SubscriptionId, why: StreamEnd): void {
    for (const stream of this.#groups.get(id)?.members ?? []) {
      const opened = this.#opened.get(stream)
      if (opened !== undefined) this.#end(opened, why)
    }
    // What is left of one that was removed leaves with it.
    if (why !== 'removed') this.#work.putBack(id)
  }

  #end(opened: Opened, why: StreamEnd): void {
    this.#tell(opened.port, { kind: 'ended', stream: opened.number, why })
    this.#leave(opened)
  }

  /** Another node sends some of the notices now: all streams end, and what has not arrived waits again. */
  interrupt(): void {
    for (const id of [...this.#groups.keys()]) this.end(id, 'interrupted')
    this.#work.putBackAll()
  }

  /**
   * What was sent for long enough has arrived, and the streams of subscriptions that have expired end, and slow ones that others wait
   * for; to be called often.
   */
  sweep(): void {
    const at = this.#parts.clock.now()
    for (const id of this.#groups.keys()) {
      if ((this.#parts.queue.recipient(id)?.expires ?? 0) <= at) this.end(id, 'expired')
    }
    const isWaited = this.#parts.large.waiting.size > 0
    for (const opened of this.#opened.values()) {
      if (isWaited && opened.stream.isSlow) this.#end(opened, 'slow')
      else if (opened.stream.isDue) this.#goOn(opened)
    }
  }

  /** Sends nothing more; the streams are ended by their front ends. */
  close(): void {
    this.#work.close()
    for (const port of this.#ports.keys()) port.close()
  }

  #obey(port: StreamPort, { opened: all, opening }: PortStreams, instruction: StreamInstruction): void {
    switch (instruction.kind) {
      case 'open':
        opening.add(instruction.stream)
        this.#work.request(instruction.subscription, this.#opening(port, opening, instruction))
        break
      case 'took': {
        const opened = all.get(instruction.stream)
        if (opened === undefined) break
        opened.stream.took(instruction.notices)
        this.#goOn(opened)
        break
      }
      case 'closed': {
        opening.delete(instruction.stream)
        const opened = all.get(instruction.stream)
        if (opened !== undefined) this.#leave(opened)
        break
      }
      case 'confirm':
        this.#work.request(instruction.subscription, this.#confirmed(port, instruction))
    }
  }

  *#confirmed(port: StreamPort, { number, subscription, upTo }: ConfirmInstruction): Steps<void> {
    const isKnown = yield* this.#confirming(subscription, upTo)
    this.#tell(port, { kind: 'confirmed', number, isKnown })
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

  /** Opens the stream of a client, unless that has gone meanwhile, after what the client has has left. */
  *#opening(port: StreamPort, opening: Set<number>, request: OpenInstruction): Steps<void> {
    const { stream: number, subscription, after, group: name, since = Number.POSITIVE_INFINITY } = request
    const refusal = this.#refusal(request)
    const present = this.#groups.get(subscription)
    const isOther = present !== undefined && !this.#isJoined(present, name)
    // A request may come late: to a node that was paused, or from one that has reached it only now.
    const isLate = isOther && since < present.since - clockSkew_ms
    if (refusal === undefined && isOther && !isLate && opening.has(number)) this.end(subscription, 'replaced')
    if (refusal === undefined && !isLate && after !== undefined) yield* this.#confirming(subscription, after)
    if (!opening.delete(number)) return
    const why = refusal ?? this.#refusal(request)
    if (why !== undefined) {
      this.#tell(port, { kind: 'refused', stream: number, why })
      return
    }
    this.#tell(port, { kind: 'opened', stream: number })
    if (isLate) this.#tell(port, { kind: 'ended', stream: number, why: 'replaced' })
    else this.#open(port, request)
  }

  #open(port: StreamPort, request: OpenInstruction): void {
    const { stream: number, subscription, after, group: name, isExplicit } = request
    const group = this.#groups.get(subscription) ?? new StreamGroup(name)
    this.#groups.set(subscription, group)
    group.since = Math.max(group.since, request.since ?? 0)
    const stream = this.#newStream(port, number, { subscription, group, isExplicit })
    if (after?.ofGroup === undefined) this.#resume(stream, subscription, after)
    group.join(stream)
    const opened = { port, number, subscription, stream }
    this.#opened.set(stream, opened)
    this.#parts.meter.listening(this.#opened.size)
    this.#ports.get(port)?.opened.set(number, opened)
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

  /** The first one that waits has the next one go on when it waits no longer. */
  #roomFreed(): void {
    const [first] = this.#parts.large.waiting
    const opened = first && this.#opened.get(first)
    if (opened !== undefined) this.#goOn(opened)
  }

  /** A stream may have something to do. */
  #goOn({ subscription, stream }: Opened): void {
    this.#groups.get(subscription)?.due.add(stream)
    this.#work.add(subscription)
  }

  /** A client that comes back has what was sent before: its next position says so as well. */
  #resume(stream: NoticeStream, subscription: SubscriptionId, after: StreamPosition | undefined): void {
    if (after === undefined || !this.#positions.isOf(after, subscription)) return
    for (const [outbox, number] of this.#positions.possible(after).sent) stream.position.set(outbox, number)
  }

  /** A client has everything up to a position, which leaves in steps; false when it is a position of another subscription or broker. */
  *#confirming(subscription: SubscriptionId, given: StreamPosition): Steps<boolean> {
    if (!this.#positions.isOf(given, subscription)) return false
    const { queue, known } = this.#parts
    const upTo = this.#positions.possible(given)
    const serial = this.#positions.serialOf(upTo)
    for (const stream of [...(this.#groups.get(subscription)?.members ?? [])]) {
      if (serial === undefined ? stream.group !== undefined : stream.serial !== serial) continue
      stream.confirm(upTo)
      while (stream.arrive()) yield
    }
    this.#work.putBack(subscription)
    const own = queue.streamed(subscription)
    if (own === undefined) return true
    if (serial === undefined) {
      for (const [outbox, number] of upTo.sent) yield* queue.arrivedUpTo(own, outbox, number)
      return true
    }
    for (const outbox of this.#parts.outboxes.all.keys()) {
      for (const notice of own.order.waitingUpTo(outbox, known(outbox))) {
        if (notice.stream === serial && isCovered(notice, upTo)) queue.arrived(own, notice)
        yield
        if (own.ended) return true
      }
    }
    return true
  }

  #leave(opened: Opened): void {
    const { port, number, subscription, stream } = opened
    if (!this.#opened.delete(stream)) return
    this.#parts.meter.listening(this.#opened.size)
    this.#ports.get(port)?.opened.delete(number)
    const group = this.#groups.get(subscription)
    group?.leave(stream)
    if (group?.size === 0) this.#groups.delete(subscription)
    const notices = stream.close()
    const queue = this.#parts.queue.streamed(subscription)
    if (queue !== undefined) this.#work.giveBack(subscription, queue, notices)
  }

  #tell(port: StreamPort, report: StreamReport): void {
    port.postMessage(report)
  }
}
