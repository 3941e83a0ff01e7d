import { fnv1a } from '../hash.js'

/** Requests that wait for any provider, and from then on those that wait for the origins that share a cell. */
const allCell = 0
const firstOrigin = 1

/** Origins that fall into one cell share what each of them may have: there are many more cells than providers that hang. */
const originCells = 4096

/** Why a request may not wait. */
export type ForwardRefusal =
  /** As many requests wait for providers as may. */
  | { readonly kind: 'forwardsFull' }
  /** As many wait for this one as may. */
  | { readonly kind: 'providerFull'; readonly origin: string }

/**
 * How many requests of clients wait for providers, over all threads that share the memory: in all, and for each origin, so
 * that one which hangs does not take the room of all others.
 */
export class ForwardLimit {
  readonly #all: number
  readonly #each: number
  readonly #waiting: Int32Array

  /** The memory of a limit of which nothing is taken. */
  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer((firstOrigin + originCells) * Int32Array.BYTES_PER_ELEMENT)
  }

  /** At most this many in all, and for each origin. */
  constructor(all: number, each: number, memory: SharedArrayBuffer = ForwardLimit.memory()) {
    this.#all = all
    this.#each = each
    this.#waiting = new Int32Array(memory)
  }

  /** Takes room for a request that waits for these origins, each once; none of it on an error. */
  take(origins: Iterable<string>): ForwardRefusal | undefined {
    if (!this.#enter(allCell, this.#all)) return { kind: 'forwardsFull' }
    const entered: string[] = []
    for (const origin of origins) {
      if (this.#enter(cellOf(origin), this.#each)) {
        entered.push(origin)
        continue
      }
      for (const other of entered) this.answered(other)
      this.release()
      return { kind: 'providerFull', origin }
    }
    return undefined
  }

  /** The request does not wait for this origin any more. */
  answered(origin: string): void {
    Atomics.sub(this.#waiting, cellOf(origin), 1)
  }

  /** The request does not wait any more; it waits for none of its origins by now. */
  release(): void {
    Atomics.sub(this.#waiting, allCell, 1)
  }

  #enter(cell: number, limit: number): boolean {
    if (Atomics.add(this.#waiting, cell, 1) < limit) return true
    Atomics.sub(this.#waiting, cell, 1)
    return false
  }
}

/** The same in all threads. */
function cellOf(origin: string): number {
  return firstOrigin + ((fnv1a(origin) >>> 0) % originCells)
}
