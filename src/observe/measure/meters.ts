import { constants, type PerformanceEntry, PerformanceObserver, performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { Nanoseconds } from '../../time.js'
import type { FigureTable, RowOf } from './figure-table.js'
import type { GarbageCollection, nodeFigures, partitionFigures, threadFigures } from './figures.js'

type PartitionRow = RowOf<typeof partitionFigures>

/** For how many seconds an append counts as the longest one, at least; at most for twice as many. */
const longest_s = 60

/** The meter of a partition, for its own thread. It resets the state that a replaced thread has left. */
export function storageMeter(row: PartitionRow) {
  const [commitDurations, commitOperations] = [row.recorder('commitDurations'), row.recorder('commitOperations')]
  const [logDurations, logged_bytes] = [row.recorder('logDurations'), row.adder('logged_bytes')]
  const longestLog_ns = row.setter('longestLog_ns')
  const [entities, used_bytes, map_bytes] = [row.setter('entities'), row.setter('used_bytes'), row.setter('map_bytes')]
  const writing: (isWriting: boolean) => void = row.setter('isWriting')
  const full: (isFull: boolean) => void = row.setter('isFull')
  writing(false)
  full(false)
  let [longest, longestBefore, seconds]: [Nanoseconds, Nanoseconds, number] = [0n, 0n, 0]
  return {
    /** A turn was committed: its number of commands, and the time to log and apply it. */
    committed: (commands: number, duration: Nanoseconds): void => {
      commitDurations(duration)
      commitOperations(BigInt(commands))
    },
    /**
     * A record was appended to the log: its size, and the time until it stood there, durable unless `-writeConcern` is 0. Without a time it
     * has not waited for the disk, of which that time tells.
     */
    logged: (bytes: number, duration: Nanoseconds | undefined): void => {
      logged_bytes(BigInt(bytes))
      if (duration === undefined) return
      logDurations(duration)
      if (duration > longest) longest = duration
    },
    /** To be called every second: shows the longest append of late. */
    secondPassed: (): void => {
      longestLog_ns(Number(longest > longestBefore ? longest : longestBefore))
      seconds += 1
      if (seconds % longest_s > 0) return
      longestBefore = longest
      longest = 0n
    },
    checkpointed: row.recorder('checkpointDurations'),
    /** The number of entities and the sizes of the files, after a turn. */
    size: (count: number, used: number, most: number): void => {
      entities(count)
      used_bytes(used)
      map_bytes(most)
    },
    /** Whether a write transaction is open now. */
    writing,
    /** Whether the last commit failed because the disk or the map is full. */
    full,
  }
}

export type StorageMeter = ReturnType<typeof storageMeter>

/**
 * Measures ten times per second how late the event loop of this partition's thread is, until the function that it gives is
 * called.
 */
export function watchLoop(row: PartitionRow, interval_ms = 100): () => void {
  const interval = BigInt(interval_ms) * 1_000_000n
  let due = process.hrtime.bigint() + interval
  const timer = setInterval(() => {
    const at = process.hrtime.bigint()
    row.record('loopDelays', at > due ? at - due : 0n)
    due = at + interval
  }, interval_ms)
  timer.unref()
  return () => clearInterval(timer)
}

type ThreadRow = RowOf<typeof threadFigures>

const collectionsByKind: ReadonlyMap<unknown, GarbageCollection> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weak_callbacks'],
])

/**
 * Writes the utilisation and the heap of the calling thread into its row, at once and then periodically, until the function that
 * it gives is called [management 7].
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

/** Node's number for a kind of collection; Node's types lack it. */
function kindNumberOf(entry: PerformanceEntry): unknown {
  const detail = 'detail' in entry ? entry.detail : undefined
  return typeof detail === 'object' && detail !== null && 'kind' in detail ? detail.kind : undefined
}

/** The state of a node of a cluster, as its main thread knows it. */
export interface NodeStanding {
  readonly hasLease: boolean
  /** The numbers of listed nodes, of members, of partitions that this node owns, and of partitions without a known owner. */
  readonly listed: number
  readonly members: number
  readonly owned: number
  readonly unowned: number
  /** Partitions whose owners this node does not reach. */
  readonly unreached: number
}

type NodeTable = FigureTable<typeof nodeFigures.all>

/** Publishes the state; for the main thread of a node only. */
export function stand(node: NodeTable, standing: NodeStanding): void {
  const row = node.row(0)
  row.put('listed', standing.listed)
  row.put('members', standing.members)
  row.put('owned', standing.owned)
  row.put('unowned', standing.unowned)
  row.put('unreached', standing.unreached)
  row.put('hasLease', standing.hasLease)
  row.put('isNode', true)
}

/** Undefined without a cluster. */
export function standingOf(node: NodeTable): NodeStanding | undefined {
  if (node.value('isNode') === 0) return undefined
  return {
    hasLease: node.value('hasLease') === 1,
    listed: node.value('listed'),
    members: node.value('members'),
    owned: node.value('owned'),
    unowned: node.value('unowned'),
    unreached: node.value('unreached'),
  }
}
