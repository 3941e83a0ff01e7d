import { ProxyNotice } from '../../src/http/management-access.js'
import { AlarmReports } from '../../src/observe/log/alarms.js'
import type { Measures } from '../../src/observe/measure/measures.js'
import type { SharedMemory } from '../../src/runtime/tasks.js'
import { ReadPool } from '../../src/storage/store/read-pool.js'
import { ConnectionLimit, ForwardLimit, MailboxCapacity, ViewerLimit } from '../../src/threads/shared-memory/limits.js'
import { ProtectedEndpoints } from '../../src/threads/shared-memory/protected-endpoints.js'
import { RequestMemory } from '../../src/threads/shared-memory/request-memory.js'
import { SharedSemaphore } from '../../src/threads/shared-memory/semaphore.js'
import type { Bell } from '../../src/threads/shared-memory/signals.js'
import { Versions } from '../../src/threads/shared-memory/versions.js'

/** The memory that the threads of a broker with one partition share. */
export function sharedMemory(measures: Measures, bell: Bell): SharedMemory {
  return {
    measures: measures.memory,
    versions: [Versions.memory()],
    memtables: [],
    pools: [ReadPool.memory(1)],
    endpoints: ProtectedEndpoints.memory(),
    bell: bell.memory,
    permits: SharedSemaphore.memory(1),
    connections: ConnectionLimit.memory(1),
    requestMemory: RequestMemory.memory(),
    responseMemory: RequestMemory.memory(),
    proxies: ProxyNotice.memory(),
    rates: undefined,
    forwards: ForwardLimit.memory(),
    alarms: AlarmReports.memory(),
    viewers: ViewerLimit.memory(),
    rooms: [MailboxCapacity.memory()],
  }
}
