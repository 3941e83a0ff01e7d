import { timedOut } from '../../delivery/http-client/response-handler.js'
import { Heap } from '../../heap.js'
import { LruCache } from '../../lru-cache.js'

/** The most concurrent requests to providers. */
export interface PermitLimits {
  readonly total: number
  readonly perOrigin: number
  /** Of one request of a client, to all providers. */
  readonly perClient: number
}

/** How a forwarded request has ended: by its time limit, given up on this side, or in any other way. */
type RequestEnd = 'timedOut' | 'givenUp' | 'ended'

/**
 * Limits the concurrent requests to providers: in all, per origin, and per request of a client. Without a free permit the requests of
 * clients take turns, so that a client that forwards many does not delay one that forwards a few. Only origins whose last request ended
 * at once may use all permits: origins that do not respond leave some of them free [subscriptions 8.4].
 *
 * A request takes several permits: one of its client, of its origin, of the parts for origins that are not quick, and of all. Every
 * request takes them in this order, so none waits in a circle. What it holds while it waits delays only its own client, and requests
 * to the same origin.
 */
export class ProviderPermits {
  readonly #limits: PermitLimits
  readonly #all: Permits
  readonly #unproven: Permits
  readonly #silent: Permits
  readonly #origins = new Map<string, Permits>()
  readonly #standings = new LruCache<Standing>(standings_bytes)
  readonly #clock: () => number
  /** The latest turn that has begun. */
  #turn = 0

  /** `clock` is in milliseconds. */
  constructor(limits: PermitLimits, clock: () => number = () => performance.now()) {
    this.#limits = limits
    this.#all = new Permits(limits.total)
    this.#unproven = new Permits(partOf(limits.total, unprovenPart))
    this.#silent = new Permits(partOf(limits.total, silentPart))
    this.#clock = clock
  }

  /** The share of a request of a client, which names the client to `with`. */
  share(): ClientPermits {
    return new ClientPermits(this.#limits.perClient)
  }

  /** Calls `use` with a permit for an origin; rejects with the signal's reason when that comes first. */
  async with<Outcome>(
    client: ClientPermits,
    origin: string,
    signal: AbortSignal,
    use: () => Promise<Outcome>,
  ): Promise<Outcome> {
    signal.throwIfAborted()
    const request = new PermitRequest((each) => this.#stages(each, client, origin))
    let begun_ms: number | undefined
    try {
      await request.begun(signal)
      begun_ms = this.#clock()
      return await use()
    } finally {
      request.end()
      if (this.#origins.get(origin)?.unused) this.#origins.delete(origin)
      if (begun_ms !== undefined) this.#ended(origin, endOf(signal), this.#clock() - begun_ms)
    }
  }

  /** What a request takes, one after the other. The standing is looked up when the origin has room, as it is by then. */
  *#stages(request: PermitRequest, client: ClientPermits, origin: string): Generator<Permits, void> {
    yield client.permits
    // The next turn of the client, but none before those that others have had, so that a new client does not wait behind turns that
    // others take later.
    client.turn = Math.max(client.turn, this.#turn) + 1
    request.turn = client.turn
    const own = this.#origins.get(origin) ?? new Permits(this.#limits.perOrigin)
    this.#origins.set(origin, own)
    yield own
    const standing = this.#standings.get(origin)
    if (standing?.kind === 'silent' && this.#clock() < standing.until_ms) yield this.#silent
    if (standing?.kind !== 'quick') yield this.#unproven
    yield this.#all
    this.#turn = Math.max(this.#turn, request.turn)
  }

  #ended(origin: string, end: RequestEnd, held_ms: number): void {
    const standing = standingAfter(this.#standings.get(origin), end, held_ms, this.#clock())
    this.#standings.put(origin, standing, 0)
  }
}

/** What is known of an origin from its last requests. */
type Standing =
  /** The last request ended at once. */
  | { readonly kind: 'quick' }
  /** The last request took long; or nothing is known. */
  | { readonly kind: 'unproven' }
  /** The last request ran into its time limit. */
  | { readonly kind: 'silent'; readonly until_ms: number }

/** The part of all permits for origins that are not quick, and the part of those that were silent lately. */
const unprovenPart = 3 / 4
const silentPart = 1 / 4

/** A request that ends within this time delays hardly anybody. */
const quick_ms = 1000

/** How long a time limit that was reached counts. */
const lately_ms = 60_000

/** Some 10,000 origins; one that is forgotten is unproven. */
const standings_bytes = 2 ** 22

/** The standing of an origin whose request has held a permit for this time. A client that goes at once says nothing about it. */
export function standingAfter(before: Standing | undefined, end: RequestEnd, held_ms: number, at_ms: number): Standing {
  if (end === 'timedOut') return { kind: 'silent', until_ms: at_ms + lately_ms }
  if (end === 'ended') return { kind: held_ms < quick_ms ? 'quick' : 'unproven' }
  return before === undefined || (before.kind === 'quick' && held_ms >= quick_ms) ? { kind: 'unproven' } : before
}

function endOf({ aborted, reason }: AbortSignal): RequestEnd {
  if (!aborted) return 'ended'
  return reason === timedOut ? 'timedOut' : 'givenUp'
}

function partOf(total: number, part: number): number {
  return Math.max(1, Math.floor(total * part))
}

/** The share of a request of a client. */
export class ClientPermits {
  readonly permits: Permits
  /** The turn of the request that was asked for last. */
  turn = 0

  constructor(limit: number) {
    this.permits = new Permits(limit)
  }
}

/** A request that takes permits one after the other. */
class PermitRequest {
  readonly #stages: Iterator<Permits, void>
  readonly #held: Permits[] = []
  #awaited: Permits | undefined
  #begin = (): void => {}
  /** Its place among those that wait: the lowest is the first. */
  turn = 0
  isOver = false

  constructor(stages: (request: PermitRequest) => Iterator<Permits, void>) {
    this.#stages = stages(this)
  }

  /** Resolves when the request has all of its permits; rejects with the signal's reason when that comes first. */
  begun(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.end()
        reject(signal.reason)
      }
      this.#begin = () => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      signal.addEventListener('abort', giveUp, { once: true })
      this.#advance()
    })
  }

  /** The permit it has waited for is its own. */
  entered(permits: Permits): void {
    this.#awaited = undefined
    this.#held.push(permits)
    this.#advance()
  }

  /** Gives back what it holds, and waits for nothing any more. */
  end(): void {
    this.isOver = true
    this.#awaited?.givenUp()
    this.#awaited = undefined
    for (const permits of this.#held.splice(0).reverse()) permits.release()
  }

  #advance(): void {
    for (;;) {
      const stage = this.#stages.next()
      if (stage.done) {
        this.#begin()
        return
      }
      if (!stage.value.take(this)) {
        this.#awaited = stage.value
        return
      }
      this.#held.push(stage.value)
    }
  }
}

/** Permits for which requests wait in the order of their turns. */
class Permits {
  #free: number
  readonly #limit: number
  readonly #waiting = new Heap<Waiting>(inOrder)
  #asked = 0
  /** How many of those in the heap have ended. */
  #over = 0

  constructor(limit: number) {
    this.#free = limit
    this.#limit = limit
  }

  /** Whether nobody holds a permit or waits for one. */
  get unused(): boolean {
    return this.#free === this.#limit
  }

  /** Takes a permit if one is free; else the request waits, and is told by `entered`. */
  take(request: PermitRequest): boolean {
    if (this.#free === 0) {
      this.#asked += 1
      this.#waiting.add({ request, number: this.#asked })
      return false
    }
    this.#free -= 1
    return true
  }

  /** One of the requests that wait has ended. */
  givenUp(): void {
    this.#over += 1
    if (2 * this.#over <= this.#waiting.size) return
    this.#waiting.keep(({ request }) => !request.isOver)
    this.#over = 0
  }

  /** Gives a permit back: of the requests that still wait, the one whose turn it is gets it. */
  release(): void {
    for (;;) {
      const next = this.#waiting.takeFirst()?.request
      if (next === undefined) {
        this.#free += 1
        return
      }
      if (!next.isOver) {
        next.entered(this)
        return
      }
      this.#over -= 1
    }
  }
}

interface Waiting {
  readonly request: PermitRequest
  /** Of two with the same turn, the one that came first is the first. */
  readonly number: number
}

function inOrder(one: Waiting, other: Waiting): number {
  return one.request.turn - other.request.turn || one.number - other.number
}
