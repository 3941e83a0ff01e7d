import type { LookupFunction } from 'node:net'
import { buildConnector, Pool } from 'undici'
import { Semaphore } from './slots.js'

/** Where requests may go that clients cause. */
export interface AllowedDestinations {
  /** Whether a host may be connected to, as far as can be said before its name is resolved. */
  mayConnect(host: string): boolean
  /** Resolves names to the addresses that are allowed. */
  readonly lookup: LookupFunction
}

export interface PoolSettings {
  /** Time limit of opening a connection. */
  readonly connectLimit_ms: number
  /** Certificates of unknown authorities are accepted. */
  readonly insecure: boolean
  readonly perOrigin: number
  readonly total: number
  /** All unless something else is said. */
  readonly destinations?: AllowedDestinations | undefined
}

/** A connection that nobody needs is closed after this time. */
const idle_ms = 10_000

/** How many origins have connections that are kept; the one that was asked longest ago makes room. */
const mostOrigins = 128

/** An origin with the connections to it and the places on them. */
interface Origin {
  readonly pool: Pool
  readonly places: Semaphore
}

/**
 * Connections to providers, bounded for each origin and in all. A provider that is slow uses up its own places before
 * those of all, so that it only makes requests to itself wait.
 */
export class ProviderPools {
  readonly #settings: PoolSettings
  readonly #places: Semaphore
  readonly #connect: buildConnector.connector
  /** The one used longest ago first. */
  readonly #origins = new Map<string, Origin>()
  /** Connections that are open, idle ones included. */
  #connected = 0

  constructor(settings: PoolSettings) {
    this.#settings = settings
    this.#places = new Semaphore(settings.total)
    const { connectLimit_ms, insecure, destinations } = settings
    this.#connect = buildConnector({
      timeout: connectLimit_ms,
      rejectUnauthorized: !insecure,
      ...(destinations && { lookup: destinations.lookup }),
    })
  }

  /**
   * Does something with a connection of an origin, when there is one free; until the signal says that it is too late.
   * `reset`: too many are open already, this one is to be closed afterwards.
   */
  async with<Result>(
    origin: string,
    signal: AbortSignal,
    use: (pool: Pool, reset: boolean) => Promise<Result>,
  ): Promise<Result> {
    const { pool, places } = this.#origin(origin)
    await places.take(signal)
    try {
      await this.#places.take(signal)
      try {
        return await use(pool, this.#connected > this.#settings.total)
      } finally {
        this.#places.leave()
      }
    } finally {
      places.leave()
    }
  }

  /** Ends all connections at once; what is under way fails. */
  async close(): Promise<void> {
    const pools = Array.from(this.#origins.values(), ({ pool }) => pool.destroy())
    this.#origins.clear()
    await Promise.all(pools)
  }

  #origin(name: string): Origin {
    const held = this.#origins.get(name)
    this.#origins.delete(name)
    const origin = held ?? { pool: this.#open(name), places: new Semaphore(this.#settings.perOrigin) }
    this.#origins.set(name, origin)
    if (this.#origins.size > mostOrigins) this.#makeRoom()
    return origin
  }

  #open(origin: string): Pool {
    const pool = new Pool(origin, {
      connect: this.#connect,
      connections: this.#settings.perOrigin,
      headersTimeout: 0, // One timer covers the whole exchange.
      bodyTimeout: 0,
      keepAliveTimeout: idle_ms,
      keepAliveMaxTimeout: idle_ms, // Whatever the other side offers.
    })
    pool.on('connect', () => {
      this.#connected += 1
    })
    pool.on('disconnect', () => {
      this.#connected -= 1
    })
    return pool
  }

  #makeRoom(): void {
    for (const [name, { pool, places }] of this.#origins) {
      if (!places.idle) continue
      this.#origins.delete(name)
      void pool.close()
      return
    }
  }
}
