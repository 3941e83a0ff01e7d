import { CounterTable, type CounterTableMemory } from '../../threads/shared-memory/counter-table.js'
import type { Nanoseconds } from '../../time.js'
import { type TimingStage, timingStages } from './requests.js'

const reset = 0
/** Columns: the sums of the stages, those of the last request, its end, and how often the latter were written. */
const last = timingStages.length
const lastEnd = last + timingStages.length
const writes = lastEnd + 1
const width = writes + 1

/** Time by stage, without stages of zero [management 4.5]. */
export type StageTimes = ReadonlyMap<TimingStage, Nanoseconds>

/** The times of requests by stage: a row per front end [management 4.5]. */
export class TimingTable {
  readonly #table: CounterTable

  static make(frontEnds: number, at: Nanoseconds): CounterTableMemory {
    return CounterTable.make(frontEnds, width, 1, at).memory
  }

  constructor(memory: CounterTableMemory) {
    this.#table = new CounterTable(memory)
  }

  add(row: number, stage: number, duration: Nanoseconds): void {
    this.#table.add(row, stage, duration)
  }

  /** Publishes the stages of a completed request. The number of writes is odd while they are being written. */
  publish(row: number, stages: BigUint64Array, end: Nanoseconds): void {
    this.#table.add(row, writes, 1n)
    for (const [stage, duration] of stages.entries()) this.#table.put(row, last + stage, duration)
    this.#table.put(row, lastEnd, end)
    this.#table.add(row, writes, 1n)
  }

  /** The sums since the last reset. */
  get accumulated(): StageTimes {
    const from = this.#table.baseline(reset)
    return spent((stage) => from.since(stage))
  }

  /** The stages of the last completed request on any front end; empty when there was none since the last reset. */
  get last(): StageTimes {
    let latest = { end: this.#table.baselineAt(reset), stages: [] as Nanoseconds[] }
    for (let row = 0; row < this.#table.rows; row += 1) {
      const published = this.#published(row)
      if (published.end > latest.end) latest = published
    }
    return spent((stage) => latest.stages[stage] ?? 0n)
  }

  reset(at: Nanoseconds): void {
    this.#table.setBaseline(reset, at)
  }

  /**
   * Reads until no write came in between, so that the stages belong to one request. A thread that died during a write counts as
   * having no last request, since waiting for it would never end.
   */
  #published(row: number): { end: Nanoseconds; stages: Nanoseconds[] } {
    for (let attempt = 0; attempt < 1000; attempt += 1) {
      const before = this.#table.value(row, writes)
      const end = this.#table.value(row, lastEnd)
      const stages = timingStages.map((_, stage) => this.#table.value(row, last + stage))
      if (before % 2n === 0n && this.#table.value(row, writes) === before) return { end, stages }
    }
    return { end: 0n, stages: [] }
  }
}

function spent(duration: (stage: number) => Nanoseconds): StageTimes {
  const times = timingStages.map((name, stage) => [name, duration(stage)] as const)
  return new Map(times.filter(([, time]) => time > 0n))
}
