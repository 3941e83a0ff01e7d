import { LruCache } from '../../lru-cache.js'

/** How the last look-up of a name ended; a name of which nothing is known is untried. */
type Standing = 'known' | 'untried' | 'failing'

/**
 * How many look-ups may be under way at a time. Each holds one of the process's threads for names, of which Node lets 32 run, and a name
 * server that does not respond keeps it for ten seconds.
 */
const most: Readonly<Record<Standing, number>> = { known: 16, untried: 8, failing: 4 }

/** Some 20,000 names; one that is forgotten is untried. */
const standings_bytes = 2 ** 22

const standings: { readonly [Each in Standing]: { readonly standing: Each } } = {
  known: { standing: 'known' },
  untried: { standing: 'untried' },
  failing: { standing: 'failing' },
}

/**
 * Shares the look-ups of names that may be under way: names that were not found last, and those that nobody has asked for before, have
 * small shares, so that however many of them there are, names that were found are looked up at once.
 */
export class LookupShares {
  readonly #standings = new LruCache<{ readonly standing: Standing }>(standings_bytes)
  readonly #underWay: Record<Standing, number> = { known: 0, untried: 0, failing: 0 }
  readonly #waiting: Readonly<Record<Standing, Set<() => void>>> = {
    known: new Set(),
    untried: new Set(),
    failing: new Set(),
  }

  /** Calls `lookUp` when the name may be looked up; gives what that gives, and notes whether the name was found. */
  async with<Found>(name: string, lookUp: () => Promise<Found>): Promise<Found> {
    const { standing } = this.#standings.get(name) ?? standings.untried
    await this.#begin(standing)
    try {
      const found = await lookUp()
      this.#standings.put(name, standings.known, 0)
      return found
    } catch (fault) {
      this.#standings.put(name, standings.failing, 0)
      throw fault
    } finally {
      this.#end(standing)
    }
  }

  async #begin(standing: Standing): Promise<void> {
    if (this.#underWay[standing] < most[standing]) this.#underWay[standing] += 1
    else await new Promise<void>((resolve) => this.#waiting[standing].add(resolve))
  }

  /** The one that has waited longest takes its place. */
  #end(standing: Standing): void {
    const waiting = this.#waiting[standing]
    for (const begin of waiting) {
      waiting.delete(begin)
      begin()
      return
    }
    this.#underWay[standing] -= 1
  }
}
