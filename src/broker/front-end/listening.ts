import type {
  OpenStream,
  StreamEnd,
  StreamingCourier,
  StreamPiece,
  StreamRefusal,
  StreamRequest,
} from '../../delivery/streams/stream-message.js'
import { positionOfId, type StreamPosition } from '../../delivery/streams/stream-position.js'
import { isBoundTo } from '../../model/context/scope-headers.js'
import type { Subscription, SubscriptionId } from '../../model/subscription/subscription.js'
import { streamReference } from '../../model/subscription/targets.js'
import { err, ok, type Result } from '../../result.js'
import type { ConnectionLimit } from '../../threads/shared-memory/limits.js'
import type { ApiRequest, ApiResponse, BodyStream, Client } from '../operations/api.js'
import type { Call, OperationParts } from '../operations/operation.js'
import {
  type EventQueue,
  type EventStreams,
  encodedEvent,
  eventStreamHeaders,
  eventStreamType,
} from './event-stream.js'
import type { Unavailable } from './unavailable.js'

/** How a client wants to listen to a subscription: what its request says beside the subscription. */
interface ListeningTerms {
  readonly after: StreamPosition | undefined
  readonly group: string | undefined
  readonly isExplicit: boolean
}

const groupForm = /^[\w.-]{1,64}$/

/** Reads how a client wants to listen; an error is the text of a refusal. */
function listeningTerms(request: ApiRequest): Result<ListeningTerms, string> {
  const { parameters } = request
  const after = givenPosition(request)
  if (!after.ok) return after
  const group = parameters.get('group') || undefined
  if (group !== undefined && !groupForm.test(group)) {
    return err('group is not a name of 1 to 64 letters, digits, dots, hyphens and underscores')
  }
  const confirm = parameters.get('confirm') || undefined
  if (confirm !== undefined && confirm !== 'explicit') return err('confirm is not explicit, the only value it can have')
  return ok({ after: after.value, group, isExplicit: confirm !== undefined })
}

/** The position that a client has reached; nothing when it names none. The header is newer than what stands in the URL of a client. */
function givenPosition({
  headers,
  parameters,
}: Pick<ApiRequest, 'headers' | 'parameters'>): Result<StreamPosition | undefined, string> {
  const header = headers['last-event-id']
  const text = (typeof header === 'string' ? header.trim() : '') || parameters.get('lastEventId') || ''
  if (text === '') return ok(undefined)
  const position = positionOfId(text)
  return position === undefined ? err('Last-Event-ID is no id of an event of this broker') : ok(position)
}

const notStreamed =
  'the notifications of this subscription go to its URL: only one whose URL is sse: can be listened to'
const nothingNamed = 'Last-Event-ID is missing: it says up to which event notifications have arrived'
const positionElsewhere = 'Last-Event-ID is of another subscription, or of another broker'
const hasExpired = 'the subscription has expired'

/** What listening needs to know of a subscription. */
type Listened = Pick<Subscription, 'id' | 'path' | 'reference'>

/** What an interface has ways of its own for: what it finds, and how it refuses. */
interface EventInterface<Services> {
  /** The subscription that the path names, whatever its service path. */
  readonly find: (call: Call<Services>) => Promise<Result<Listened | undefined, ApiResponse>>
  readonly unknown: (request: ApiRequest) => ApiResponse
  readonly refusalResponse: (reason: string) => ApiResponse
  readonly unavailable: (why: Unavailable) => ApiResponse
}

/** The notifications of a subscription as a stream of events, and how far a client has got: whoever may listen may say that. */
export function eventOperations<Services extends { readonly broker: { readonly listening: StreamService } }>({
  find,
  unknown,
  refusalResponse,
  unavailable,
}: EventInterface<Services>): {
  readonly listen: OperationParts<Services, ListeningTerms>
  readonly confirm: OperationParts<Services, StreamPosition>
} {
  const orRefusal = <Value>(read: Result<Value, string>) => (read.ok ? read : err(refusalResponse(read.error)))
  const listenable = async (call: Call<Services>): Promise<Result<SubscriptionId, ApiResponse>> => {
    const { request } = call
    const found = await find(call)
    if (!found.ok) return found
    const { value: subscription } = found
    if (subscription === undefined || !isBoundTo(request.paths, subscription.path)) return err(unknown(request))
    return subscription.reference === streamReference ? ok(subscription.id) : err(refusalResponse(notStreamed))
  }
  const refusal = (why: StreamRefusal | 'away', request: ApiRequest): ApiResponse => {
    switch (why) {
      case 'unknown':
        return unknown(request)
      case 'notStreamed':
        return refusalResponse(notStreamed)
      case 'expired':
        return refusalResponse(hasExpired)
      case 'full':
        return unavailable({ kind: 'listenersFull' })
      case 'away':
        return unavailable({ kind: 'courierAway' })
    }
  }
  return {
    listen: {
      use: 'read',
      parse: (request) => orRefusal(listeningTerms(request)),
      work: async (call, terms) => {
        const subscription = await listenable(call)
        if (!subscription.ok) return subscription.error
        const { services, request } = call
        const opened = await services.broker.listening.open(
          { subscription: subscription.value, ...terms },
          request.client,
        )
        if (!opened.ok) return refusal(opened.error, request)
        return { status: 200, stream: opened.value, contentType: eventStreamType, headers: eventStreamHeaders }
      },
    },
    confirm: {
      use: 'read',
      parse: (request) => {
        const position = orRefusal(givenPosition(request))
        if (!position.ok) return position
        return position.value === undefined ? err(refusalResponse(nothingNamed)) : ok(position.value)
      },
      work: async (call, upTo) => {
        const subscription = await listenable(call)
        if (!subscription.ok) return subscription.error
        const confirmed = await call.services.broker.listening.confirm(subscription.value, upTo)
        if (!confirmed.ok) return refusal(confirmed.error, call.request)
        return confirmed.value ? { status: 204 } : refusalResponse(positionElsewhere)
      },
    },
  }
}

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
  slow: 'too little was read, and others wait for the memory: listen again',
  stopped: 'the broker ends: listen again when it runs',
}

/** How long the beginning and the end of a stream may take. */
interface StreamTimes {
  /** Until the response is begun; a client that has gone meanwhile never begins to read. */
  readonly beginning_ms: number
  /** For a client to read what waits for it when its stream has ended: what it does not read takes memory that nobody counts. */
  readonly ending_ms: number
}

const usualTimes: StreamTimes = { beginning_ms: 10_000, ending_ms: 10_000 }

/** The connections that the streams of this node may take. */
type StreamRoom = Pick<ConnectionLimit, 'takeStream' | 'releaseStream'>

/** The stream of one client. */
interface Listening {
  /** What has come before the client was served. */
  early: StreamPiece[]
  queue: EventQueue | undefined
  /** Closes the connection of a client that is served. */
  cut: (() => void) | undefined
  stream: OpenStream | undefined
  late: NodeJS.Timeout | undefined
}

const encoder = new TextEncoder()

/** The streams of the clients of this front end. */
export class ClientStreams implements StreamService {
  readonly #bodies: EventStreams
  readonly #couriers: StreamingCourier
  readonly #room: StreamRoom
  readonly #times: StreamTimes
  readonly #listening = new Set<Listening>()

  /** `bodies` are the streams of the front end, of whatever kind. */
  constructor(bodies: EventStreams, couriers: StreamingCourier, room: StreamRoom, times = usualTimes) {
    this.#bodies = bodies
    this.#couriers = couriers
    this.#room = room
    this.#times = times
  }

  async open(request: StreamRequest, client: Client): Promise<Result<BodyStream, StreamRefusal | 'away'>> {
    // The client has left while this process was paused: opening its stream would replace a newer listener.
    if (client.gone) return err('away')
    const listening: Listening = {
      ...{ early: [], queue: undefined, cut: undefined, stream: undefined, late: undefined },
    }
    if (!this.#room.takeStream()) return err('full')
    const opened = await this.#couriers.open(request, (piece) => this.#take(listening, piece))
    if (!opened.ok) {
      this.#room.releaseStream()
      return opened
    }
    listening.stream = opened.value
    listening.late = setTimeout(() => this.#leave(listening), this.#times.beginning_ms).unref()
    this.#listening.add(listening)
    if (client.gone) this.#leave(listening)
    return ok(this.#bodies.body((queue, cut) => this.#begin(listening, queue, cut), Number.POSITIVE_INFINITY))
  }

  confirm(subscription: SubscriptionId, upTo: StreamPosition): Promise<Result<boolean, 'away'>> {
    return this.#couriers.confirm(subscription, upTo)
  }

  /** Ends all streams, with an event that says that the broker does. */
  end(): void {
    for (const listening of this.#listening) this.#end(listening, 'stopped')
  }

  #take(listening: Listening, piece: StreamPiece): void {
    if (listening.queue === undefined) listening.early.push(piece)
    else this.#pass(listening, listening.queue, piece)
  }

  #begin(listening: Listening, queue: EventQueue, cut: () => void): () => void {
    clearTimeout(listening.late)
    listening.queue = queue
    listening.cut = cut
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
    const { queue, cut } = listening
    if (queue === undefined || cut === undefined) {
      this.#leave(listening)
      return
    }
    queue.put(encodedEvent('end', JSON.stringify({ reason: why, description: endTexts[why] })))
    queue.end()
    clearTimeout(listening.late)
    if (why === 'slow') cut()
    else listening.late = setTimeout(cut, this.#times.ending_ms).unref()
  }

  #leave(listening: Listening): void {
    clearTimeout(listening.late)
    if (!this.#listening.delete(listening)) return
    this.#room.releaseStream()
    listening.stream?.close()
  }
}
