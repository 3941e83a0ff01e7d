import type { IncomingMessage } from 'node:http'
import type { PathRange } from '../context/query.js'
import type { Payload } from '../measure/requests.js'
import type { HeldMemory } from '../shared-memory/request-memory.js'
import type { Nanoseconds } from '../time.js'
import { type Admitted, checkRequest, checkTarget, type RefusedRequest, tooLarge } from './checks.js'
import { isText, mediaTypeOf } from './headers.js'
import type { FaultGuard, RequestParts } from './request-context.js'
import { step } from './request-life.js'
import { kinds } from './target.js'

/** What becomes of a request that has been checked and read. */
export interface ReadOutcome extends FaultGuard {
  /** It has passed all checks, and all of it has come. */
  admit(admitted: Admitted): void
  turnDown(refused: RefusedRequest): void
  /** Whether it is refused because of overload before its body is read; it has been if so. */
  isOverload(admitted: Admitted): boolean
  /** There is no memory for it. */
  noRoom(): void
}

/** Checks the head of a request and reads its body, in the order of the checks [management 11.4]. */
export class RequestReader implements BodyReader {
  readonly #exchange: RequestParts
  readonly #outcome: ReadOutcome
  readonly #memory: HeldMemory
  #paths: readonly PathRange[] = []
  /** Set when the length of the body was announced: the checks are done before it is read. */
  #admitted: Admitted | undefined
  #asksForBody = false
  #hasBody = false
  #body = ''
  #body_bytes = 0
  #received: Nanoseconds

  constructor(exchange: RequestParts, memory: HeldMemory, outcome: ReadOutcome) {
    this.#exchange = exchange
    this.#memory = memory
    this.#outcome = outcome
    this.#received = exchange.begun
  }

  /** The service paths of its header. */
  get paths(): readonly PathRange[] {
    return this.#paths
  }

  /** Empty until all of it has come. */
  get body(): string {
    return this.#body
  }

  /** What has come of the body. */
  get body_bytes(): number {
    return this.#body_bytes
  }

  /** When all of it had come; when it began, if nobody measures. */
  get received(): Nanoseconds {
    return this.#received
  }

  /** The length of the body, as announced or as it came. */
  get payload_bytes(): number {
    return this.#exchange.head.announced_bytes ?? this.#body_bytes
  }

  get payload(): Payload {
    const { headers, target } = this.#exchange.head
    if (this.payload_bytes === 0 || kinds[target.kind].isManagement) return 'none'
    return isText(mediaTypeOf(headers['content-type']) ?? '') ? 'text' : 'json'
  }

  /** Whether the client has been told, or need not be told, to send the body. */
  get bodyArrives(): boolean {
    return this.#asksForBody || !this.#exchange.head.expectsContinue
  }

  /** Whether the rest of the body is not worth reading, or may never come because the client waits for a 100. */
  get leavesBody(): boolean {
    const { head, context } = this.#exchange
    if (this.#hasBody || head.announced_bytes === 0) return false
    if (head.announced_bytes === undefined || head.announced_bytes > context.rules.maxBody_bytes) return true
    return this.#asksForBody || head.expectsContinue
  }

  /** Checks the head, then reads the body if one is to come. */
  begin(): void {
    const { context, head, log, begun } = this.#exchange
    context.proxies?.look(head)
    const refused = context.access?.refusal(head, log, begun)
    if (refused !== undefined) {
      this.#outcome.turnDown({ response: refused, counted: false })
      return
    }
    const paths = checkTarget(context.rules, head)
    if (paths.ok) {
      this.#paths = paths.value
      if (head.announced_bytes === undefined) this.#readChunks()
      else this.#check(head.announced_bytes)
    } else this.#outcome.turnDown({ response: paths.error, counted: false })
  }

  /** Only reading tells whether a chunked request has a body at all. */
  #readChunks(): void {
    const { context, head, writer } = this.#exchange
    // Nothing is read of a request whose verb the parser does not know: it is turned down in any case.
    const early = head.expectsContinue || writer.isLast ? checkRequest(context.rules, head, 1) : undefined
    if (early?.ok === false) this.#outcome.turnDown(early.error)
    else this.#read()
  }

  #check(body_bytes: number): void {
    const checked = checkRequest(this.#exchange.context.rules, this.#exchange.head, body_bytes)
    if (!checked.ok) this.#outcome.turnDown(checked.error)
    else if (body_bytes === 0 || this.#hasBody) this.#outcome.admit(checked.value)
    else if (!this.#outcome.isOverload(checked.value)) {
      this.#admitted = checked.value
      this.#read()
    }
  }

  #read(): void {
    const { life, head, writer, context, incoming } = this.#exchange
    if (!life.take(step.readBody)) return
    this.#asksForBody = true
    if (head.expectsContinue) writer.continue()
    readBody(incoming, context.rules.maxBody_bytes, head.announced_bytes, this.#memory, this)
  }

  chunk(bytes: number, received: number): void {
    this.#body_bytes = received
    const { log } = this.#exchange
    if (log.isTraced('http.body')) log.trace('http.body', `${bytes} bytes, ${received} so far`)
  }

  complete(body: string, bytes: number): void {
    if (this.#exchange.life.take(step.bodyRead)) this.#outcome.guarded(() => this.#bodyRead(body, bytes))
  }

  #bodyRead(body: string, bytes: number): void {
    const { context, stages, log } = this.#exchange
    this.#hasBody = true
    this.#body = body
    this.#body_bytes = bytes
    if (context.meter.timingOn) this.#received = process.hrtime.bigint()
    stages?.over('read')
    log.body(body, bytes)
    if (this.#admitted === undefined) this.#check(bytes)
    else this.#outcome.admit(this.#admitted)
  }

  tooLong(received: number): void {
    this.#outcome.guarded(() => {
      const { life, context, head } = this.#exchange
      if (!life.isOpen) return
      const checked = checkRequest(context.rules, head, received)
      const refused = { response: tooLarge(context.rules, head, received), counted: false }
      this.#outcome.turnDown(checked.ok ? refused : checked.error)
    })
  }

  noRoom(): void {
    this.#outcome.guarded(() => this.#outcome.noRoom())
  }
}

/** What is told while a body arrives. */
interface BodyReader {
  chunk(bytes: number, received: number): void
  /** All of it has come. */
  complete(body: string, bytes: number): void
  /** More than the limit has come; nothing more is kept. */
  tooLong(received: number): void
  /** There is no memory for what has come; nothing more is kept. */
  noRoom(): void
}

/**
 * Reads a body up to the limit; its head may have said how long it is. Nothing is told when the connection goes: whoever
 * owns it knows.
 */
export function readBody(
  incoming: IncomingMessage,
  limit: number,
  announced: number | undefined,
  memory: HeldMemory,
  reader: BodyReader,
): void {
  const pieces = new Pieces(memory, announced ?? limit)
  let received = 0
  let kept = true
  incoming.on('data', (chunk: Buffer) => {
    if (!kept) return
    received += chunk.length
    reader.chunk(chunk.length, received)
    if (received <= limit && pieces.add(chunk)) return
    kept = false
    pieces.drop()
    if (received > limit) reader.tooLong(received)
    else reader.noRoom()
  })
  incoming.on('end', () => {
    if (!kept) return
    kept = false
    reader.complete(pieces.text(), received)
  })
}

const firstSize_bytes = 8192

/** The pieces of a body. Copied together when there are several: a piece of one byte costs a hundred by itself. */
class Pieces {
  readonly #memory: HeldMemory
  readonly #most: number
  #only: Buffer | undefined
  #joined: Buffer | undefined
  #length = 0

  /** At most this many bytes will come. */
  constructor(memory: HeldMemory, most: number) {
    this.#memory = memory
    this.#most = most
  }

  /** Says no when there is no memory for it. */
  add(piece: Buffer): boolean {
    const length = this.#length + piece.length
    if (this.#length === 0) {
      if (!this.#memory.take(length)) return false
      this.#only = piece
    } else {
      const joined = this.#withRoom(length)
      if (joined === undefined) return false
      piece.copy(joined, this.#length)
    }
    this.#length = length
    return true
  }

  text(): string {
    const text = this.#joined?.toString('utf8', 0, this.#length) ?? this.#only?.toString() ?? ''
    this.drop()
    return text
  }

  drop(): void {
    this.#only = undefined
    this.#joined = undefined
  }

  #withRoom(length: number): Buffer | undefined {
    const held = this.#joined
    if (held !== undefined && held.length >= length) return held
    const size = Math.max(length, Math.min(this.#most, Math.max(firstSize_bytes, 2 * length)))
    // What is copied together is let go of: its memory goes over to the copy.
    if (!this.#memory.take(size - (held?.length ?? this.#length))) return undefined
    const joined = Buffer.allocUnsafeSlow(size)
    ;(held ?? this.#only)?.copy(joined, 0, 0, this.#length)
    this.#only = undefined
    this.#joined = joined
    return joined
  }
}
