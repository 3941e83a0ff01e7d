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

/** How many tenants without a rate of their own are followed at a time. */
const slots = 4096
/** How many cells from its hash on a tenant is looked for. */
const reach = 16
const cell_bytes = BigInt64Array.BYTES_PER_ELEMENT
const second_ns = 1_000_000_000

/**
 * The rates at which tenants send requests, limited over all front ends. The state of a tenant is one cell of shared
 * memory: the time up to which its requests are paid for at its rate (the generic cell rate algorithm, which lets through what a
 * bucket of tokens would). A request moves it on by one interval, and is refused when that is further ahead than a burst.
 *
 * Tenants with a rate of their own have a cell of their own. All others find theirs by a hash. The cell of a tenant that has not used
 * up anything says nothing, and goes to the next that comes. Where all cells near its place are in use a tenant shares one
 * with all others for which there was none: they are refused earlier, never later. When a cell goes to another tenant in the moment
 * of a request, that request is counted for the other one.
 */
export class TenantRates {
  readonly #paidUntil: BigInt64Array
  /** The hash of the tenant that has each slot; 0 for a free slot. */
  readonly #owners: Int32Array
  readonly #general: Interval | undefined
  readonly #own = new Map<string, Interval & { readonly cell: number }>()
  /** The cell of those for whom there is no slot; behind it those of the tenants with rates of their own. */
  readonly #shared = slots

  /** The memory of a process in which nobody has sent anything. */
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

  /** Counts a request of a tenant; the value is how long it would have to wait, 0 if it may go on. */
  take(tenant: string, now: Nanoseconds): Nanoseconds {
    const own = this.#own.get(tenant)
    if (own !== undefined) return this.#pay(own.cell, own, now)
    return this.#general === undefined ? 0n : this.#pay(this.#slotOf(tenant, now), this.#general, now)
  }

  /** Counts a request whose tenant is no name of one: all of these share one cell. */
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
  /** Between two requests at the rate. */
  readonly each: Nanoseconds
  /** All requests of a burst at the rate. */
  readonly burst: Nanoseconds
}

function intervalOf({ perSecond, burst }: Rate): Interval {
  const each = BigInt(Math.round(second_ns / perSecond))
  return { each, burst: each * BigInt(burst) }
}
