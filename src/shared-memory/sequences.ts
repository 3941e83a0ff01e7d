import type { Brand } from '../brand.js'

/** The place of an entity in the order of creation, unique in the broker and growing over all partitions [context 2.7]. */
export type Place = Brand<number, 'Place'>

/**
 * Gives every command its place in the order of creation: one counter in memory that all front ends share, so that the
 * order is exact over partitions and within a millisecond [context 2.7]. It goes on above the highest place on disk.
 */
export class Places {
  readonly memory: SharedArrayBuffer
  readonly #next: BigUint64Array

  /** A counter that goes on after the highest place that was ever given. */
  static after(highest: number): Places {
    const memory = new SharedArrayBuffer(BigUint64Array.BYTES_PER_ELEMENT)
    new BigUint64Array(memory)[0] = BigInt(highest) + 1n
    return new Places(memory)
  }

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory
    this.#next = new BigUint64Array(memory)
  }

  next(): Place {
    return Number(Atomics.add(this.#next, 0, 1n)) as Place
  }
}
