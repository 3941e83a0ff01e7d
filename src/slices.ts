import { setImmediate as nextTurn } from 'node:timers/promises'

/** Other work of a thread waits for long work no longer than this. */
const slice_ms = 5

/** Long work of a thread in slices: between two of them the thread does what else there is to do. */
export class Slices {
  readonly #giveWay: () => Promise<unknown>
  #began = performance.now()

  /** `giveWay` is called between slices; what it throws ends the work. */
  constructor(giveWay: () => Promise<unknown> = nextTurn) {
    this.#giveWay = giveWay
  }

  /** Whether the slice under way has taken long enough. */
  get isOver(): boolean {
    return performance.now() - this.#began > slice_ms
  }

  /** Lets others work, then begins the next slice. */
  async next(): Promise<void> {
    await this.#giveWay()
    this.#began = performance.now()
  }
}

/** The clock is looked at after so many steps. */
const steps = 64

/** Goes through the steps of long work, in slices. */
export async function inSlices(work: Iterable<unknown>): Promise<void> {
  const slices = new Slices()
  let taken = 0
  for (const _ of work) {
    taken += 1
    if (taken % steps === 0 && slices.isOver) await slices.next()
  }
}

/** So many are done at once without a look at the clock. */
const fewItems = 256

/**
 * Does the same with each of many things, in slices. Few are done before this returns, so that what comes of one request
 * keeps its place before what arrives after it.
 */
export function mapInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, at: number) => Result,
): readonly Result[] | Promise<readonly Result[]> {
  return items.length <= fewItems ? items.map(map) : mappedInSlices(items, map)
}

async function mappedInSlices<Item, Result>(
  items: readonly Item[],
  map: (item: Item, at: number) => Result,
): Promise<readonly Result[]> {
  const slices = new Slices()
  const results: Result[] = []
  for (const [at, item] of items.entries()) {
    results.push(map(item, at))
    if (slices.isOver) await slices.next()
  }
  return results
}
