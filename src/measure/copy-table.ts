import { CounterTable, type CounterTableMemory } from '../shared-memory/counter-table.js'
import type { Milliseconds, Nanoseconds } from '../time.js'

const columns = ['head', 'handedOver', 'takenOver', 'lost', 'checkpoint', 'skew'] as const
type Column = (typeof columns)[number]

/** What the thread of a partition reports of its copy. */
export interface CopyMeter {
  /** This node owns the partition: the owner before has released it, or it was taken over. */
  claimed(how: 'handedOver' | 'takenOver'): void
  /** Another node has taken over what this one owned. */
  lost(): void
  checkpointed(at: Milliseconds): void
  /** How far the clock of this node is ahead of that of the owner; negative where it is behind. */
  skewed(skew_ms: number): void
}

/** What is known of a partition's copy on this node; sums are since the start of the process. */
export interface CopyReading {
  /** The last record of the partition's log that this node has heard of. */
  readonly head: number
  readonly handedOver: number
  readonly takenOver: number
  readonly lost: number
  /** When the last checkpoint was taken; 0 when none was yet. */
  readonly checkpoint: Milliseconds
  readonly skew_ms: number
}

/** The copies of partitions on one of several nodes, a row for each. */
export class CopyTable {
  readonly #table: CounterTable

  static make(partitions: number, at: Nanoseconds): CounterTableMemory {
    return CounterTable.make(partitions, columns.length, 0, at).memory
  }

  constructor(memory: CounterTableMemory) {
    this.#table = new CounterTable(memory)
  }

  /** For the thread that has the connection to the engine, and no other. What stands there of no partition is left out. */
  head(partition: number, last: number): void {
    if (partition < this.#table.rows) this.#put(partition, 'head', BigInt(last))
  }

  /** For the thread of the partition, and no other. */
  meter(partition: number): CopyMeter {
    const count = (column: Column): void => this.#table.add(partition, columns.indexOf(column), 1n)
    return {
      claimed: count,
      lost: () => count('lost'),
      checkpointed: (at) => this.#put(partition, 'checkpoint', BigInt(at)),
      skewed: (skew_ms) => this.#put(partition, 'skew', BigInt.asUintN(64, BigInt(Math.round(skew_ms)))),
    }
  }

  reading(partition: number): CopyReading {
    const cell = (column: Column): bigint => this.#table.cell(partition, columns.indexOf(column))
    return {
      head: Number(cell('head')),
      handedOver: Number(cell('handedOver')),
      takenOver: Number(cell('takenOver')),
      lost: Number(cell('lost')),
      checkpoint: Number(cell('checkpoint')) as Milliseconds,
      skew_ms: Number(BigInt.asIntN(64, cell('skew'))),
    }
  }

  #put(partition: number, column: Column, value: bigint): void {
    this.#table.put(partition, columns.indexOf(column), value)
  }
}
