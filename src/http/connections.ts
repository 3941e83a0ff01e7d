import type { Socket } from 'node:net'

/** A request in progress, as its connection sees it. */
export interface InProgress {
  /** Whether its body is still arriving. */
  readonly reading: boolean
  /** The connection has gone: nobody waits for the answer. */
  lost(): void
  /** What arrives of its body is no HTTP. */
  malformed(status: number): void
}

/** How long a client may take to read a refusal after which its connection is closed. */
const linger_ms = 5_000

/** One connection and its requests in progress. */
export class Connection {
  readonly socket: Socket
  readonly #calls = new Set<InProgress>()
  /** The request that came last, while it is in progress: its answer is the last one on the wire. */
  #latest: InProgress | undefined
  #refused = false
  /** The status of the last words, while answers before them are still to come. */
  #farewell: number | undefined

  constructor(socket: Socket) {
    this.socket = socket
  }

  get busy(): boolean {
    return this.#calls.size > 0
  }

  get inProgress(): number {
    return this.#calls.size
  }

  isLatest(call: InProgress): boolean {
    return this.#latest === call
  }

  enter(call: InProgress): void {
    this.#calls.add(call)
    this.#latest = call
  }

  /** The call's answer has been handed over. */
  leave(call: InProgress): void {
    this.#calls.delete(call)
    if (this.#latest === call) this.#latest = undefined
    if (this.#farewell !== undefined && !this.busy) this.#writeFarewell(this.#farewell)
  }

  /** The parser refused what came: the answers before it go out first, then the connection is closed; once only [management 11.5]. */
  refuse(status: number): boolean {
    if (this.#refused) return false
    this.#refused = true
    if (this.#latest?.reading === true) this.#latest.malformed(status)
    else if (this.busy) this.#farewell = status
    else this.#writeFarewell(status)
    return true
  }

  /** Everything is answered and nothing more is wanted; what was written still goes out. */
  finish(): void {
    if (!this.#refused) this.socket.destroySoon()
  }

  /** Closed by either side. */
  closed(): void {
    for (const call of this.#calls) call.lost()
    this.#calls.clear()
  }

  #writeFarewell(status: number): void {
    const { socket } = this
    if (!socket.writable) return void socket.destroy()
    socket.end(`HTTP/1.1 ${status} ${phrases[status] ?? ''}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
    const timer = setTimeout(() => socket.destroy(), linger_ms)
    socket.once('close', () => clearTimeout(timer))
  }
}

const phrases: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}
