import { LruCache } from '../../lru-cache.js'

/** Attempts and bytes of notifications that may be under way at a time in all. */
export interface TotalLimits {
  readonly total: number
  /** By the notices of the attempts; at this many or more none is begun. */
  readonly underWay_bytes: number
}

/**
 * How a receiver has responded:
 *
 * - `quick`: to the last attempt, within a second; `free`: so, and no attempt is under way at it.
 * - `untried`: nothing is known of it.
 * - `slow`: its last response took longer, or an attempt under way has taken longer by now.
 * - `failing`: its last attempt had no response.
 */
export type Standing = 'free' | 'quick' | 'untried' | 'slow' | 'failing'

/** Whether a receiver of this standing has responded to its last attempt within a second. */
export function isQuick(standing: Standing): boolean {
  return standing === 'free' || standing === 'quick'
}

/** An attempt that takes longer is long: its receiver is slow. */
export const long_ms = 1000

/** An attempt under way, as it is counted: as the standing of its receiver was when it was begun, and as `slow` once it is long. */
export interface Share {
  readonly bytes: number
  readonly begun_ms: number
  standing: Standing
  state: 'short' | 'long' | 'over'
}

interface Held {
  attempts: number
  bytes: number
}

/**
 * How much may be under way at receivers of each standing, of the attempts and of their bytes: half at slow and failing ones, half at
 * untried ones, three quarters at all these together. The last eighth is for quick receivers at which nothing is under way. So receivers that
 * never respond, however many they are, leave a quarter to those that do.
 *
 * An attempt that becomes long is counted as one at a slow receiver, even if these then hold more than half.
 */
export class AttemptShares {
  readonly #all = nothing()
  readonly #untried = nothing()
  /** At slow and failing receivers. */
  readonly #slow = nothing()
  readonly #limits: Held
  readonly #sevenEighths: Held
  readonly #threeQuarters: Held
  readonly #half: Held

  constructor({ total, underWay_bytes }: TotalLimits) {
    this.#limits = { attempts: total, bytes: underWay_bytes }
    this.#sevenEighths = withoutEighths(this.#limits, 1)
    this.#threeQuarters = withoutEighths(this.#limits, 2)
    this.#half = withoutEighths(this.#limits, 4)
  }

  /** Attempts under way. */
  get attempts(): number {
    return this.#all.attempts
  }

  /** Whether one more attempt may be begun at a receiver. */
  mayBegin(standing: Standing): boolean {
    if (!isLess(this.#all, standing === 'free' ? this.#limits : this.#sevenEighths)) return false
    const own = this.#shareOf(standing)
    return (
      own === undefined || (isLess(own, this.#half) && isLess(sumOf(this.#untried, this.#slow), this.#threeQuarters))
    )
  }

  begin(standing: Standing, bytes: number, begun_ms: number): Share {
    this.#count(standing, 1, bytes)
    return { standing, bytes, begun_ms, state: 'short' }
  }

  becomeLong(share: Share): void {
    this.#count(share.standing, -1, -share.bytes)
    share.standing = 'slow'
    share.state = 'long'
    this.#count('slow', 1, share.bytes)
  }

  end(share: Share): void {
    this.#count(share.standing, -1, -share.bytes)
    share.state = 'over'
  }

  #count(standing: Standing, attempts: number, bytes: number): void {
    add(this.#all, attempts, bytes)
    const own = this.#shareOf(standing)
    if (own !== undefined) add(own, attempts, bytes)
  }

  /** What is under way at those with which receivers of this standing share; quick ones have all that is not set apart. */
  #shareOf(standing: Standing): Held | undefined {
    if (standing === 'free' || standing === 'quick') return undefined
    return standing === 'untried' ? this.#untried : this.#slow
  }
}

function nothing(): Held {
  return { attempts: 0, bytes: 0 }
}

function add(held: Held, attempts: number, bytes: number): void {
  held.attempts += attempts
  held.bytes += bytes
}

function sumOf(one: Held, other: Held): Held {
  return { attempts: one.attempts + other.attempts, bytes: one.bytes + other.bytes }
}

function isLess(held: Held, limits: Held): boolean {
  return held.attempts < limits.attempts && held.bytes < limits.bytes
}

/** The limits less some eighths of each. */
function withoutEighths({ attempts, bytes }: Held, eighths: number): Held {
  const rest = (limit: number) => (limit < leastShared ? limit : limit - Math.floor((limit * eighths) / 8))
  return { attempts: rest(attempts), bytes: rest(bytes) }
}

/** Of fewer attempts or bytes nothing is set apart. */
const leastShared = 4

/** What is remembered of a receiver at which nothing is under way. */
export type Remembered = Exclude<Standing, 'free'>

/** Some 30,000 receivers of either kind. */
const remembered_bytes = 8 * 2 ** 20

const remembered: { readonly [Each in Remembered]: { readonly standing: Each } } = {
  quick: { standing: 'quick' },
  untried: { standing: 'untried' },
  slow: { standing: 'slow' },
  failing: { standing: 'failing' },
}

/** How receivers responded that have nothing to be sent now. However many fail, those that respond are remembered. */
export class RememberedReceivers {
  readonly #quick = new LruCache<{ readonly standing: Remembered }>(remembered_bytes)
  readonly #others = new LruCache<{ readonly standing: Remembered }>(remembered_bytes)

  of(receiver: string): Remembered {
    const quick = this.#quick.get(receiver)?.standing ?? 'untried'
    return quick === 'untried' ? (this.#others.get(receiver)?.standing ?? 'untried') : quick
  }

  put(receiver: string, standing: Remembered): void {
    if (standing === 'untried') return
    const [own, other] = standing === 'quick' ? [this.#quick, this.#others] : [this.#others, this.#quick]
    own.put(receiver, remembered[standing], 0)
    if (other.get(receiver) !== undefined) other.put(receiver, remembered.untried, 0)
  }
}
