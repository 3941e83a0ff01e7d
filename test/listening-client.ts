import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { RunningBroker } from './running.js'
import { until } from './until.js'

/** An event as a client reads it: its fields by name, the lines of its data together. */
export interface ReadEvent {
  readonly id: string | undefined
  readonly event: string
  readonly data: string
  readonly fields: ReadonlyMap<string, string>
}

interface ListeningTo {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A client of an event stream on a socket of its own, which reads as fast or as slowly as it is told. */
export class ListeningClient {
  readonly events: ReadEvent[] = []
  readonly socket: Socket
  status = 0
  head = ''
  comments = 0
  retry: string | undefined
  isOver = false
  #raw = Buffer.alloc(0)
  #text = ''

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (bytes) => this.#read(bytes))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.isOver = true
    })
  }

  /** Opens a stream, and waits for the head of the response. */
  static async open(t: Test, broker: RunningBroker, { path, headers = {} }: ListeningTo): Promise<ListeningClient> {
    const client = new ListeningClient(connect(broker.port, '127.0.0.1'))
    t.teardown(() => client.socket.destroy())
    await once(client.socket, 'connect')
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    client.socket.write(`GET ${path} HTTP/1.1\r\nHost: rigel\r\nAccept: text/event-stream\r\n${lines.join('')}\r\n`)
    await client.until(() => client.status > 0 || client.isOver)
    return client
  }

  /** The id of the last event with one. */
  get lastId(): string | undefined {
    return this.events.findLast(({ id }) => id !== undefined)?.id
  }

  /** The notifications, without the event that says why the stream ended. */
  get notifications(): readonly ReadEvent[] {
    return this.events.filter(({ event }) => event === 'message')
  }

  /** Why the stream ended. */
  get end(): string | undefined {
    const last = this.events.find(({ event }) => event === 'end')
    return last && JSON.parse(last.data).reason
  }

  async until(holds: () => boolean): Promise<void> {
    await until(holds, () => `${holds}, with ${this.events.length} events: ${this.head} ${this.#text.slice(-500)}`)
  }

  close(): void {
    this.socket.destroy()
  }

  /** From now on it takes one byte, and the next one when the event loop has gone round. */
  readSlowly(): void {
    this.socket.removeAllListeners('data')
    this.socket.pause()
    const take = (): void => {
      const byte: Buffer | null = this.socket.read(1)
      if (byte !== null) this.#read(byte)
      if (!this.isOver) setImmediate(take)
    }
    take()
  }

  #read(bytes: Buffer): void {
    this.#raw = Buffer.concat([this.#raw, bytes])
    while (this.status < 200) {
      const end = this.#raw.indexOf('\r\n\r\n')
      if (end < 0) return
      this.head = this.#raw.subarray(0, end).toString()
      this.#raw = this.#raw.subarray(end + 4)
      this.status = Number(/^HTTP\/1\.1 (\d+)/.exec(this.head)?.[1])
    }
    if (this.status !== 200) {
      this.#text = this.#raw.toString()
      return
    }
    this.#dechunk()
    this.#parse()
  }

  /** The body of an error. */
  get body(): string {
    return this.#text
  }

  #dechunk(): void {
    for (;;) {
      const line = this.#raw.indexOf('\r\n')
      if (line < 0) return
      const length = Number.parseInt(this.#raw.subarray(0, line).toString(), 16)
      if (this.#raw.length < line + 2 + length + 2) return
      this.#text += this.#raw.subarray(line + 2, line + 2 + length).toString()
      this.#raw = this.#raw.subarray(line + 2 + length + 2)
      if (length === 0) {
        this.isOver = true
        return
      }
    }
  }

  #parse(): void {
    for (let end = this.#text.indexOf('\n\n'); end >= 0; end = this.#text.indexOf('\n\n')) {
      this.#take(this.#text.slice(0, end).split('\n'))
      this.#text = this.#text.slice(end + 2)
    }
  }

  #take(lines: readonly string[]): void {
    const fields = new Map<string, string>()
    const data: string[] = []
    for (const line of lines) {
      const colon = line.indexOf(':')
      const name = line.slice(0, colon)
      const value = line.slice(colon + 1).replace(/^ /, '')
      if (colon === 0) this.comments += 1
      else if (name === 'data') data.push(value)
      else fields.set(name, value)
    }
    this.retry = fields.get('retry') ?? this.retry
    if (data.length === 0) return
    this.events.push({ id: fields.get('id'), event: fields.get('event') ?? 'message', data: data.join('\n'), fields })
  }
}
