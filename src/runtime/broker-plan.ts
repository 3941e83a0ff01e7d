import type { Options } from '../flags/settings.js'
import { ProxyNotice } from '../http/management-access.js'
import { AlarmReports } from '../observe/log/alarms.js'
import { type Measures, rowsOf } from '../observe/measure/measures.js'
import type { DataFolder, FolderMaps } from '../storage/folder/data-folder.js'
import { Memtable } from '../storage/store/memtable.js'
import { ReadPool } from '../storage/store/read-pool.js'
import { ConnectionLimit, ForwardLimit, MailboxCapacity, ViewerLimit } from '../threads/shared-memory/limits.js'
import { ProtectedEndpoints } from '../threads/shared-memory/protected-endpoints.js'
import { RequestMemory } from '../threads/shared-memory/request-memory.js'
import { SharedSemaphore } from '../threads/shared-memory/semaphore.js'
import { newTransactions } from '../threads/shared-memory/sequences.js'
import { Bell } from '../threads/shared-memory/signals.js'
import { TenantRates } from '../threads/shared-memory/tenant-rates.js'
import { Versions } from '../threads/shared-memory/versions.js'
import type { BrokerPlan, SharedMemory, StoragePlan } from './tasks.js'

/** Read transactions beyond those of the pools: each thread keeps one of its own for single reads. */
const spareReaders = 256

/** The most read transactions of a partition that may be open at one time, over all threads. */
export function readersOf({ dbPoolSize, httpThreads, queryThreads }: Options): number {
  return dbPoolSize + httpThreads * (1 + queryThreads) + spareReaders
}

/**
 * What each HTTP thread takes of the address space, and the program beside: most of it is only reserved, for WebAssembly in Node's
 * HTTP client.
 */
const httpThread_bytes = 22 * 2 ** 30
const program_bytes = 14 * 2 ** 30
/** What each thread of a partition or for queries takes. */
const thread_bytes = 2 ** 30

/** The address space that a broker takes. */
export function mapsOf({ dbSizeMax_MiB, httpThreads, queryThreads }: Options): FolderMaps {
  return {
    sizeMax_bytes: dbSizeMax_MiB * 2 ** 20,
    others_bytes: (partitions) =>
      program_bytes + httpThreads * httpThread_bytes + (partitions + httpThreads * queryThreads) * thread_bytes,
  }
}

/** The name of this broker in notifications and forwarded requests, derived from the id of its folder. */
export function brokerIdOf(folderId: string): string {
  return folderId.replaceAll('-', '').slice(0, 16)
}

/** What all threads of a broker on this folder start with; the shared memory is new. */
export function newPlan(options: Options, folder: DataFolder, measures: Measures): BrokerPlan {
  const numbers = Array.from({ length: folder.partitions }, (_, number) => number)
  return {
    storage: storagePlan(options, folder, numbers),
    memory: newMemory(options, measures, numbers),
    transactions: newTransactions(),
    brokerId: brokerIdOf(folder.id),
    threadSilence_s: options.threadSilence_s,
  }
}

function storagePlan(options: Options, folder: DataFolder, numbers: readonly number[]): StoragePlan {
  return {
    paths: numbers.map((number) => folder.partitionPath(number)),
    sizeMax_bytes: options.dbSizeMax_MiB * 2 ** 20,
    keepFree_bytes: options.dbFreeMin_MiB * 2 ** 20,
    writers: folder.partitions + 1,
    durable: options.writeConcern === 1,
    maxReaders: readersOf(options),
  }
}

function newMemory(options: Options, measures: Measures, numbers: readonly number[]): SharedMemory {
  return {
    measures: measures.memory,
    versions: numbers.map(() => Versions.memory()),
    memtables: numbers.map(() => Memtable.memory()),
    pools: numbers.map(() => ReadPool.memory(options.dbPoolSize, rowsOf(measures.threads))),
    bell: new Bell().memory,
    endpoints: ProtectedEndpoints.memory(),
    permits: SharedSemaphore.memory(options.requestPermits),
    forwards: ForwardLimit.memory(),
    connections: ConnectionLimit.memory(options.maxConnections),
    requestMemory: RequestMemory.memory(),
    responseMemory: RequestMemory.memory(),
    proxies: ProxyNotice.memory(),
    rates: options.rateLimit && TenantRates.memory(options.rateLimit),
    alarms: AlarmReports.memory(),
    viewers: ViewerLimit.memory(),
    rooms: numbers.map(() => MailboxCapacity.memory()),
  }
}
