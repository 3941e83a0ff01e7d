const lineEnd = '\r\n'
const headEnd = '\r\n\r\n'

/** One HTTP response, its body still as the bytes that came: most responses of a load are counted and never looked at. */
export class ReceivedResponse {
  readonly status: number
  /** Whether the server closes the connection after this response. */
  readonly closes: boolean
  readonly #body: string

  constructor(status: number, closes: boolean, body: string) {
    this.status = status
    this.closes = closes
    this.#body = body
  }

  /** The body, decoded as UTF-8. */
  get text(): string {
    return Buffer.from(this.#body, 'latin1').toString('utf8')
  }
}

/**
 * Puts HTTP/1.1 responses together from the pieces that a socket delivers. Pieces are Latin-1 text, one character for
 * each byte, so that a length in bytes is a length in characters. It knows what a benchmark meets: responses with a length
 * or in chunks, one at a time. Anything else is a fault, not a guess.
 */
export class ResponseReader {
  #held = ''

  /** The response that this piece completes, or nothing yet. */
  take(piece: string): ReceivedResponse | undefined {
    this.#held = this.#held === '' ? piece : this.#held + piece
    const end = this.#held.indexOf(headEnd)
    if (end === -1) return undefined
    const head = this.#held.slice(0, end + lineEnd.length)
    const bodyStart = end + headEnd.length
    const body = chunked.test(head) ? this.#chunks(bodyStart) : this.#body(bodyStart, lengthOf(head))
    if (body === undefined) return undefined
    if (body.end !== this.#held.length) throw new Error('the server sent more than one response to a request')
    this.#held = ''
    return new ReceivedResponse(statusOf(head), closing.test(head), body.text)
  }

  #body(start: number, length: number): Body | undefined {
    const end = start + length
    return this.#held.length < end ? undefined : { text: this.#held.slice(start, end), end }
  }

  #chunks(start: number): Body | undefined {
    let text = ''
    for (let at = start; ; ) {
      const sizeEnd = this.#held.indexOf(lineEnd, at)
      if (sizeEnd === -1) return undefined
      const size = Number.parseInt(this.#held.slice(at, sizeEnd), 16)
      if (Number.isNaN(size)) throw new Error('the server sent a chunk without a size')
      const chunkStart = sizeEnd + lineEnd.length
      const chunkEnd = chunkStart + size
      if (this.#held.length < chunkEnd + lineEnd.length) return undefined
      if (size === 0) return { text, end: chunkEnd + lineEnd.length }
      text += this.#held.slice(chunkStart, chunkEnd)
      at = chunkEnd + lineEnd.length
    }
  }
}

interface Body {
  readonly text: string
  /** Where the response ends in what is held. */
  readonly end: number
}

const chunked = /\r\ntransfer-encoding: *chunked\r\n/i
const closing = /\r\nconnection: *close\r\n/i
const lengthHeader = /\r\ncontent-length: *(\d+)\r\n/i
const statusLine = /^HTTP\/1\.[01] (\d{3})/

function lengthOf(head: string): number {
  const length = lengthHeader.exec(head)?.[1]
  if (length !== undefined) return Number(length)
  const status = statusOf(head)
  if (status === 204 || status === 304) return 0
  throw new Error('the server sent an response without a length')
}

function statusOf(head: string): number {
  const status = statusLine.exec(head)?.[1]
  if (status === undefined) throw new Error(`the server sent no HTTP response: ${head.slice(0, 40)}`)
  return Number(status)
}
