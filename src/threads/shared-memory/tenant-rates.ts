import { hashOf } from '../../hash.js'
import type { Nanoseconds } from '../../time.js'

/** How many requests a tenant may send. */
export interface Rate {
  readonly perSecond: number
  /** How many may come at once after a pause. */
  readonly burst: number
}

/** The value of `-rateLimit`. */
export interface RateLimits {
  /** For each tenant without a rate of its own; undefined for no limit. */
  readonly general: Rate | undefined
  /** By name in lower case; the default tenant is the empty text. */
  readonly tenants: Readonly<Record<string, Rate>>
}

/** The most tenants without a rate of their own that have cells. */
const slots = 4096
/** How many cells, from that of its hash on, are searched for a tenant. */
const reach = 16
const cell_bytes = BigInt64Array.BYTES_PER_ELEMENT
const second_ns = 1_000_000_000

/**
 * Limits the rates at which tenants send requests, over all front ends. The state of a tenant is one cell of shared memory: the time up
 * to which its requests are paid for at its rate (the generic cell rate algorithm, which is equivalent to a token bucket). A request
 * moves that time on by one interval, and is refused when it would be further ahead than a burst.
 *
 * Tenants with a rate of their own have a fixed cell; all others find theirs by a hash. A cell whose time has passed carries no state, and
 * goes to the next tenant. Where all cells in reach are in use, a tenant shares one cell with all others in that situation: they are
 * refused earlier, never later. When a cell changes its tenant during a request, the request counts for the new one.
 */
export class TenantRates {
  readonly #paidUntil: BigInt64Array
  /** The hash of the tenant of each slot; 0 for a free slot. */
  readonly #owners: Int32Array
  readonly #general: Interval | undefined
  readonly #own = new Map<string, Interval & { readonly cell: number }>()
  /** The cell of tenants without a slot; the cells of tenants with rates of their own follow it. */
  readonly #shared = slots

  static memory({ tenants }: RateLimits): SharedArrayBuffer {
    const cells = slots + 1 + Object.keys(tenants).length
    return new SharedArrayBuffer(cells * cell_bytes + slots * Int32Array.BYTES_PER_ELEMENT)
  }

  constructor({ general, tenants }: RateLimits, memory: SharedArrayBuffer) {
    const cells = slots + 1 + Object.keys(tenants).length
    this.#paidUntil = new BigInt64Array(memory, 0, cells)
    this.#owners = new Int32Array(memory, cells * cell_bytes, slots)
    this.#general = general && intervalOf(general)
    for (const [at, [tenant, rate]] of Object.entries(tenants).entries()) {
      this.#own.set(tenant, { ...intervalOf(rate), cell: this.#shared + 1 + at })
    }
  }

  /** Counts a request of a tenant; gives how long it would have to wait, 0 if it may go on. */
  take(tenant: string, now: Nanoseconds): Nanoseconds {
    const own = this.#own.get(tenant)
    if (own !== undefined) return this.#pay(own.cell, own, now)
    return this.#general === undefined ? 0n : this.#pay(this.#slotOf(tenant, now), this.#general, now)
  }

  /** Counts a request without a valid tenant name: all of these share one cell. */
  takeUnnamed(now: Nanoseconds): Nanoseconds {
    return this.#general === undefined ? 0n : this.#pay(this.#shared, this.#general, now)
  }

  #pay(cell: number, { each, burst }: Interval, now: Nanoseconds): Nanoseconds {
    let held = Atomics.load(this.#paidUntil, cell)
    for (;;) {
      const paid = (held > now ? held : now) + each
      const ahead = paid - now - burst
      if (ahead > 0n) return ahead
      const found = Atomics.compareExchange(this.#paidUntil, cell, held, paid)
      if (found === held) return 0n
      held = found
    }
  }

  #slotOf(tenant: string, now: Nanoseconds): number {
    const owner = hashOf(tenant, '') | 0 || 1
    let free: number | undefined
    for (let step = 0; step < reach; step += 1) {
      const slot = (owner + step) & (slots - 1)
      if (Atomics.load(this.#owners, slot) === owner) return slot
      if (free === undefined && Atomics.load(this.#paidUntil, slot) <= now) free = slot
    }
    if (free === undefined) return this.#shared
    Atomics.store(this.#owners, free, owner)
    return free
  }
}

interface Interval {
  /** The time between two requests at the rate. */
  readonly each: Nanoseconds
  /** The time of all requests of a burst at the rate. */
  readonly burst: Nanoseconds
}

function intervalOf({ perSecond, burst }: Rate): Interval {
  const each = BigInt(Math.round(second_ns / perSecond))
  return { each, burst: each * BigInt(burst) }
}
