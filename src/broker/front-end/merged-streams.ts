import { setTimeout as sleep } from 'node:timers/promises'
import type {
  OpenStream,
  StreamEnd,
  StreamingCourier,
  StreamPiece,
  StreamRefusal,
  StreamRequest,
} from '../../delivery/streams/stream-message.js'
import { idOfPosition, positionOfId, type StreamPosition } from '../../delivery/streams/stream-position.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { err, ok, type Result } from '../../result.js'
import { now } from '../../time.js'

/** The couriers of the other nodes of a cluster. */
export interface OtherCouriers {
  /** The members now, by name. */
  names(): readonly string[]
  /** The streams of the courier of one. */
  of(node: string): StreamingCourier
}

/** How long the others are waited for when a stream begins. What they send comes later where they take longer. */
const begin_ms = 2000
/** How often others are looked for that have no part in a stream. */
const look_ms = 1000

/**
 * The streams of a node of several: each is made of one of every node, which sends the notices of what it owns. When one of
 * them ends, all do.
 */
export class MergedStreams implements StreamingCourier {
  readonly #own: StreamingCourier
  readonly #others: OtherCouriers

  constructor(own: StreamingCourier, others: OtherCouriers) {
    this.#own = own
    this.#others = others
  }

  async open(
    request: StreamRequest,
    take: (piece: StreamPiece) => void,
  ): Promise<Result<OpenStream, StreamRefusal | 'away'>> {
    const stream = new MergedStream(this.#others, { ...request, since: now() }, take)
    const refusal = await stream.begin(this.#own)
    return refusal === undefined ? ok(stream) : err(refusal)
  }

  /** Confirmed when all nodes have heard of it: each knows of what it has sent. */
  async confirm(subscription: SubscriptionId, upTo: StreamPosition): Promise<Result<boolean, 'away'>> {
    const others = this.#others.names().map((node) => this.#others.of(node))
    const confirmed = await Promise.all([this.#own, ...others].map((source) => source.confirm(subscription, upTo)))
    return confirmed.find(({ ok }) => !ok) ?? ok(confirmed.every((each) => each.ok && each.value))
  }
}

/** The stream of one client. */
class MergedStream implements OpenStream {
  readonly #others: OtherCouriers
  readonly #request: StreamRequest
  readonly #take: (piece: StreamPiece) => void
  /** The part of each node that has one; that of this node has an empty name. */
  readonly #parts = new Map<string, OpenStream>()
  readonly #joining = new Set<string>()
  /** Whose events the client has not been handed yet, in their order. */
  readonly #waiting: string[] = []
  /** What the client was handed of parts that are only just being opened. */
  readonly #early = new Map<string, number>()
  readonly #sent = new Map<number, number>()
  readonly #ofGroup = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(others: OtherCouriers, request: StreamRequest, take: (piece: StreamPiece) => void) {
    this.#others = others
    this.#request = request
    this.#take = take
  }

  /** Begins all parts; gives why there is no stream, if there is none. */
  async begin(own: StreamingCourier): Promise<StreamRefusal | 'away' | undefined> {
    const refusal = await this.#join('', own)
    if (refusal !== undefined) return refusal
    const joined = this.#others.names().map((node) => this.#join(node, this.#others.of(node)))
    const late: Awaited<(typeof joined)[number]>[] = []
    const refusals = await Promise.race([Promise.all(joined), sleep(begin_ms, late, { ref: false })])
    if (refusals.includes('full')) {
      this.close()
      return 'full'
    }
    if (!this.#isOver) this.#timer = setInterval(() => this.#look(), look_ms).unref()
    return undefined
  }

  took(notices: number): void {
    const node = this.#waiting.shift()
    if (node === undefined) return
    const part = this.#parts.get(node)
    if (part === undefined) this.#early.set(node, (this.#early.get(node) ?? 0) + notices)
    else part.took(notices)
  }

  close(): void {
    this.#isOver = true
    clearInterval(this.#timer)
    for (const part of this.#parts.values()) part.close()
    this.#parts.clear()
  }

  /** A node may have come, or be reached again. */
  #look(): void {
    for (const node of this.#others.names()) {
      if (this.#parts.has(node) || this.#joining.has(node)) continue
      void this.#join(node, this.#others.of(node))
    }
  }

  async #join(node: string, courier: StreamingCourier): Promise<StreamRefusal | 'away' | undefined> {
    this.#joining.add(node)
    const opened = await courier.open(this.#request, (piece) => this.#pass(node, piece))
    this.#joining.delete(node)
    if (!opened.ok) return opened.error
    if (this.#isOver) {
      opened.value.close()
      return undefined
    }
    this.#parts.set(node, opened.value)
    const early = this.#early.get(node)
    this.#early.delete(node)
    if (early !== undefined) opened.value.took(early)
    return undefined
  }

  #pass(node: string, piece: StreamPiece): void {
    if (this.#isOver) return
    if (piece.kind === 'ended') {
      this.#end(piece.why)
      return
    }
    this.#waiting.push(node)
    this.#take({ ...piece, text: this.#merged(piece.text) })
  }

  #end(why: StreamEnd): void {
    this.close()
    this.#take({ kind: 'ended', why })
  }

  /** Each event says how far the client has come with all nodes, so that it can go on with any of them. */
  #merged(events: string): string {
    return events
      .split('\n\n')
      .map((event) => (event === '' ? event : this.#withPosition(event)))
      .join('\n\n')
  }

  /** The `id` comes first. */
  #withPosition(event: string): string {
    const end = event.indexOf('\n')
    const position = positionOfId(event.slice('id: '.length, end))
    const [own] = position?.sent ?? []
    if (position === undefined || own === undefined) throw new Error('an event has no position')
    for (const [node, number] of position.sent) this.#sent.set(node, number)
    for (const [stream, ordinal] of position.ofGroup ?? []) this.#ofGroup.set(stream, ordinal)
    const { tag, ofGroup } = position
    const merged =
      ofGroup === undefined ? { sent: this.#sent, ofGroup } : { sent: position.sent, ofGroup: this.#ofGroup }
    return `id: ${idOfPosition({ tag, ...merged }, own[0])}${event.slice(end)}`
  }
}
