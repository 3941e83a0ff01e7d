import type { ClockStart } from '../../time.js'

const appliedCell = 0
const ownedCell = 1
const untilCell = 2
const dateCell = 3
const committedCell = 4
const refusalsCell = 5
const cells = 6

/**
 * What batches are bound to from when their way to the partition is opened: the claim by which this node owns it then, and how often
 * its thread had refused commands since the node was not the owner. When either is another one they are refused. So once a batch
 * was refused every later one of the same way is refused too, also when the node has become the owner in between: none is carried out
 * before those that are sent again.
 */
export interface Tenure {
  /** The sequence of the claim; 0 while this node does not own the log. */
  readonly epoch: number
  readonly refusals: number
}

/**
 * How far a partition is on this node, and whether the node may say what is the last: written by the partition's thread, and what
 * owners on other nodes have said by front ends as well; read by all front ends.
 */
export class PartitionPosition {
  readonly #cells: BigInt64Array

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(cells * BigInt64Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new BigInt64Array(memory)
  }

  /** The last record of the log that every new snapshot shows. */
  get appliedIndex(): number {
    return Number(Atomics.load(this.#cells, appliedCell))
  }

  /** Sets the last record that new snapshots show. */
  applied(index: number): void {
    Atomics.store(this.#cells, appliedCell, BigInt(index))
    Atomics.notify(this.#cells, appliedCell)
  }

  /**
   * The last record that an owner may show, on whichever node: an owner raises it when a record stands, before any snapshot can show
   * that; a copy learns it from the owner, and may show as much itself.
   */
  get commitIndex(): number {
    return Math.max(this.#commitIndex, this.appliedIndex)
  }

  /** An owner of the log, this node or another one, may show everything up to a record from now on. */
  committed(index: number): void {
    for (let held = this.#commitIndex; index > held; held = this.#commitIndex) {
      const before = Atomics.compareExchange(this.#cells, committedCell, BigInt(held), BigInt(index))
      if (before === BigInt(held)) Atomics.notify(this.#cells, committedCell)
    }
  }

  /** Resolves when an owner may show more than that, or the time is over. */
  async commits(beyond: number, limit_ms: number): Promise<void> {
    const held = Atomics.load(this.#cells, committedCell)
    if (held > beyond) return
    const waiting = Atomics.waitAsync(this.#cells, committedCell, held, limit_ms)
    if (waiting.async) await waiting.value
  }

  /** The sequence of the claim by which this node owns the log; 0 while it does not. */
  get epoch(): number {
    return Number(Atomics.load(this.#cells, ownedCell))
  }

  own(epoch: number): void {
    Atomics.store(this.#cells, ownedCell, BigInt(epoch))
  }

  /** The tenure that a connection to the partition is bound to when it is opened now. */
  get tenure(): Tenure {
    return { epoch: this.epoch, refusals: Number(Atomics.load(this.#cells, refusalsCell)) }
  }

  /** Commands were refused since this node is not the owner: what is bound to the tenure until now is refused from now on. */
  refused(): void {
    Atomics.add(this.#cells, refusalsCell, 1n)
  }

  /**
   * Nobody else is the owner for so long after a moment, and what this node shows is what there is. The monotonic clock stands
   * still while a machine sleeps, and that of the day may go back: the time is over when one of them says so.
   */
  confirm(from: ClockStart, duration_ms: number): void {
    Atomics.store(this.#cells, untilCell, from.steady_ns + BigInt(duration_ms) * 1_000_000n)
    Atomics.store(this.#cells, dateCell, BigInt(from.date + duration_ms))
  }

  /** Ends the time of `confirm`: reads of this node may be outdated from now on. */
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

  /** The last record that this node may show as the owner, if it may say so now: looked at before it is asked whether it may. */
  get confirmedIndex(): number | undefined {
    const last = this.commitIndex
    return this.isConfirmed() ? last : undefined
  }

  /** Whether snapshots that are taken now show everything that this node says as the owner. */
  get isShown(): boolean {
    return this.appliedIndex >= this.#commitIndex
  }

  /** Resolves when everything up to a record can be read, or the time is over: says whether it can. */
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
