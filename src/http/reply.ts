import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Departures } from './departures.js'

/** How long the rest of a body that is too long is read, so that the client can read the answer [management 11.7]. */
const drain_ms = 5_000

/** Writes the answer of one request and says when it has been handed to the socket. */
export class Reply {
  readonly #incoming: IncomingMessage
  readonly #outgoing: ServerResponse
  readonly #departures: Departures
  readonly #handed: () => void

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, departures: Departures, handed: () => void) {
    this.#incoming = incoming
    this.#outgoing = outgoing
    this.#departures = departures
    this.#handed = handed
  }

  /** Tells a client that waits for it to send the body. */
  continue(): void {
    this.#outgoing.writeContinue()
  }

  /** An answer in one piece; the headers are names and values in turn. */
  send(status: number, headers: string[], body: string): void {
    this.#departures.leave(() => {
      this.#outgoing.writeHead(status, headers)
      this.#finish(encoded(headers, body))
    })
  }

  /** An answer after which the rest of the body is read for a while, for a client that only then reads. */
  sendAndDrain(status: number, headers: string[], body: string): void {
    this.#outgoing.writeHead(status, headers)
    if (body === '') this.#outgoing.flushHeaders()
    else this.#outgoing.write(encoded(headers, body))
    const finish = () => {
      clearTimeout(timer)
      this.#finish()
    }
    const timer = setTimeout(finish, drain_ms)
    this.#outgoing.once('close', () => clearTimeout(timer))
    this.#incoming.once('end', finish)
    this.#incoming.resume()
  }

  /** The last words to somebody who does not speak HTTP, or the end of an answer that has begun [management 11.5]. */
  break(status: number): void {
    if (!this.#outgoing.headersSent) this.#outgoing.writeHead(status, ['Connection', 'close', 'Content-Length', '0'])
    this.#finish()
  }

  /** Gives up an answer that can not be written, and its connection. */
  destroy(): void {
    this.#outgoing.destroy()
  }

  /** An answer behind others on its connection is handed to the socket when those have gone out. */
  #finish(body?: string | Buffer): void {
    if (this.#outgoing.writableEnded) return
    const isNext = this.#outgoing.socket !== null
    if (!isNext) this.#outgoing.once('finish', this.#handed)
    this.#outgoing.end(body)
    if (isNext) this.#handed()
  }
}

/**
 * Node puts head and body together as one text in UTF-8, which would change a correlator beyond ASCII: with the body as
 * bytes the head stays as it came.
 */
function encoded([, correlator = '']: readonly string[], body: string): string | Buffer {
  return /[\x80-\xff]/.test(correlator) ? Buffer.from(body) : body
}
