import type { Nanoseconds } from '../time.js'
import type { RowOf } from './figure-table.js'
import type { partitionFigures } from './figures.js'

type PartitionRow = RowOf<typeof partitionFigures>

/** What a partition reports of its storage. */
export interface StorageMeter {
  /** A turn was committed: how many commands it held, and how long it took to log and to apply it. */
  committed(commands: number, duration: Nanoseconds): void
  /** A record was appended to the log: its size, and how long it took until it was on disk. */
  logged(bytes: number, duration: Nanoseconds): void
  checkpointed(duration: Nanoseconds): void
  /** The number of entities and the sizes of the files, after a turn. */
  size(entities: number, used_bytes: number, map_bytes: number): void
  /** Whether a write transaction is open now. */
  writing(isWriting: boolean): void
  /** Whether the last commit failed because the disk or the map is full. */
  full(isFull: boolean): void
}

/** The meter of a partition, for its own thread. It ends what a thread that was replaced had begun. */
export function storageMeter(row: PartitionRow): StorageMeter {
  const [commitDurations, commitOperations] = [row.recorder('commitDurations'), row.recorder('commitOperations')]
  const [logDurations, logged_bytes] = [row.recorder('logDurations'), row.adder('logged_bytes')]
  const [entities, used_bytes, map_bytes] = [row.setter('entities'), row.setter('used_bytes'), row.setter('map_bytes')]
  const meter: StorageMeter = {
    committed: (commands, duration) => {
      commitDurations(duration)
      commitOperations(BigInt(commands))
    },
    logged: (bytes, duration) => {
      logDurations(duration)
      logged_bytes(BigInt(bytes))
    },
    checkpointed: row.recorder('checkpointDurations'),
    size: (count, used, most) => {
      entities(count)
      used_bytes(used)
      map_bytes(most)
    },
    writing: row.setter('isWriting'),
    full: row.setter('isFull'),
  }
  meter.writing(false)
  meter.full(false)
  return meter
}

/** Measures ten times per second how late the event loop of this partition's thread is, until the function that it gives is called. */
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
