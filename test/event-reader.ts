/** An event of a stream, or a comment, which has no name. */
export interface ReadEvent {
  readonly name: string
  readonly data: string
}

/** A client of a stream of events. */
export class EventReader {
  readonly status: number
  readonly headers: Headers
  readonly #abort: AbortController
  readonly #pieces: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder()
  #text = ''
  #isOver = false

  private constructor(response: Response, abort: AbortController) {
    this.status = response.status
    this.headers = response.headers
    this.#abort = abort
    if (response.body === null) throw new Error('a stream has a body')
    this.#pieces = response.body.getReader()
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
    const abort = new AbortController()
    const response = await fetch(url, {
      signal: abort.signal,
      headers: { Accept: 'text/event-stream', Connection: 'close', ...headers },
    })
    return new EventReader(response, abort)
  }

  /** The next event or comment; nothing when the stream has ended. */
  async next(): Promise<ReadEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n')
      if (end >= 0) {
        const event = this.#text.slice(0, end)
        this.#text = this.#text.slice(end + 2)
        return parsed(event)
      }
      const piece = this.#isOver ? undefined : await this.#pieces.read()
      if (piece === undefined || piece.done) {
        this.#isOver = true
        return undefined
      }
      this.#text += this.#decoder.decode(piece.value, { stream: true })
    }
  }

  /** What comes until the stream ends. */
  async *all(): AsyncGenerator<ReadEvent, void> {
    for (let event = await this.next(); event !== undefined; event = await this.next()) yield event
  }

  /** The data of the next event of this name, as JSON; what comes before it is passed over. */
  async json(name: string): Promise<unknown> {
    for await (const event of this.all()) if (event.name === name) return JSON.parse(event.data)
    throw new Error(`the stream has ended without ${name}`)
  }

  /** All of the response, where it is no stream. */
  async rest(): Promise<string> {
    for (let piece = await this.#pieces.read(); !piece.done; piece = await this.#pieces.read()) {
      this.#text += this.#decoder.decode(piece.value, { stream: true })
    }
    return this.#text
  }

  close(): void {
    this.#abort.abort()
  }
}

function parsed(text: string): ReadEvent {
  const fields = text.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)])
  const all = (name: string) => fields.filter(([field]) => field === name).map(([, value = '']) => value)
  return { name: all('event').join(''), data: all('data').join('\n') }
}
