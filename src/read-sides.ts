import { PartitionReaders } from './coordinator/partition-readers.js'
import { PartitionReader } from './lmdb/partition-reader.js'
import { ReadPool } from './lmdb/read-pool.js'
import type { Log } from './log/log.js'
import type { Measures } from './measure/measures.js'
import { numbered, type SharedMemory, type StoragePlan } from './tasks.js'

/** Opens all partitions for reading in this thread. */
export function openReaders(
  storage: StoragePlan,
  memory: SharedMemory,
  measures: Measures,
  log?: Log,
): PartitionReaders {
  return new PartitionReaders(
    storage.paths.map((path, number) => ({
      reader: new PartitionReader(path, storage, numbered(memory.commits, number)),
      pool: new ReadPool(numbered(memory.pools, number), measures.wait('dbConnectionPool', number), log),
    })),
  )
}
