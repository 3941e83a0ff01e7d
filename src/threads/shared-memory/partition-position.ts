import type { ClockStart } from '../../time.js'

const appliedCell = 0
const ownedCell = 1
const untilCell = 2
const dateCell = 3
const committedCell = 4
const refusalsCell = 5
const cells = 6

/**
 * What batches are bound to when their route to the partition is opened: the election by which this node then owns the log, and
 * how often its thread had refused commands because the node was not the owner. Batches with another fencing token are refused.
 * So once a batch was refused, every later one on the same route is refused too, even if the node has become the owner in
 * between: none is carried out before the refused ones, which are sent again.
 */
export interface FencingToken {
  /** The sequence of the election record; 0 while this node does not own the log. */
  readonly epoch: number
  readonly refusals: number
}

/**
 * How far a partition is on this node, and whether the node may answer reads as its owner. Written by the partition's thread, and
 * by front ends with what owners on other nodes have said; read by all front ends.
 */
export class PartitionPosition {
  readonly #cells: BigInt64Array

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(cells * BigInt64Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new BigInt64Array(memory)
  }

  /** The last record of the log that every new read shows, from the memtable or in a snapshot. */
  get appliedIndex(): number {
    return Number(Atomics.load(this.#cells, appliedCell))
  }

  /** Sets the appliedIndex. */
  applied(index: number): void {
    Atomics.store(this.#cells, appliedCell, BigInt(index))
    Atomics.notify(this.#cells, appliedCell)
  }

  /**
   * The last record that owners may show, on whichever node. An owner raises it when a record stands in the log, before any
   * read can show the record. A replica learns it from the owner, and may show as much itself.
   */
  get commitIndex(): number {
    return Math.max(this.#commitIndex, this.appliedIndex)
  }

  /** An owner of the log, this node or another one, may now show everything up to this record. */
  committed(index: number): void {
    for (let held = this.#commitIndex; index > held; held = this.#commitIndex) {
      const before = Atomics.compareExchange(this.#cells, committedCell, BigInt(held), BigInt(index))
      if (before === BigInt(held)) Atomics.notify(this.#cells, committedCell)
    }
  }

  /** Resolves when the commitIndex exceeds `beyond`, or after the time limit. */
  async commits(beyond: number, limit_ms: number): Promise<void> {
    const held = Atomics.load(this.#cells, committedCell)
    if (held > beyond) return
    const waiting = Atomics.waitAsync(this.#cells, committedCell, held, limit_ms)
    if (waiting.async) await waiting.value
  }

  /** The sequence of the election record by which this node owns the log; 0 while it does not. */
  get epoch(): number {
    return Number(Atomics.load(this.#cells, ownedCell))
  }

  own(epoch: number): void {
    Atomics.store(this.#cells, ownedCell, BigInt(epoch))
  }

  /** The fencing token for connections to the partition that are opened now. */
  get fencingToken(): FencingToken {
    return { epoch: this.epoch, refusals: Number(Atomics.load(this.#cells, refusalsCell)) }
  }

  /** Commands were refused because this node is not the owner: from now on everything bound to an earlier fencing token is refused. */
  refused(): void {
    Atomics.add(this.#cells, refusalsCell, 1n)
  }

  /**
   * Extends the read lease: for this long after a moment no other node is the owner, and this node shows the last state. The
   * monotonic clock stands still while a machine sleeps, and the clock of the day may go back: the lease ends when either clock
   * says so.
   */
  confirm(from: ClockStart, duration_ms: number): void {
    Atomics.store(this.#cells, untilCell, from.steady_ns + BigInt(duration_ms) * 1_000_000n)
    Atomics.store(this.#cells, dateCell, BigInt(from.date + duration_ms))
  }

  /** Ends the read lease: reads of this node may be outdated from now on. */
  revoke(): void {
    Atomics.store(this.#cells, untilCell, 0n)
  }

  /** Whether reads of this node show everything that was acknowledged until now. */
  isConfirmed(): boolean {
    return (
      Atomics.load(this.#cells, untilCell) > process.hrtime.bigint() &&
      Atomics.load(this.#cells, dateCell) > BigInt(Date.now())
    )
  }

  /** The commitIndex if the read lease is in force, otherwise undefined. The index is read before the lease is checked. */
  get confirmedIndex(): number | undefined {
    const last = this.commitIndex
    return this.isConfirmed() ? last : undefined
  }

  /** Whether new reads show everything up to the commitIndex. */
  get isCaughtUp(): boolean {
    return this.appliedIndex >= this.#commitIndex
  }

  /** Resolves when everything up to a record can be read, or after the time limit: says whether it can. */
  async reaches(index: number, limit_ms: number): Promise<boolean> {
    const until_ms = performance.now() + limit_ms
    for (;;) {
      const held = Atomics.load(this.#cells, appliedCell)
      if (held >= index) return true
      const left_ms = until_ms - performance.now()
      if (left_ms <= 0) return false
      const waiting = Atomics.waitAsync(this.#cells, appliedCell, held, left_ms)
      if (waiting.async) await waiting.value
    }
  }

  get #commitIndex(): number {
    return Number(Atomics.load(this.#cells, committedCell))
  }
}
