import { now } from '../time.js'
import { type Connection, Connections, type ResponseHead } from './connections.js'
import type { Destinations } from './destinations.js'
import {
  type Acceptance,
  type AttemptOutcome,
  outcomeOf,
  outcomeOfFault,
  refusal,
  retryAfter,
  trouble,
} from './outcome.js'

export interface SenderSettings {
  /** Time limit of an attempt, up to the head of the response. */
  readonly timeout_ms: number
  readonly accept: Acceptance
  /** Whether connections are used again. */
  readonly kept: boolean
  readonly perReceiver: number
  readonly total: number
  readonly insecure: boolean
  readonly destinations: Destinations
}

/** A message as it goes out. */
export interface Outgoing {
  readonly url: string
  /** Names and values in turn, without those that every request has to its host. */
  readonly headers: readonly string[]
  readonly body: Buffer
  /** Gets the start of the body of the response, in the end. */
  readonly heard?: ((body: string) => void) | undefined
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const mostRedirects = 5

/** Posts messages to receivers; never by a proxy [subscriptions 4.1, 5.3]. */
export class Sender {
  readonly #settings: SenderSettings
  readonly #connections: Connections
  readonly #attempts = new Set<Attempt>()

  constructor(settings: SenderSettings) {
    this.#settings = settings
    const { kept, perReceiver, total, insecure, timeout_ms, destinations } = settings
    this.#connections = new Connections({
      ...{ kept, total, insecure, perOrigin: perReceiver },
      ...{ connectLimit_ms: timeout_ms, lookup: destinations.lookup },
    })
  }

  /** One attempt; its outcome is known with the head of the response, the body is thrown away afterwards. */
  send(outgoing: Outgoing): Promise<AttemptOutcome> {
    return new Promise((resolve) => {
      const attempt = new Attempt(this.#settings, this.#connections, outgoing, (outcome) => {
        this.#attempts.delete(attempt)
        resolve(outcome)
      })
      this.#attempts.add(attempt)
      attempt.begin()
    })
  }

  /** Gives up what is under way and closes all connections. */
  close(): void {
    for (const attempt of this.#attempts) attempt.giveUp()
    this.#connections.close()
  }
}

class Attempt {
  readonly #settings: SenderSettings
  readonly #connections: Connections
  readonly #outgoing: Outgoing
  readonly #end: (outcome: AttemptOutcome) => void
  readonly #timer: NodeJS.Timeout
  #connection: Connection | undefined
  #headers: readonly string[]
  #redirects = 0
  #ended = false

  constructor(
    settings: SenderSettings,
    connections: Connections,
    outgoing: Outgoing,
    end: (outcome: AttemptOutcome) => void,
  ) {
    this.#settings = settings
    this.#connections = connections
    this.#outgoing = outgoing
    this.#end = end
    this.#headers = outgoing.headers
    this.#timer = setTimeout(() => this.giveUp(), settings.timeout_ms)
  }

  begin(): void {
    const target = parsedUrl(this.#outgoing.url)
    if (target === undefined) this.#finish(refusal('invalid URL'))
    else this.#to(target, false)
  }

  giveUp(): void {
    if (this.#ended) return
    this.#finish(trouble('timeout'))
    this.#connection?.destroy()
  }

  #to(target: URL, fresh: boolean): void {
    if (!this.#settings.destinations.mayConnect(target.hostname)) {
      this.#finish(refusal('destination not allowed'))
      return
    }
    const connection = this.#connections.take(target.origin, fresh)
    this.#connection = connection
    const { body, heard } = this.#outgoing
    const request = { path: target.pathname + target.search, headers: this.#headers, body }
    connection.post(request, {
      head: (head) => this.#answered(target, head),
      failed: (fault, reusable) => {
        if (this.#ended) return
        // The receiver closed a connection that was idle, in the very moment: it has seen nothing of this request.
        if (reusable) this.#to(target, true)
        else this.#finish(outcomeOfFault(fault))
      },
      body: heard,
    })
  }

  #answered(target: URL, { status, location, retryAfter: header }: ResponseHead): void {
    if (this.#ended) return
    this.#connection = undefined // From here on it belongs to those who read the body.
    const next = redirects.has(status) && location !== undefined ? redirected(location, target) : undefined
    if (next === undefined || this.#redirects === mostRedirects) {
      this.#finish(outcomeOf(status, this.#settings.accept, retryAfter(header, now())))
      return
    }
    this.#redirects += 1
    if (next.origin !== target.origin) this.#headers = withoutToken(this.#headers)
    this.#to(next, false)
  }

  #finish(outcome: AttemptOutcome): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    this.#end(outcome)
  }
}

function redirected(location: string, from: URL): URL | undefined {
  const target = parsedUrl(location, from)
  return target?.protocol === 'http:' || target?.protocol === 'https:' ? target : undefined
}

function parsedUrl(text: string, base?: URL): URL | undefined {
  return URL.canParse(text, base?.href) ? new URL(text, base) : undefined
}

/** A token is for the receiver that the subscription names; whoever that redirects to has no claim to it. */
function withoutToken(headers: readonly string[]): readonly string[] {
  return headers.filter((_, at) => headers[at - (at % 2)] !== 'X-Auth-Token')
}
