import type { BodyStream, Client } from '../api/api.js'
import type {
  OpenStream,
  StreamEnd,
  StreamPiece,
  StreamRefusal,
  StreamRequest,
  StreamSource,
} from '../delivery/stream-message.js'
import type { StreamPosition } from '../delivery/stream-position.js'
import { type EventQueue, type EventStreams, encodedEvent } from '../event-stream.js'
import { err, ok, type Result } from '../result.js'
import type { SubscriptionId } from '../subscription/subscription.js'

/** The notifications of subscriptions as event streams; one for each front end. */
export interface StreamService {
  /** The body of a response that is the stream of a subscription, which begins where the client was. */
  open(request: StreamRequest, client: Client): Promise<Result<BodyStream, StreamRefusal | 'away'>>
  /** A client has everything up to a position; false when it is no position of that subscription. */
  confirm(subscription: SubscriptionId, upTo: StreamPosition): Promise<Result<boolean, 'away'>>
}

/** What the last event of a stream says. */
const endTexts: Readonly<Record<StreamEnd | 'stopped', string>> = {
  replaced: 'another client listens to this subscription: the newest one gets its notifications',
  removed: 'the subscription was deleted',
  expired: 'the subscription has expired',
  changed: 'the subscription has another receiver now',
  interrupted: 'the sending of notifications was interrupted: listen again',
  stopped: 'the broker ends: listen again when it runs',
}

/** How long a response may take to be begun; a client that has gone meanwhile never begins to read. */
const beginning_ms = 10_000

/** The stream of one client. */
interface Listening {
  /** What has come before the client was served. */
  early: StreamPiece[]
  queue: EventQueue | undefined
  stream: OpenStream | undefined
  late: NodeJS.Timeout | undefined
}

const encoder = new TextEncoder()

/** The streams of the clients of this front end. */
export class ClientStreams implements StreamService {
  readonly #bodies: EventStreams
  readonly #source: StreamSource
  readonly #listening = new Set<Listening>()

  /** `bodies` are the streams of the front end, of whatever kind. */
  constructor(bodies: EventStreams, source: StreamSource) {
    this.#bodies = bodies
    this.#source = source
  }

  async open(request: StreamRequest, client: Client): Promise<Result<BodyStream, StreamRefusal | 'away'>> {
    // The client has left while this process was paused: opening its stream would replace a newer listener.
    if (client.gone) return err('away')
    const listening: Listening = { early: [], queue: undefined, stream: undefined, late: undefined }
    const opened = await this.#source.open(request, (piece) => this.#take(listening, piece))
    if (!opened.ok) return opened
    listening.stream = opened.value
    listening.late = setTimeout(() => this.#leave(listening), beginning_ms).unref()
    this.#listening.add(listening)
    if (client.gone) this.#leave(listening)
    return ok(this.#bodies.body((queue) => this.#begin(listening, queue), Number.POSITIVE_INFINITY))
  }

  confirm(subscription: SubscriptionId, upTo: StreamPosition): Promise<Result<boolean, 'away'>> {
    return this.#source.confirm(subscription, upTo)
  }

  /** Ends all streams, with an event that says that the broker does. */
  end(): void {
    for (const listening of this.#listening) this.#end(listening, 'stopped')
  }

  #take(listening: Listening, piece: StreamPiece): void {
    if (listening.queue === undefined) listening.early.push(piece)
    else this.#pass(listening, listening.queue, piece)
  }

  #begin(listening: Listening, queue: EventQueue): () => void {
    clearTimeout(listening.late)
    listening.queue = queue
    const { early } = listening
    listening.early = []
    for (const piece of early) this.#pass(listening, queue, piece)
    // One that was given up for being late is told nothing any more.
    if (!this.#listening.has(listening)) queue.end()
    return () => this.#leave(listening)
  }

  #pass(listening: Listening, queue: EventQueue, piece: StreamPiece): void {
    if (piece.kind === 'ended') this.#end(listening, piece.why)
    else queue.put(encoder.encode(piece.text), () => listening.stream?.took(piece.notices))
  }

  #end(listening: Listening, why: StreamEnd | 'stopped'): void {
    const { queue } = listening
    if (queue === undefined) {
      this.#leave(listening)
      return
    }
    queue.put(encodedEvent('end', JSON.stringify({ reason: why, description: endTexts[why] })))
    queue.end()
  }

  #leave(listening: Listening): void {
    clearTimeout(listening.late)
    if (this.#listening.delete(listening)) listening.stream?.close()
  }
}
