import type { LookupFunction } from 'node:net'
import { buildConnector, Client } from 'undici'

export interface ConnectionSettings {
  /** Whether connections are used again. */
  readonly kept: boolean
  /** Idle connections that are kept to one origin. */
  readonly perOrigin: number
  /** Idle connections that are kept in all. */
  readonly total: number
  readonly connectLimit_ms: number
  /** Certificates of unknown authorities are accepted. */
  readonly insecure: boolean
  readonly lookup: LookupFunction
}

/** A request with the names and values of its headers in turn. */
export interface PostRequest {
  readonly path: string
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** The final head of a response. */
export interface ResponseHead {
  readonly status: number
  readonly location: string | undefined
  readonly retryAfter: string | undefined
}

/** What becomes of a request; either the head or the failure is heard of, once. */
export interface Heard {
  head(head: ResponseHead): void
  /** `reusable`: the connection had served before and broke before anything of the response came. */
  failed(fault: unknown, reusable: boolean): void
  /** The start of the response's body, when it has ended or was cut off; for whoever wants to see it. */
  body?: ((text: string) => void) | undefined
}

/** A response's body is thrown away: what is longer or takes longer costs its receiver the connection. */
const bodyLimit = { bytes: 64 * 1024, time_ms: 1000 }
/** How much of a body is kept for those who want to see it. */
const shownBody_bytes = 16 * 1024
const headLimit_bytes = 16 * 1024
const idle_ms = 10_000

/** Connections to receivers, each for one request at a time; idle ones are kept within bounds and closed after a while. */
export class Connections {
  readonly #settings: ConnectionSettings
  readonly #connect: ReturnType<typeof buildConnector>
  readonly #idle = new Map<string, Connection[]>()
  readonly #open = new Set<Connection>()
  #idleCount = 0
  /** Connections whose attempt is over, and the rest of whose response is still to come. */
  #draining = 0
  #closed = false

  constructor(settings: ConnectionSettings) {
    this.#settings = settings
    const { connectLimit_ms, insecure, lookup } = settings
    this.#connect = buildConnector({ timeout: connectLimit_ms, rejectUnauthorized: !insecure, lookup })
  }

  /** A connection for one request: an idle one, or one that is opened with the request. */
  take(origin: string, fresh: boolean): Connection {
    const idle = fresh ? undefined : this.#idle.get(origin)
    const kept = idle?.pop()
    if (kept !== undefined && idle !== undefined) {
      this.#idleCount -= 1
      if (idle.length === 0) this.#idle.delete(origin)
      return kept
    }
    const opened = new Connection(origin, this.#connect, this.#settings.kept, {
      free: (connection) => this.#keep(connection),
      lost: (connection) => this.#forget(connection),
      drains: () => this.#drains(),
      drained: () => {
        this.#draining -= 1
      },
    })
    this.#open.add(opened)
    return opened
  }

  /** Ends all of them at once. */
  close(): void {
    this.#closed = true
    for (const connection of this.#open) connection.destroy()
  }

  /** Attempts are counted by whoever makes them; what they leave behind is not to be more than they are. */
  #drains(): boolean {
    this.#draining += 1
    return this.#draining <= this.#settings.total
  }

  #keep(connection: Connection): void {
    const idle = this.#idle.get(connection.origin) ?? []
    const { kept, perOrigin, total } = this.#settings
    if (!kept || this.#closed || idle.length >= perOrigin || this.#idleCount >= total) {
      connection.destroy()
      return
    }
    idle.push(connection)
    this.#idle.set(connection.origin, idle)
    this.#idleCount += 1
  }

  #forget(connection: Connection): void {
    this.#open.delete(connection)
    const idle = this.#idle.get(connection.origin) ?? []
    const at = idle.indexOf(connection)
    if (at === -1) return
    idle.splice(at, 1)
    this.#idleCount -= 1
    if (idle.length === 0) this.#idle.delete(connection.origin)
  }
}

interface Owner {
  free(connection: Connection): void
  lost(connection: Connection): void
  /** The rest of a response is to be read; whether there is room for that. */
  drains(): boolean
  drained(): void
}

/** One connection to an origin. */
export class Connection {
  readonly origin: string
  readonly #client: Client
  readonly #kept: boolean
  readonly #owner: Owner
  #busy = false
  #used = false
  #destroyed = false

  constructor(origin: string, connect: ReturnType<typeof buildConnector>, kept: boolean, owner: Owner) {
    this.origin = origin
    this.#kept = kept
    this.#owner = owner
    this.#client = new Client(origin, {
      connect,
      maxHeaderSize: headLimit_bytes,
      keepAliveTimeout: idle_ms,
      keepAliveMaxTimeout: idle_ms,
      headersTimeout: 0, // One timer of the attempt covers everything up to the head.
      bodyTimeout: 0,
    })
    // What was closed while it was idle is of no use any more.
    this.#client.on('disconnect', () => {
      this.#used = false
      if (!this.#busy) this.destroy()
    })
  }

  post({ path, headers, body }: PostRequest, heard: Heard): void {
    this.#busy = true
    const used = this.#used
    let begun = false
    let rest: Rest | undefined
    this.#client.dispatch(
      { method: 'POST', path, headers: [...headers], body, reset: !this.#kept },
      {
        onConnect: () => undefined,
        onResponseStarted: () => {
          begun = true
        },
        onHeaders: (status, raw) => {
          if (status < 200) return true
          rest = new Rest(heard.body, () => this.destroy(), this.#owner.drained)
          // What has come with the head is read all the same.
          if (!this.#owner.drains()) setImmediate(() => rest?.cutOff())
          heard.head(headOf(status, raw))
          return true
        },
        onData: (chunk) => {
          rest?.take(chunk)
          return true
        },
        onComplete: () => {
          rest?.end()
          this.#busy = false
          this.#used = true
          this.#owner.free(this)
        },
        onError: (fault) => {
          // An error while the body is read changes nothing.
          if (rest === undefined) heard.failed(fault, used && !begun)
          else rest.end()
          this.destroy()
        },
      },
    )
  }

  /** Closes the connection at once; a request that is under way fails. */
  destroy(): void {
    if (this.#destroyed) return
    this.#destroyed = true
    this.#owner.lost(this)
    this.#client.destroy().catch(() => undefined)
  }
}

/** What comes after the head of a response: counted, shown to those who want it, and otherwise thrown away. */
class Rest {
  readonly #shown: ((text: string) => void) | undefined
  readonly #cut: () => void
  readonly #ended: () => void
  readonly #timer: NodeJS.Timeout
  #start: Buffer[] = []
  #bytes = 0

  #over = false

  constructor(shown: ((text: string) => void) | undefined, cut: () => void, ended: () => void) {
    this.#shown = shown
    this.#cut = cut
    this.#ended = ended
    this.#timer = setTimeout(cut, bodyLimit.time_ms).unref()
  }

  take(chunk: Buffer): void {
    if (this.#shown !== undefined && this.#bytes < shownBody_bytes) this.#start.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes > bodyLimit.bytes) this.#cut()
  }

  /** There is no room to wait for it. */
  cutOff(): void {
    if (!this.#over) this.#cut()
  }

  end(): void {
    if (this.#over) return
    this.#over = true
    this.#ended()
    clearTimeout(this.#timer)
    if (this.#shown !== undefined && this.#bytes > 0) this.#shown(Buffer.concat(this.#start).toString())
    this.#start = []
  }
}

function headOf(status: number, raw: readonly Buffer[]): ResponseHead {
  const headers = new Map<string, string>()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = String(raw[at]).toLowerCase()
    if (name === 'location' || name === 'retry-after') headers.set(name, raw[at + 1]?.toString('latin1') ?? '')
  }
  return { status, location: headers.get('location'), retryAfter: headers.get('retry-after') }
}
