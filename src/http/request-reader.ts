import type { IncomingMessage } from 'node:http'
import { BodyBuffer } from '../body-buffer.js'
import type { PathRange } from '../model/context/query.js'
import type { Payload } from '../observe/measure/requests.js'
import type { HeldMemory } from '../threads/shared-memory/request-memory.js'
import type { Nanoseconds } from '../time.js'
import { type Admitted, checkRequest, checkTarget, notUtf8, tooLarge } from './checks.js'
import { isText, mediaTypeOf } from './headers.js'
import type { RequestParts, RequestSteps } from './request-context.js'
import { step } from './request-life.js'
import { kinds } from './target.js'

/** After each number of pieces of a body it is looked whether they are small, so that one read of the socket may bring thousands. */
const lookedAt = 64
const small_bytes = 64

/** Checks the head of a request and reads its body, in the order of the checks [management 11.4]. */
export class RequestReader implements BodyReader {
  readonly #parts: RequestParts
  readonly #steps: RequestSteps
  readonly #memory: HeldMemory
  #paths: readonly PathRange[] = []
  /** Set when the length of the body was announced: the checks are done before it is read. */
  #admitted: Admitted | undefined
  #asksForBody = false
  #hasBody = false
  #body = ''
  #body_bytes = 0
  #pieces = 0
  #received: Nanoseconds
  /** Set while the body arrives. */
  #dropBody: (() => void) | undefined

  constructor(parts: RequestParts, memory: HeldMemory, steps: RequestSteps) {
    this.#parts = parts
    this.#memory = memory
    this.#steps = steps
    this.#received = parts.begun
  }

  get paths(): readonly PathRange[] {
    return this.#paths
  }

  /** Empty until all of it has come. */
  get body(): string {
    return this.#body
  }

  /** The bytes of the body that have come. */
  get body_bytes(): number {
    return this.#body_bytes
  }

  /** When all of it had come; when it began, if nobody measures. */
  get received(): Nanoseconds {
    return this.#received
  }

  /** The length of the body, as announced or as it came. */
  get payload_bytes(): number {
    return this.#parts.head.announced_bytes ?? this.#body_bytes
  }

  get payload(): Payload {
    const { headers, target } = this.#parts.head
    if (this.payload_bytes === 0 || kinds[target.kind].isManagement) return 'none'
    return isText(mediaTypeOf(headers['content-type']) ?? '') ? 'text' : 'json'
  }

  /** Whether the client has been told, or need not be told, to send the body. */
  get bodyArrives(): boolean {
    return this.#asksForBody || !this.#parts.head.expectsContinue
  }

  /** Whether the rest of the body is not worth reading, or may never come because the client waits for a 100. */
  get leavesBody(): boolean {
    const { head, context } = this.#parts
    if (this.#hasBody || head.announced_bytes === 0) return false
    if (head.announced_bytes === undefined || head.announced_bytes > context.rules.maxBody_bytes) return true
    return this.#asksForBody || head.expectsContinue
  }

  /** Checks the head, then reads the body if one is to come. */
  begin(): void {
    const { context, head, log, begun } = this.#parts
    context.proxies?.look(head)
    const response = context.access?.refusal(head, log, begun)
    if (response !== undefined) {
      this.#steps.turnDown({ response: response, counted: false })
      return
    }
    const paths = checkTarget(context.rules, head)
    if (paths.ok) {
      this.#paths = paths.value
      if (head.announced_bytes === undefined) this.#readChunks()
      else this.#check(head.announced_bytes)
    } else this.#steps.turnDown({ response: paths.error, counted: false })
  }

  /** Only reading tells whether a chunked request has a body at all. */
  #readChunks(): void {
    const { context, head, writer } = this.#parts
    // Nothing is read of a request whose verb the parser does not know: it is turned down in any case.
    const early = head.expectsContinue || writer.isLast ? checkRequest(context.rules, head, 1) : undefined
    if (early?.ok === false) this.#steps.turnDown(early.error)
    else this.#read()
  }

  #check(body_bytes: number): void {
    const checked = checkRequest(this.#parts.context.rules, this.#parts.head, body_bytes)
    if (!checked.ok) this.#steps.turnDown(checked.error)
    else if (body_bytes === 0 || this.#hasBody) this.#steps.admit(checked.value)
    else if (!this.#steps.isOverload(checked.value)) {
      this.#admitted = checked.value
      this.#read()
    }
  }

  #read(): void {
    const { life, head, writer, context, incoming } = this.#parts
    if (!life.take(step.readBody)) return
    this.#asksForBody = true
    if (head.expectsContinue) writer.continue()
    this.#dropBody = readBody(incoming, context.rules.maxBody_bytes, head.announced_bytes, this.#memory, this)
  }

  /** The request has ended: nothing more is kept of what comes, and no memory is taken for it. */
  end(): void {
    this.#dropBody?.()
  }

  chunk(bytes: number, received: number): void {
    this.#body_bytes = received
    const { log, connection } = this.#parts
    this.#pieces += 1
    if (this.#pieces % lookedAt === 0 && received < this.#pieces * small_bytes) connection.bringsPieces()
    if (log.isTraced('http.body')) log.trace('http.body', `${bytes} bytes, ${received} so far`)
  }

  complete(body: string | undefined, bytes: number): void {
    if (this.#parts.life.take(step.bodyRead)) this.#steps.guarded(() => this.#bodyRead(body, bytes))
  }

  #bodyRead(body: string | undefined, bytes: number): void {
    const { context, head, stages, log } = this.#parts
    this.#hasBody = true
    this.#body = body ?? ''
    this.#body_bytes = bytes
    if (context.meter.timingOn) this.#received = process.hrtime.bigint()
    stages?.over('read')
    log.body(this.#body, bytes)
    if (body === undefined && !kinds[head.target.kind].isManagement) {
      const checked = checkRequest(context.rules, head, bytes)
      this.#steps.turnDown(checked.ok ? { response: notUtf8(head), counted: false } : checked.error)
      return
    }
    if (this.#admitted === undefined) this.#check(bytes)
    else this.#steps.admit(this.#admitted)
  }

  tooLong(received: number): void {
    this.#steps.guarded(() => {
      const { life, context, head } = this.#parts
      if (!life.isOpen) return
      const checked = checkRequest(context.rules, head, received)
      const refusal = { response: tooLarge(context.rules, head, received), counted: false }
      this.#steps.turnDown(checked.ok ? refusal : checked.error)
    })
  }

  noRoom(): void {
    this.#steps.guarded(() => this.#steps.noRoom())
  }
}

/** Callbacks for a body that arrives. */
interface BodyReader {
  chunk(bytes: number, received: number): void
  /** All of it has come; undefined when it is not UTF-8. */
  complete(body: string | undefined, bytes: number): void
  /** More than the limit has come; nothing more is kept. */
  tooLong(received: number): void
  /** There is no memory for what has come; nothing more is kept. */
  noRoom(): void
}

/**
 * Reads a body up to the limit; its head may have said how long it is. Nothing is told when the connection goes: whoever
 * owns it knows. Gives a function that lets go of what has come, after which nothing more is kept or told.
 */
export function readBody(
  incoming: IncomingMessage,
  limit: number,
  announced: number | undefined,
  memory: HeldMemory,
  reader: BodyReader,
): () => void {
  const buffer = new BodyBuffer(announced ?? limit)
  let received = 0
  let kept = true
  const drop = () => {
    kept = false
    buffer.drop()
  }
  incoming.on('data', (chunk: Buffer) => {
    if (!kept) return
    received += chunk.length
    reader.chunk(chunk.length, received)
    if (received <= limit && memory.take(buffer.growth_bytes(chunk.length))) {
      buffer.add(chunk)
      return
    }
    drop()
    if (received > limit) reader.tooLong(received)
    else reader.noRoom()
  })
  incoming.on('end', () => {
    if (!kept) return
    const body = buffer.strictText
    drop()
    reader.complete(body, received)
  })
  return drop
}
