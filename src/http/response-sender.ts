import type { ApiResponse, BodyStream } from '../broker/operations/api.js'
import { clientGone } from '../observe/log/access-line.js'
import { type Countable, consoleRoute, routeName } from '../observe/measure/counted-routes.js'
import type { CompletedRequest } from '../observe/measure/requests.js'
import type { SpentTimes } from '../observe/measure/slow-requests.js'
import { HeldMemory } from '../threads/shared-memory/request-memory.js'
import { now, toMilliseconds } from '../time.js'
import { small_bytes } from './connection-limits.js'
import { type Head, single } from './headers.js'
import type { RequestParts, RequestSteps } from './request-context.js'
import { step } from './request-life.js'
import type { RequestReader } from './request-reader.js'
import type { PendingResponse, RenderedResponse } from './response-writer.js'
import { overloaded, responseHeaders } from './responses.js'
import { kinds, type PathKind } from './target.js'

/** How long the rest of a body that is too long is read, so that the client can read the response [management 11.7]. */
const drain_ms = 5_000

/** Renders, logs and writes the response of one request. */
export class ResponseSender implements PendingResponse {
  readonly #parts: RequestParts
  readonly #reader: RequestReader
  readonly #steps: RequestSteps
  /** The memory of a large response. */
  #memory: HeldMemory | undefined
  /** Whether the socket has a large response that may not have been sent: its memory is given back when it was. */
  #isSending = false
  #ready: RenderedResponse | undefined
  /** The length of its body; of a stream, what of it has been made so far. */
  #body_bytes = 0
  /** Whether there is an error in it. */
  #hasErrors = false
  /** Whether some of it has been handed to the socket. */
  #isOut = false
  /** Aborted when nobody reads a streamed body any more. */
  #gone: AbortController | undefined
  /** Aborted when its client has closed its sending half. */
  #halfClosed: AbortController | undefined

  constructor(parts: RequestParts, reader: RequestReader, steps: RequestSteps) {
    this.#parts = parts
    this.#reader = reader
    this.#steps = steps
  }

  /** Takes memory for a large response; false when responses hold as much as they may. */
  hold(bytes: number): boolean {
    this.#memory ??= new HeldMemory(this.#parts.context.responseMemory)
    return this.#memory.take(bytes)
  }

  /** Whether the body is made while it is sent: how long that takes is up to its client. */
  get isStream(): boolean {
    return this.#gone !== undefined
  }

  /** Gives back what the response has held, unless it is being sent; a stream that is not over has nobody to go to. */
  release(): void {
    if (!this.#isSending) this.#memory?.giveAll()
    this.#gone?.abort()
  }

  /** Sends the response, unless there has been one. */
  send(response: ApiResponse): void {
    this.#parts.stages?.over('operation')
    const body = this.#render(response)
    if (!this.#parts.life.take(step.respond)) return
    const { kind } = this.#parts.head.target
    const isOfOperators = kinds[kind].isManagement && !kinds[kind].describesBroker
    const { isCounted = !isOfOperators } = response
    const needsMemory = isCounted && body.length > small_bytes && this.#memory?.isTaken !== true
    if (!needsMemory || this.hold(2 * body.length)) this.#queue(response, body)
    else {
      this.#parts.context.meter.rejected('memory')
      const refusal = overloaded(kind, 'too many large responses are being sent')
      this.#queue(refusal, this.#render(refusal))
    }
  }

  #render({ body = '' }: ApiResponse): string {
    if (typeof body === 'string') return body
    const { context, stages, timed } = this.#parts
    const { meter } = context
    const since = meter.timingOn ? process.hrtime.bigint() : undefined
    const text = body()
    if (since !== undefined) meter.stage('render', process.hrtime.bigint() - since, timed)
    stages?.over('render')
    return text
  }

  /** It is written at the end of the turn of the event loop, with all others that are ready by then. */
  #queue(response: ApiResponse, body: string): void {
    const { context, head, connection, begun } = this.#parts
    const response_bytes = Buffer.byteLength(body)
    const closes = this.#closes
    const headers = responseHeaders(context.rules.cors, response, { head, body, body_bytes: response_bytes, closes })
    if (closes) connection.close()
    const completed = {
      resource: countedRoute(head),
      verb: head.verb,
      status: response.status,
      request_bytes: this.#reader.payload_bytes,
      response_bytes,
      duration: process.hrtime.bigint() - begun,
      errors: errorsOf(response, head.target.kind),
      service: single(head.headers['fiware-service']),
      servicePath: single(head.headers['fiware-servicepath']),
    }
    context.meter.responded(completed)
    this.#body_bytes = response_bytes
    this.#hasErrors = response.status >= 400 || completed.errors.length > 0
    const above_ms = context.switches.get('slowAbove_ms')
    if (above_ms > 0 && completed.duration > BigInt(above_ms) * 1_000_000n) this.#wasSlow(completed)
    const ready = { status: response.status, headers, body, stream: response.stream }
    this.#ready = ready
    context.responses.add(this)
    this.#parts.log.responseReady(ready, response_bytes, this.#parts.stages)
  }

  #wasSlow(completed: CompletedRequest): void {
    const { context, stages, head } = this.#parts
    const { verb, duration, service = '', servicePath = '' } = completed
    const { status, request_bytes, response_bytes } = completed
    context.meter.slow({
      ...{ time_ms: now(), method: verb, status, request_bytes, response_bytes },
      route: routeName(head.target.route?.resource),
      duration_ms: toMilliseconds(duration),
      ...(stages?.spent ?? notTimed),
      ...{ tenant: service, path: servicePath, correlator: head.correlator },
    })
  }

  /**
   * Logs the request when nothing more comes of it: its response has been handed over, or never will be. `refused` is the
   * bare status with which its connection refuses it, if that is what its client gets.
   */
  logEnd(refused: number | undefined): void {
    const { log, head, stages, begun } = this.#parts
    const ready = this.#isOut ? this.#ready : undefined
    const hasErrors = ready === undefined || this.#hasErrors
    if (!log.showsEnd(hasErrors)) return
    log.ended(
      {
        status: ready?.status ?? refused ?? clientGone,
        hasErrors,
        route: routeName(countedRoute(head)),
        duration: process.hrtime.bigint() - begun,
        requestBody: this.#reader.body,
        request_bytes: this.#ready === undefined ? this.#reader.body_bytes : this.#reader.payload_bytes,
        responseBody: ready?.body ?? '',
        response_bytes: ready === undefined || head.verb === 'HEAD' ? 0 : this.#body_bytes,
      },
      stages,
      head.target.kind === 'health',
    )
  }

  writeOut(): void {
    try {
      const ready = this.#ready
      if (ready === undefined) return
      const { life, writer } = this.#parts
      if (this.#reader.leavesBody && this.#reader.bodyArrives) this.#writeAndDrain(ready)
      else if (life.take(step.write)) {
        if (ready.stream !== undefined) this.#stream(ready, ready.stream)
        else if (this.#memory?.isTaken === true) this.#writeLarge(ready, this.#memory)
        else writer.write(ready, () => this.#handed())
      }
    } catch (fault) {
      this.#steps.fail(fault)
    }
  }

  /** The socket keeps the body until the client has taken it, so the memory of the body is held until then. */
  #writeLarge(ready: RenderedResponse, memory: HeldMemory): void {
    memory.keep(this.#body_bytes)
    const handed = () => {
      this.#isSending = memory.isTaken
      this.#handed()
    }
    this.#parts.writer.write(ready, handed, () => memory.giveAll())
  }

  #stream(ready: RenderedResponse, body: BodyStream): void {
    const gone = new AbortController()
    this.#gone = gone
    const { writer, connection } = this.#parts
    const halfClosed = new AbortController()
    this.#halfClosed = halfClosed
    if (connection.socket.readableEnded) halfClosed.abort()
    this.#isOut = true
    writer.stream(ready, this.#counted(body(gone.signal, halfClosed.signal, () => writer.destroy())), gone.signal).then(
      () => this.#steps.guarded(() => this.#handed()),
      (fault: unknown) => {
        if (!gone.signal.aborted) this.#steps.fail(fault)
      },
    )
  }

  async *#counted(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of pieces) {
      this.#body_bytes += piece.length
      yield piece
    }
  }

  #writeAndDrain(ready: RenderedResponse): void {
    const { life, writer, connection, incoming } = this.#parts
    if (!life.take(step.writeAndDrain)) return
    writer.begin(ready)
    this.#isOut = true
    connection.readOn()
    const { socket } = connection
    if (incoming.readableEnded || socket.readableEnded) {
      this.drained()
      return
    }
    const timer = setTimeout(() => this.drained(), drain_ms)
    const stop = () => clearTimeout(timer)
    socket.once('close', stop)
    incoming.once('end', () => {
      stop()
      socket.off('close', stop)
      this.drained()
    })
  }

  /** The client has closed its sending half: nothing more comes of a body that is thrown away, and nobody may read a stream. */
  inputEnded(): void {
    this.#halfClosed?.abort()
    this.drained()
  }

  /** Nothing more comes of a body that is thrown away: the response is ended. */
  drained(): void {
    const { life, writer } = this.#parts
    if (life.take(step.drained)) this.#steps.guarded(() => writer.finish(() => this.#handed()))
  }

  #handed(): void {
    this.#isOut = true
    if (this.#parts.life.take(step.handed)) this.#steps.end()
  }

  /**
   * The last response on the wire says that the connection will be closed. One before it must not: the client would not
   * get the others.
   */
  get #closes(): boolean {
    const { writer, context } = this.#parts
    if (this.#reader.leavesBody || writer.isLast) return true
    return context.stopping && this.#steps.isLatest
  }
}

const noErrors: readonly string[] = []

/** The times of a request that had begun before slow requests were kept. */
const notTimed: SpentTimes = { stages_ms: {}, partitions: 0 }

/** The errors that are counted for clients: those in the body, else that of HTTP. Operators see theirs by the status. */
function errorsOf({ status, errors }: ApiResponse, kind: PathKind): readonly string[] {
  if (errors !== undefined) return errors
  return status < 400 || kinds[kind].isManagement ? noErrors : [String(status)]
}

/** The route that the metrics count a request under; requests of the console to the management stand apart [management 7]. */
function countedRoute({ target, headers }: Head): Countable | undefined {
  const resource = target.route?.resource
  if (!kinds[target.kind].isManagement || headers['rigel-console'] !== '1') return resource
  return resource?.pattern.startsWith('/admin/') === true ? consoleRoute : resource
}
