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
