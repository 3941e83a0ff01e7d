import { ProxyNotice } from '../../src/http/management-access.js'
import { ReadPool } from '../../src/lmdb/read-pool.js'
import { AlarmReports } from '../../src/log/alarms.js'
import type { Measures } from '../../src/measure/measures.js'
import type { SharedMemory } from '../../src/runtime/tasks.js'
import { ConnectionLimit, ForwardLimit, MailboxCapacity, ViewerLimit } from '../../src/shared-memory/limits.js'
import { ProtectedEndpoints } from '../../src/shared-memory/protected-endpoints.js'
import { RequestMemory } from '../../src/shared-memory/request-memory.js'
import { SharedSemaphore } from '../../src/shared-memory/semaphore.js'
import type { Bell } from '../../src/shared-memory/signals.js'
import { Versions } from '../../src/shared-memory/versions.js'

/** The memory that the threads of a broker with one partition share. */
export function sharedMemory(measures: Measures, bell: Bell): SharedMemory {
  return {
    measures: measures.memory,
    versions: [Versions.memory()],
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
