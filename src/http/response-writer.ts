import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { BodyStream } from '../broker/operations/api.js'
import { small_bytes } from './connection-limits.js'
import type { ClientConnection } from './connections.js'

export interface RenderedResponse {
  readonly status: number
  /** Names and values in turn. */
  readonly headers: string[]
  readonly body: string
  readonly stream?: BodyStream | undefined
}

/** The only way to write for one request. The caller has taken the step of the request's life that goes with it. */
export interface ResponseWriter {
  /** Whether nothing else can come after it on its connection. */
  readonly isLast: boolean
  /** Tells a client that waits for it to send the body. */
  continue(): void
  /** Says to a client that has closed its sending half that its request is worked on; an error comes back if it has gone. */
  processing(): void
  /**
   * Writes a response in one piece; `handed` is called when it is with the socket, and `sent` when the kernel has all of it, or its
   * connection has gone.
   */
  write(response: RenderedResponse, handed: () => void, sent?: () => void): void
  /** Writes a response and leaves it open, so that the client can send the rest of its body and then read. */
  begin(response: RenderedResponse): void
  /** Ends a response that was begun. */
  finish(handed: () => void): void
  /**
   * Writes a response whose body is made meanwhile, at the pace at which the client takes it. Resolves when all of it is with
   * the socket; rejects with the fault of the stream, and when `gone` is aborted.
   */
  stream(response: RenderedResponse, pieces: AsyncIterable<Uint8Array>, gone: AbortSignal): Promise<void>
  /** Gives up a response that can not be written, and its connection. */
  destroy(): void
}

/** Through Node's response, which keeps the order of responses on a connection. */
export class NodeResponseWriter implements ResponseWriter {
  readonly isLast = false
  readonly #incoming: IncomingMessage
  readonly #outgoing: ServerResponse

  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    this.#incoming = incoming
    this.#outgoing = outgoing
  }

  continue(): void {
    this.#outgoing.writeContinue()
  }

  processing(): void {
    if (this.#outgoing.socket !== null && !this.#outgoing.headersSent) this.#outgoing.writeProcessing()
  }

  write({ status, headers, body }: RenderedResponse, handed: () => void, sent?: () => void): void {
    if (sent !== undefined) this.#outgoing.once('close', sent)
    this.#outgoing.writeHead(status, headers)
    this.#end(encoded(headers, body), handed)
  }

  begin({ status, headers, body }: RenderedResponse): void {
    this.#outgoing.writeHead(status, headers)
    if (body === '') this.#outgoing.flushHeaders()
    else this.#outgoing.write(encoded(headers, body))
    this.#incoming.resume()
  }

  finish(handed: () => void): void {
    this.#end(undefined, handed)
  }

  async stream(
    { status, headers }: RenderedResponse,
    pieces: AsyncIterable<Uint8Array>,
    gone: AbortSignal,
  ): Promise<void> {
    const outgoing = this.#outgoing
    outgoing.writeHead(status, headers)
    // The client sees at once that it is served, however long the first piece takes.
    outgoing.flushHeaders()
    for await (const piece of pieces) {
      gone.throwIfAborted()
      if (!outgoing.write(piece)) await once(outgoing, 'drain', { signal: gone })
    }
    outgoing.end()
  }

  destroy(): void {
    this.#outgoing.destroy()
    this.#incoming.socket.destroy()
  }

  /** A response behind others on its connection is handed to the socket when those have gone out. */
  #end(body: string | Buffer | undefined, handed: () => void): void {
    const isNext = this.#outgoing.socket !== null
    if (!isNext) this.#outgoing.once('finish', handed)
    this.#outgoing.end(body)
    if (isNext) handed()
  }
}

/** The last response on a connection that Node's parser has given up: straight to the socket. */
export class LastResponseWriter implements ResponseWriter {
  readonly isLast = true
  readonly #connection: ClientConnection

  constructor(connection: ClientConnection) {
    this.#connection = connection
  }

  continue(): void {}

  processing(): void {}

  write({ status, headers, body }: RenderedResponse, handed: () => void, sent?: () => void): void {
    const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`]
    for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`)
    lines.push(`Date: ${new Date().toUTCString()}`, '', '')
    this.#connection.end(Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), Buffer.from(body)]))
    handed()
    sent?.()
  }

  /** The rest of the connection is thrown away whatever it is. */
  begin(response: RenderedResponse): void {
    this.write(response, () => {})
  }

  finish(handed: () => void): void {
    handed()
  }

  /** Nothing but refusals is written here, and they have no stream. */
  async stream(): Promise<void> {
    this.destroy()
  }

  destroy(): void {
    this.#connection.socket.destroy()
  }
}

/**
 * Node puts head and body together as one text in UTF-8, which would change a correlator beyond ASCII: with the body as
 * bytes the head stays as it came. For a large body that takes several times as long, and three times its memory.
 */
function encoded([, correlator = '']: readonly string[], body: string): string | Buffer {
  return body.length > small_bytes || /[\x80-\xff]/.test(correlator) ? Buffer.from(body) : body
}

/** A response that is written at the end of a turn. It catches its own faults: one thrown here would end the process. */
export interface PendingResponse {
  writeOut(): void
}

/**
 * Writes responses to their sockets together, at the end of the turn of the event loop in which they were ready. Each write
 * to an idle reader wakes it up, which costs more than the write itself; written together they wake it once.
 */
export class ResponseBatch {
  #pending: PendingResponse[] = []

  /** The response is written when the event loop has taken in all that had arrived. */
  add(response: PendingResponse): void {
    this.#pending.push(response)
    if (this.#pending.length === 1) setImmediate(() => this.flush())
  }

  /** All that is ready is written now. */
  flush(): void {
    const ready = this.#pending
    this.#pending = []
    for (const response of ready) response.writeOut()
  }
}

/** Their heads take about a millisecond. */
const requestsBetween = 32

/**
 * In overload one turn of the event loop reads hundreds of requests, most of which are refused. Replies of partitions, and
 * with them permits, would come back once a turn. Here they are taken in between the requests, so that accepted work goes on.
 */
export class ReplyInterleaving {
  readonly #responses: ResponseBatch
  readonly #takeReplies: () => void
  #came = 0

  constructor(responses: ResponseBatch, takeReplies: () => void) {
    this.#responses = responses
    this.#takeReplies = takeReplies
  }

  /** A request has come while others wait for a permit. */
  requestCame(): void {
    this.#came += 1
    if (this.#came < requestsBetween) return
    this.#came = 0
    this.#responses.flush()
    this.#takeReplies()
  }
}
