import { constants, type PerformanceEntry, PerformanceObserver, performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { RowOf } from './figure-table.js'
import type { GarbageCollection, threadFigures } from './figures.js'

type ThreadRow = RowOf<typeof threadFigures>

const collectionsByKind: ReadonlyMap<unknown, GarbageCollection> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weak_callbacks'],
])

/**
 * Writes how busy the calling thread is and what its heap holds into its row, at once and every so often, until the
 * function that it gives is called [management 7].
 */
export function watchUtilization(row: ThreadRow, interval_ms = 1000): () => void {
  let before = performance.eventLoopUtilization()
  const look = (): void => {
    const now = performance.eventLoopUtilization()
    const busy_ms = Math.max(0, now.active - before.active)
    before = now
    row.add('busy_ns', Math.round(busy_ms * 1e6))
    row.put('looked_ns', process.hrtime.bigint())
    const heap = getHeapStatistics()
    row.put('heapUsed_bytes', heap.used_heap_size)
    row.put('heapLimit_bytes', heap.heap_size_limit)
    row.put('external_bytes', heap.external_memory)
  }
  look()
  const timer = setInterval(look, interval_ms).unref()
  const observer = new PerformanceObserver((entries) => {
    for (const entry of entries.getEntries()) collected(row, entry)
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => {
    clearInterval(timer)
    observer.disconnect()
  }
}

function collected(row: ThreadRow, entry: PerformanceEntry): void {
  const kind = collectionsByKind.get(kindNumberOf(entry))
  if (kind === undefined) return
  row.add(`collections.${kind}`)
  row.add(`collectionTimes_ns.${kind}`, Math.round(entry.duration * 1e6))
}

/** The number that Node has for a kind of collection; its types do not say that an entry has one. */
function kindNumberOf(entry: PerformanceEntry): unknown {
  const detail = 'detail' in entry ? entry.detail : undefined
  return typeof detail === 'object' && detail !== null && 'kind' in detail ? detail.kind : undefined
}
