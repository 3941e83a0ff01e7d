import { CounterTable, type CounterTableMemory } from '../shared-memory/counter-table.js'
import type { Milliseconds, Nanoseconds } from '../time.js'

/** What became of requests for a backup: one that is of no use was given up, or its moment could not be kept. */
export const backupResults = ['complete', 'failed', 'refused'] as const
export type BackupResult = (typeof backupResults)[number]

const last = { end_ms: backupResults.length, duration_ms: backupResults.length + 1, bytes: backupResults.length + 2 }
const width = backupResults.length + 3

/** The last backup that was complete. */
export interface LastBackup {
  readonly end: Milliseconds
  readonly duration_ms: number
  readonly bytes: number
}

/** Backups since the start of the process, written by the main thread [management 7]. */
export class BackupTable {
  readonly #table: CounterTable

  static make(at: Nanoseconds): CounterTableMemory {
    return CounterTable.make(1, width, 0, at).memory
  }

  constructor(memory: CounterTableMemory) {
    this.#table = new CounterTable(memory)
  }

  /** For the main thread only. */
  ended(result: BackupResult): void {
    this.#table.add(0, backupResults.indexOf(result), 1n)
  }

  /** One is complete; for the main thread only. */
  completed({ end, duration_ms, bytes }: LastBackup): void {
    this.#table.put(0, last.duration_ms, BigInt(Math.round(duration_ms)))
    this.#table.put(0, last.bytes, BigInt(bytes))
    this.#table.put(0, last.end_ms, BigInt(end))
    this.ended('complete')
  }

  count(result: BackupResult): number {
    return Number(this.#table.cell(0, backupResults.indexOf(result)))
  }

  /** Nothing while there was none. */
  get last(): LastBackup | undefined {
    const end = Number(this.#table.cell(0, last.end_ms))
    if (end === 0) return undefined
    return {
      end: end as Milliseconds,
      duration_ms: Number(this.#table.cell(0, last.duration_ms)),
      bytes: Number(this.#table.cell(0, last.bytes)),
    }
  }
}
