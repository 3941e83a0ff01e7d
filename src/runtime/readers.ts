import { PartitionReaders } from '../broker/front-end/partition-readers.js'
import { RecentEntities } from '../broker/front-end/recent-entities.js'
import type { Log } from '../observe/log/log.js'
import type { Measures } from '../observe/measure/measures.js'
import { Memtable } from '../storage/store/memtable.js'
import { PartitionReader } from '../storage/store/partition-reader.js'
import { ReadPool } from '../storage/store/read-pool.js'
import { Versions } from '../threads/shared-memory/versions.js'
import { numbered, type SharedMemory, type StoragePlan } from './tasks.js'

/** Opens all partitions for reading in this thread, with a cache of this many bytes of records. */
export function openReaders(
  storage: StoragePlan,
  memory: SharedMemory,
  measures: Measures,
  readCache_bytes: number,
  log?: Log,
): PartitionReaders {
  const sides = storage.paths.map((path, number) => {
    const versions = new Versions(numbered(memory.versions, number))
    const memtable = memory.memtables[number]
    return {
      reader: new PartitionReader(path, storage, versions, memtable && new Memtable(memtable)),
      pool: new ReadPool(numbered(memory.pools, number), measures.row, measures.wait('dbConnectionPool', number), log),
      versions,
    }
  })
  return new PartitionReaders(sides, new RecentEntities(readCache_bytes))
}
