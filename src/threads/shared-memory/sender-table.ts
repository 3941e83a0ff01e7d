/** A source of commands: a front end of another node, for one partition. */
export interface BatchSender {
  /** The number of the node in its cluster. */
  readonly slot: number
  /** The number of the front end in its node. */
  readonly frontEnd: number
  readonly partition: number
}

/** The most nodes of a cluster, and the most front ends of a node. */
export const slotsMost = 16
export const frontEndsMost = 64

/**
 * The last connection of each sender, in memory that all front ends share. Batches on earlier connections are refused, and the
 * later connection is opened only when nothing of the earlier ones is under way: callers of those commands are then told that the
 * outcome is unknown, and may send something newer by any route, which must not be overtaken. So of two connections of a sender,
 * one has ended before the other is opened, whichever threads have accepted them.
 */
export class SenderTable {
  readonly #partitions: number
  readonly #generations: BigInt64Array
  readonly #underWay: Int32Array

  static memory(partitions: number): SharedArrayBuffer {
    return new SharedArrayBuffer(rowsOf(partitions) * (BigInt64Array.BYTES_PER_ELEMENT + Int32Array.BYTES_PER_ELEMENT))
  }

  constructor(partitions: number, memory: SharedArrayBuffer = SenderTable.memory(partitions)) {
    const rows = rowsOf(partitions)
    this.#partitions = partitions
    this.#generations = new BigInt64Array(memory, 0, rows)
    this.#underWay = new Int32Array(memory, rows * BigInt64Array.BYTES_PER_ELEMENT, rows)
  }

  /**
   * Makes this generation the last one of its sender; if a later one is known already, gives that. Batches of earlier generations
   * may still be under way: see `isQuiet`.
   */
  enter(sender: BatchSender, generation: number): number | undefined {
    const row = this.#row(sender)
    for (;;) {
      const last = Atomics.load(this.#generations, row)
      if (last > generation) return Number(last)
      if (Atomics.compareExchange(this.#generations, row, last, BigInt(generation)) === last) return undefined
    }
  }

  /** Whether nothing of the sender is under way. */
  isQuiet(sender: BatchSender): boolean {
    return Atomics.load(this.#underWay, this.#row(sender)) === 0
  }

  /** A batch is about to be put into its mailbox. False, without a need for `end`, when a later generation is known. */
  begin(sender: BatchSender, generation: number): boolean {
    const row = this.#row(sender)
    // Counted before the check, so that a later generation that enters after the check sees the batch under way.
    Atomics.add(this.#underWay, row, 1)
    if (Atomics.load(this.#generations, row) === BigInt(generation)) return true
    Atomics.sub(this.#underWay, row, 1)
    return false
  }

  /** A batch has its outcomes. */
  end(sender: BatchSender): void {
    Atomics.sub(this.#underWay, this.#row(sender), 1)
  }

  #row({ slot, frontEnd, partition }: BatchSender): number {
    if (slot >= slotsMost || frontEnd >= frontEndsMost || partition >= this.#partitions) {
      throw new Error('there is no such sender')
    }
    return (slot * frontEndsMost + frontEnd) * this.#partitions + partition
  }
}

function rowsOf(partitions: number): number {
  return slotsMost * frontEndsMost * partitions
}
