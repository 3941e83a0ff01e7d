/** Where commands come from: a front end of another node, for one partition. */
export interface BatchSender {
  /** The slot of the node in its cluster. */
  readonly slot: number
  /** The number of the front end in its node. */
  readonly frontEnd: number
  readonly partition: number
}

/** How many nodes a cluster has, and front ends a node, at most. */
export const slotsMost = 16
export const frontEndsMost = 64

/**
 * Which connection of each sender is the last one, in memory that all front ends share. What an earlier one still brings is
 * refused from then on, and the later one is opened when nothing of the earlier ones is under way: whoever waits for an outcome of
 * those is then told that it is not known, and may send something newer by any way, which must not be overtaken. So of two
 * connections of a sender, one is over before the other one is opened, whichever threads have accepted them.
 */
export class SenderTable {
  readonly #partitions: number
  readonly #generations: BigInt64Array
  readonly #underWay: Int32Array

  /** The memory of a table in which no sender is known. */
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
   * Makes this generation the last one of its sender; gives the one that is, if that is later. What the generations before have
   * begun may still be under way: see `isQuiet`.
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

  /** A batch is going to be put into its mailbox: false, and nothing to be ended, when a later generation has come. */
  begin(sender: BatchSender, generation: number): boolean {
    const row = this.#row(sender)
    // Counted before the look: whoever enters a later generation after it sees that something is under way.
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
