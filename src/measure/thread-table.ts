import { constants, type PerformanceEntry, PerformanceObserver, performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { CounterTable, type CounterTableMemory } from '../shared-memory/counter-table.js'
import type { Nanoseconds } from '../time.js'

/** The collections of garbage that Node tells apart. */
export const garbageCollections = ['minor', 'major', 'incremental', 'weak_callbacks'] as const
export type GarbageCollection = (typeof garbageCollections)[number]

const collectionsByKind: ReadonlyMap<unknown, GarbageCollection> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weak_callbacks'],
])

const states = ['busy_ns', 'looked_ns', 'heapUsed', 'heapLimit', 'external'] as const
type State = (typeof states)[number]

/** For each kind of collection how many there were, and their time. */
const counts = states.length
const times = counts + garbageCollections.length
const width = times + garbageCollections.length

/** What a thread says of itself; sums are since the start of the process, over all threads that had its place. */
export interface ThreadReading {
  readonly busy: Nanoseconds
  /** When it last said so, by the monotonic clock. */
  readonly looked: Nanoseconds
  readonly heapUsed_bytes: number
  /** What its heap may grow to. */
  readonly heapLimit_bytes: number
  /** What its heap refers to outside of itself, buffers above all. */
  readonly external_bytes: number
  readonly collected: Readonly<Record<GarbageCollection, { readonly count: number; readonly time: Nanoseconds }>>
}

/** How busy each thread is and what its heap holds, a row for each, which it writes itself [management 7]. */
export class ThreadTable {
  readonly #table: CounterTable

  static make(rows: number, at: Nanoseconds): CounterTableMemory {
    return CounterTable.make(rows, width, 0, at).memory
  }

  constructor(memory: CounterTableMemory) {
    this.#table = new CounterTable(memory)
  }

  reading(row: number): ThreadReading {
    const state = (name: State) => this.#table.cell(row, states.indexOf(name))
    const collected = garbageCollections.map((kind, at) => {
      const [count, time] = [this.#table.cell(row, counts + at), this.#table.cell(row, times + at)]
      return [kind, { count: Number(count), time }] as const
    })
    return {
      busy: state('busy_ns'),
      looked: state('looked_ns'),
      heapUsed_bytes: Number(state('heapUsed')),
      heapLimit_bytes: Number(state('heapLimit')),
      external_bytes: Number(state('external')),
      collected: Object.fromEntries(collected) as ThreadReading['collected'],
    }
  }

  /** Writes the row of the calling thread, at once and every so often, until the function that it gives is called. */
  watch(row: number, interval_ms = 1000): () => void {
    const put = (state: State, value: number) => this.#table.put(row, states.indexOf(state), BigInt(value))
    let before = performance.eventLoopUtilization()
    const look = (): void => {
      const now = performance.eventLoopUtilization()
      const busy_ms = Math.max(0, now.active - before.active)
      before = now
      this.#table.add(row, states.indexOf('busy_ns'), BigInt(Math.round(busy_ms * 1e6)))
      this.#table.put(row, states.indexOf('looked_ns'), process.hrtime.bigint())
      const heap = getHeapStatistics()
      put('heapUsed', heap.used_heap_size)
      put('heapLimit', heap.heap_size_limit)
      put('external', heap.external_memory)
    }
    look()
    const timer = setInterval(look, interval_ms).unref()
    const observer = new PerformanceObserver((entries) => {
      for (const entry of entries.getEntries()) this.#collected(row, entry)
    })
    observer.observe({ entryTypes: ['gc'] })
    return () => {
      clearInterval(timer)
      observer.disconnect()
    }
  }

  #collected(row: number, entry: PerformanceEntry): void {
    const kind = collectionsByKind.get(kindNumberOf(entry))
    if (kind === undefined) return
    const at = garbageCollections.indexOf(kind)
    this.#table.add(row, counts + at, 1n)
    this.#table.add(row, times + at, BigInt(Math.round(entry.duration * 1e6)))
  }
}

/** The number that Node has for a kind of collection; its types do not say that an entry has one. */
function kindNumberOf(entry: PerformanceEntry): unknown {
  const detail = 'detail' in entry ? entry.detail : undefined
  return typeof detail === 'object' && detail !== null && 'kind' in detail ? detail.kind : undefined
}
