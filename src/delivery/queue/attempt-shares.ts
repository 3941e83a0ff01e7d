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
  readonly #limits: Held
  readonly #held: Record<Standing, Held> = {
    free: { attempts: 0, bytes: 0 },
    quick: { attempts: 0, bytes: 0 },
    untried: { attempts: 0, bytes: 0 },
    slow: { attempts: 0, bytes: 0 },
    failing: { attempts: 0, bytes: 0 },
  }

  constructor({ total, underWay_bytes }: TotalLimits) {
    this.#limits = { attempts: total, bytes: underWay_bytes }
  }

  /** Attempts under way. */
  get attempts(): number {
    return this.#sum(['free', 'quick', 'untried', 'slow', 'failing'], 'attempts')
  }

  /** Whether one more attempt may be begun at a receiver. */
  mayBegin(standing: Standing): boolean {
    if (!this.#isLess(['free', 'quick', 'untried', 'slow', 'failing'], standing === 'free' ? 0 : 1)) return false
    switch (standing) {
      case 'free':
      case 'quick':
        return true
      case 'untried':
        return this.#isLess(['untried'], 4) && this.#isLess(['untried', 'slow', 'failing'], 2)
      default:
        return this.#isLess(['slow', 'failing'], 4) && this.#isLess(['untried', 'slow', 'failing'], 2)
    }
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
    this.#held[standing].attempts += attempts
    this.#held[standing].bytes += bytes
  }

  /** Whether receivers of these standings have less under way than there may be when so many eighths are set apart. */
  #isLess(standings: readonly Standing[], eighths: number): boolean {
    return (['attempts', 'bytes'] as const).every((what) => {
      const limit = this.#limits[what]
      const apart = limit < leastShared ? 0 : Math.floor((limit * eighths) / 8)
      return this.#sum(standings, what) < limit - apart
    })
  }

  #sum(standings: readonly Standing[], what: keyof Held): number {
    let sum = 0
    for (const standing of standings) sum += this.#held[standing][what]
    return sum
  }
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
