import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

/** A request in progress, as its connection sees it. */
export interface InProgress {
  /** Whether its body is still arriving. */
  readonly reading: boolean
  /** Whether its body, which has come, is read in slices. */
  readonly isLong: boolean
  /** Whether it waits for its turn to work, may still want one, or does not any more: it has its response without one. */
  readonly turn: 'wanted' | 'undecided' | 'unwanted'
  /** The connection has gone: nobody waits for the response. */
  lost(): void
  /** What arrives of its body is no HTTP, or will never come. Whether the connection says so after its responses. */
  malformed(): boolean
  /** The client has closed its sending half. */
  inputEnded(): void
  /** It is its turn to work. */
  proceed(): void
  /** The client has closed its sending half: it is told that a response will come, if that can be said. */
  processing(): void
}

/** The responses that are no more than a status [management 11.5, 11.8]. */
type BareStatus = 400 | 408 | 431

/** How long a client may take to read a refusal after which its connection is closed. */
const linger_ms = 5_000

/** Unsent bytes of responses above which no further request of the connection begins to work. */
const unsentMax_bytes = 1024 * 1024

/** One connection and its requests in progress. */
export class ClientConnection {
  readonly socket: Socket
  /** In which order connections were used last: the one with the lowest has been idle longest. */
  usedAt: number
  readonly #maxAtWork: number
  readonly #use: () => number
  /** In the order in which they came, which is that of the responses. */
  readonly #requests = new Set<InProgress>()
  /**
   * Those that have not got their turn, in the order in which they came. One whose body is complete a moment later than
   * the heads behind it stays before them: else a later request would overtake an update, and requests whose responses have to
   * leave after its own could take all the turns that there are.
   */
  readonly #queue: InProgress[] = []
  /** One with a long body that is worked on: what follows it waits, since it is read in slices. */
  #long: InProgress | undefined
  #atWork = 0
  #paused = false
  /** The request that came last, while it is in progress: its response is the last one on the wire. */
  #latest: InProgress | undefined
  #closing = false
  #refused = false
  /** What ends the connection when all responses have gone out. */
  #atEnd: (() => void) | undefined

  /** `use` counts the uses of all connections. */
  constructor(socket: Socket, maxAtWork: number, use: () => number) {
    this.socket = socket
    this.#maxAtWork = maxAtWork
    this.#use = use
    this.usedAt = use()
    // Node resumes a socket after each message, whoever has paused it.
    socket.on('resume', () => {
      if (this.#paused) socket.pause()
    })
    socket.on('drain', () => this.#startNext())
    socket.on('end', () => this.#latest?.inputEnded())
  }

  get busy(): boolean {
    return this.#requests.size > 0
  }

  get inProgress(): number {
    return this.#requests.size
  }

  /** Whether it takes no further request: a response says that the connection will be closed. */
  get closing(): boolean {
    return this.#closing
  }

  /** Whether nothing more is read for a while. */
  get paused(): boolean {
    return this.#paused
  }

  /** More requests have come than may be in progress: those that one read of the socket holds. */
  get crowded(): boolean {
    return this.#requests.size > this.#maxAtWork
  }

  /** The request whose body is arriving. */
  get reading(): InProgress | undefined {
    return this.#latest?.reading === true ? this.#latest : undefined
  }

  /** Whether all that is in progress is a request that has not come completely. */
  get onlyReads(): boolean {
    return this.#requests.size === 1 && this.reading !== undefined
  }

  isLatest(call: InProgress): boolean {
    return this.#latest === call
  }

  enter(call: InProgress): void {
    this.#requests.add(call)
    this.#queue.push(call)
    this.#latest = call
    if (this.#requests.size >= this.#maxAtWork) this.pause()
  }

  /** Whether a request that wants its turn may work now; if not, it is told when. */
  takesTurn(call: InProgress): boolean {
    if (this.#queue.length === 1 && this.#queue[0] === call && this.#hasRoom) {
      this.#queue.pop()
      this.#begin(call)
      return true
    }
    this.#startNext()
    return false
  }

  #begin(call: InProgress): void {
    this.#atWork += 1
    if (call.isLong) this.#long = call
  }

  /** The response of a request has been handed over; `worked` if the request had got its turn. */
  leave(call: InProgress, worked: boolean): void {
    this.#requests.delete(call)
    if (worked) this.#atWork -= 1
    if (this.#long === call) this.#long = undefined
    this.usedAt = this.#use()
    if (this.#latest === call) this.#latest = undefined
    if (this.#paused || this.#queue.length > 0) this.#startNext()
    if (!this.busy) this.#finishRefusal()
  }

  /** A response says that it is the last one: what comes after its request is not looked at. */
  close(): void {
    this.#closing = true
  }

  /** Reads nothing more for a while, or of the requests after the last one. */
  pause(): void {
    if (this.#paused) return
    this.#paused = true
    this.socket.pause()
  }

  /** Reads on, for the rest of a body that is thrown away. */
  readOn(): void {
    if (!this.#paused) return
    this.#paused = false
    this.socket.resume()
  }

  /**
   * What came is no request, or a body that will never be complete. The responses before it go out first, then `atEnd`
   * writes what is left to say and closes the connection; once only [management 11.5].
   */
  refuse(atEnd: () => void): boolean {
    if (this.#refused) return false
    const says = this.#latest?.malformed() ?? true
    this.#refused = true
    this.#closing = true
    // Node would close the connection when the client ends its sending half, before the responses have gone out.
    this.socket.removeAllListeners('end').on('end', () => this.#latest?.inputEnded())
    this.#atEnd = says ? atEnd : () => this.end()
    if (!this.busy) this.#finishRefusal()
    return true
  }

  /** Refuses with nothing but a status, or with nothing at all. */
  refuseWith(status: BareStatus | undefined): boolean {
    return this.refuse(() => this.endWith(status))
  }

  /** Ends with nothing but a status, or with nothing at all. */
  endWith(status: BareStatus | undefined): void {
    if (status === undefined) this.end()
    else this.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  }

  /** Writes the last bytes of the connection, if any, and closes it when the client has read them. */
  end(bytes?: string | Buffer): void {
    const { socket } = this
    this.#closing = true
    if (bytes === undefined || socket.readableEnded || !socket.writable) {
      if (bytes !== undefined && socket.writable) socket.write(bytes)
      socket.destroySoon()
      return
    }
    socket.end(bytes)
    // What is left unread when a socket is closed resets the connection and can take the last response with it.
    socket.once('end', () => socket.destroySoon())
    this.readOn()
    socket.resume()
    const timer = setTimeout(() => socket.destroy(), linger_ms)
    socket.once('close', () => clearTimeout(timer))
  }

  /** All responses have been written and no further request is taken; what was written still goes out. */
  finish(): void {
    if (!this.#refused) this.socket.destroySoon()
  }

  /** Tells the client, if it has closed its sending half, that the first of its requests is still worked on. */
  processing(): void {
    const [first] = this.#requests
    if (this.socket.readableEnded) first?.processing()
  }

  /** Closed by either side. */
  closed(): void {
    this.#atEnd = undefined
    this.#queue.length = 0
    for (const call of [...this.#requests]) call.lost()
    this.#requests.clear()
  }

  /** They may be a request of their own, which leaves in its turn. */
  #finishRefusal(): void {
    const atEnd = this.#atEnd
    this.#atEnd = undefined
    atEnd?.()
  }

  get #hasRoom(): boolean {
    return this.#long === undefined && this.#atWork < this.#maxAtWork && this.socket.writableLength <= unsentMax_bytes
  }

  #startNext(): void {
    for (let next = this.#queue[0]; next !== undefined && this.#hasRoom; next = this.#queue[0]) {
      if (next.turn === 'undecided') break
      this.#queue.shift()
      if (next.turn === 'unwanted') continue
      this.#begin(next)
      next.proceed()
    }
    if (!this.#paused || this.#closing || this.#requests.size >= this.#maxAtWork || !this.#hasRoom) return
    this.readOn()
  }
}
