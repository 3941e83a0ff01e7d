import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { RequestMemory } from '../threads/shared-memory/request-memory.js'
import { HeldRequests, type InputTurns, type WaitingInput } from './held-requests.js'

/** A request in progress, as its connection sees it. */
export interface InProgress {
  /** Whether its body is still arriving. */
  readonly reading: boolean
  /** Whether its body, which has come, is read in slices. */
  readonly isLong: boolean
  /** Whether its work may change something. Known when it wants its turn. */
  readonly isChange: boolean
  /** Whether it waits for its turn to work, may still want one, or does not any more: it has its response without one. */
  readonly turn: 'wanted' | 'undecided' | 'unwanted'
  /** The connection has gone: nobody waits for the response. */
  lost(): void
  /**
   * The rest of its body is no HTTP, or will never come. `status` is what the connection says then, if anything. Gives whether
   * the connection says so after its responses.
   */
  malformed(status: BareStatus | undefined): boolean
  /** The client has closed its sending half. */
  inputEnded(): void
  /** It is its turn to work. */
  proceed(): void
  /** The client has closed its sending half: it is told that a response will come, if that can be said. */
  processing(): void
}

/** The responses that are no more than a status [management 11.5, 11.8]. */
export type BareStatus = 400 | 408 | 431

/** How long a client may take to read a refusal after which its connection is closed. */
const linger_ms = 5_000

/** Unsent bytes of responses above which no further request of the connection begins to work. */
const unsentMax_bytes = 1024 * 1024

/** Shared by the connections of a listening socket. */
export interface ConnectionShares {
  /** Requests of one connection that work at a time. */
  readonly atWork: number
  readonly turns: InputTurns
  /** Memory of requests that have come and have not begun. */
  readonly memory: RequestMemory
  /** Counts the uses of all connections. */
  use(): number
  /** No connection reads anything more in this turn of the event loop. */
  interruptAll(): void
  /** Requests of the connection could not begin. */
  failed(connection: ClientConnection, fault: unknown): void
}

/** One connection and its requests in progress. */
export class ClientConnection implements WaitingInput {
  readonly socket: Socket
  /** The address of the client; a socket that has closed does not tell it any more. */
  readonly peer: string | undefined
  /** When it was opened, by the listener's clock. */
  readonly opened_s: number
  /** In which order connections were used last: the one with the lowest has been idle longest. */
  usedAt: number
  readonly #shares: ConnectionShares
  /** The requests behind those in progress, at most as many as one read of the socket brings. */
  readonly #held: HeldRequests
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
  /**
   * One that may change something and is worked on: what follows it waits, and it has waited for those before it. So pipelined
   * requests have the effect that they have one after another; those that only read work together [RFC 9112 9.3.2].
   */
  #change: InProgress | undefined
  #atWork = 0
  #paused = false
  /** Whether the last read has brought more requests than may begin at once. */
  #sendsMany = false
  /** The request that came last, while it is in progress: its response is the last one on the wire. */
  #latest: InProgress | undefined
  #closing = false
  #refused = false
  /** Ends the connection when all responses have gone out. */
  #atEnd: (() => void) | undefined

  constructor(socket: Socket, opened_s: number, shares: ConnectionShares) {
    this.socket = socket
    this.opened_s = opened_s
    this.peer = socket.remoteAddress
    this.#shares = shares
    this.#held = new HeldRequests(shares.turns, shares.memory, this)
    this.usedAt = shares.use()
    // Node resumes a socket after each message, whoever has paused it.
    socket.on('resume', () => {
      if (this.#paused) socket.pause()
    })
    socket.on('drain', () => this.#startNext())
    socket.on('end', () => this.#latest?.inputEnded())
  }

  /** Whether requests are in progress, or have come and will begin. */
  get busy(): boolean {
    return this.#requests.size > 0 || !this.#held.isEmpty
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

  /** The request whose body is arriving. */
  get reading(): InProgress | undefined {
    return this.#latest?.reading === true ? this.#latest : undefined
  }

  /** Whether all that is in progress is a request that has not come completely. */
  get onlyReads(): boolean {
    return this.#requests.size === 1 && this.reading !== undefined && this.#held.isEmpty
  }

  /** Whether no request has come after it. */
  isLatest(call: InProgress): boolean {
    return this.#latest === call && this.#held.isEmpty
  }

  /**
   * Whether a request that has come begins now. `isAlone` says that it has not come together with others, which is known
   * when this connection has none in progress.
   */
  begins(isAlone: boolean): boolean {
    return isAlone && this.#requests.size === 0 ? this.#held.cameAlone() : this.#held.came(this.#hasSpace)
  }

  /** Keeps a request until it may begin; false when there is no memory for it. */
  keep(begin: () => void, bytes: number, isOfOperators: boolean): boolean {
    if (!this.#held.keep(begin, bytes, isOfOperators)) return false
    this.#sendsMany = true
    this.pause()
    this.#readIfRoom()
    return true
  }

  /** Does what follows from the end of what has come when all requests before it have begun. */
  inOrder(act: () => void): void {
    if (this.#held.isEmpty) act()
    else this.#held.keep(act, 0, true)
  }

  /**
   * A body comes in pieces that are so small that those of one read take a turn of the event loop. This connection reads on in a turn of
   * its own.
   */
  bringsPieces(): void {
    if (this.#sendsMany) return
    this.#sendsMany = true
    this.pause()
    this.#shares.turns.addReader(this)
    this.#shares.interruptAll()
  }

  /** Reads nothing more in this turn of the event loop. */
  interrupt(): void {
    if (this.#paused) return
    this.pause()
    this.#shares.turns.interrupt(this)
  }

  readAgain(): void {
    // What comes behind the last response is thrown away, and needs no room.
    if (this.#closing) this.readOn()
    else this.#readIfRoom()
  }

  readNext(): void {
    this.#sendsMany = false
    this.#readIfRoom()
  }

  /** Begins some of the requests that are held. */
  takeTurn(): void {
    try {
      this.#held.serve(() => this.#hasSpace)
      this.#readIfRoom()
    } catch (fault) {
      this.#shares.failed(this, fault)
    }
  }

  /** Begins work on a large request when the turn of the event loop has time for it. The work catches its own faults. */
  beginLarge(work: () => void): void {
    this.#shares.turns.begin(work)
  }

  enter(call: InProgress): void {
    this.#requests.add(call)
    this.#queue.push(call)
    this.#latest = call
    if (this.#requests.size >= this.#shares.atWork) this.pause()
  }

  /** Whether a request that wants its turn may work now; if not, it is told when. */
  takesTurn(call: InProgress): boolean {
    if (this.#queue.length === 1 && this.#queue[0] === call && this.#mayBegin(call)) {
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
    if (call.isChange) this.#change = call
  }

  /** The response of a request has been handed over; `worked` if the request had got its turn. */
  leave(call: InProgress, worked: boolean): void {
    this.#requests.delete(call)
    if (worked) this.#atWork -= 1
    if (this.#long === call) this.#long = undefined
    if (this.#change === call) this.#change = undefined
    this.usedAt = this.#shares.use()
    if (this.#latest === call) this.#latest = undefined
    if (this.#paused || this.#queue.length > 0) this.#startNext()
    if (!this.busy) this.#finishRefusal()
  }

  /** A response says that it is the last one: what comes after its request is not looked at. */
  close(): void {
    this.#closing = true
    this.#held.end()
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
  refuse(atEnd: () => void, status?: BareStatus): boolean {
    if (this.#refused) return false
    const responds = this.#latest?.malformed(status) ?? true
    this.#refused = true
    this.close()
    // Node would close the connection when the client ends its sending half, before the responses have gone out.
    this.socket.removeAllListeners('end').on('end', () => this.#latest?.inputEnded())
    this.#atEnd = responds ? atEnd : () => this.end()
    if (!this.busy) this.#finishRefusal()
    return true
  }

  /** Refuses with nothing but a status, or with nothing at all. */
  refuseWith(status: BareStatus | undefined): boolean {
    return this.refuse(() => this.endWith(status), status)
  }

  /** Ends with nothing but a status, or with nothing at all. */
  endWith(status: BareStatus | undefined): void {
    if (status === undefined) this.end()
    else this.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  }

  /** Writes the last bytes of the connection, if any, and closes it when the client has read them. */
  end(bytes?: string | Buffer): void {
    const { socket } = this
    this.close()
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
    this.#held.end()
    this.#queue.length = 0
    for (const call of [...this.#requests]) call.lost()
    this.#requests.clear()
  }

  /** The refused bytes may be a later request of this connection, whose response waits for the earlier ones. */
  #finishRefusal(): void {
    const atEnd = this.#atEnd
    this.#atEnd = undefined
    atEnd?.()
  }

  get #hasRoom(): boolean {
    return (
      this.#long === undefined && this.#atWork < this.#shares.atWork && this.socket.writableLength <= unsentMax_bytes
    )
  }

  #mayBegin(call: InProgress): boolean {
    return this.#hasRoom && this.#change === undefined && (this.#atWork === 0 || !call.isChange)
  }

  #startNext(): void {
    for (let next = this.#queue[0]; next !== undefined && this.#hasRoom; next = this.#queue[0]) {
      const { turn } = next
      if (turn === 'undecided' || (turn === 'wanted' && !this.#mayBegin(next))) break
      this.#queue.shift()
      if (turn === 'unwanted') continue
      this.#begin(next)
      next.proceed()
    }
    this.#readIfRoom()
  }

  #readIfRoom(): void {
    if (!this.#paused || this.#closing || !this.#hasSpace || !this.#hasRoom || this.#held.wantsMore()) return
    if (this.#sendsMany) this.#shares.turns.addReader(this)
    else this.readOn()
  }

  get #hasSpace(): boolean {
    return this.#requests.size < this.#shares.atWork
  }
}
