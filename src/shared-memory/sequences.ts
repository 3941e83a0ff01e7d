import type { Brand } from '../brand.js'

/** The sequence number of an entity's creation, unique in the broker and growing over all partitions [context 2.7]. */
export type Sequence = Brand<number, 'Sequence'>

/**
 * Gives every command its sequence: one counter in memory that all front ends share, so that the
 * order is exact over partitions and within a millisecond [context 2.7]. It goes on above the highest sequence on disk.
 */
export class SequenceCounter {
  readonly memory: SharedArrayBuffer
  readonly #next: BigUint64Array

  /** A counter that goes on after the highest sequence that was ever given. */
  static after(highest: number): SequenceCounter {
    const memory = new SharedArrayBuffer(BigUint64Array.BYTES_PER_ELEMENT)
    new BigUint64Array(memory)[0] = BigInt(highest) + 1n
    return new SequenceCounter(memory)
  }

  constructor(memory: SharedArrayBuffer) {
    this.memory = memory
    this.#next = new BigUint64Array(memory)
  }

  next(): Sequence {
    return Number(Atomics.add(this.#next, 0, 1n)) as Sequence
  }
}
