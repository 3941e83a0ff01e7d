import type { Nanoseconds } from '../time.js'

const appliedCell = 0
const ownedCell = 1
const untilCell = 2
const cells = 3

/**
 * How far a partition is on this node, and whether the node may say what is the last: written by the partition's thread, read
 * by all front ends.
 */
export class PartitionPosition {
  readonly #cells: BigInt64Array

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(cells * BigInt64Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new BigInt64Array(memory)
  }

  /** The last record of its log that every snapshot from now on shows. */
  get applied(): number {
    return Number(Atomics.load(this.#cells, appliedCell))
  }

  /** Everything up to a record can be read. */
  reached(applied: number): void {
    Atomics.store(this.#cells, appliedCell, BigInt(applied))
    Atomics.notify(this.#cells, appliedCell)
  }

  /** The sequence of the claim by which this node owns the log; 0 while it does not. */
  get epoch(): number {
    return Number(Atomics.load(this.#cells, ownedCell))
  }

  own(epoch: number): void {
    Atomics.store(this.#cells, ownedCell, BigInt(epoch))
  }

  /** Nobody else has been the owner until then, and what this node shows is what there is. */
  confirm(until: Nanoseconds): void {
    Atomics.store(this.#cells, untilCell, until)
  }

  /** Whether what this node shows now is all that was acknowledged until now. */
  isConfirmed(): boolean {
    return Atomics.load(this.#cells, untilCell) > process.hrtime.bigint()
  }

  /** Resolves when everything up to a record can be read, or the time is over: says whether it can. */
  async reaches(sequence: number, limit_ms: number): Promise<boolean> {
    const until_ms = performance.now() + limit_ms
    for (;;) {
      const held = Atomics.load(this.#cells, appliedCell)
      if (held >= sequence) return true
      const left_ms = until_ms - performance.now()
      if (left_ms <= 0) return false
      const waiting = Atomics.waitAsync(this.#cells, appliedCell, held, left_ms)
      if (waiting.async) await waiting.value
    }
  }
}
