import type { LogLevel } from './measure/switches.js'

/** Everything that can be set from outside, complete and frozen; read once from the command line and the environment [management 9]. */
export interface Options {
  readonly port: number
  readonly localIp: string | undefined
  readonly family: 'both' | 'ipv4' | 'ipv6'
  readonly https: { readonly key: string; readonly cert: string } | undefined
  readonly corsOrigin: string | undefined
  readonly corsMaxAge_s: number
  readonly reqTimeout_s: number
  readonly connectionMemory_KiB: number
  readonly maxConnections: number
  /** Permits of the request semaphore, already 256 where 0 was given. */
  readonly requestPermits: number
  readonly reqMutexPolicy: 'all' | 'read' | 'write' | 'none'
  readonly inReqPayloadMaxSize: number
  readonly dbPoolSize: number
  readonly writeConcern: 0 | 1
  readonly multiservice: boolean
  readonly strictNgsiv1Ids: boolean
  readonly ngsiv1Autocast: boolean
  readonly statSemWait: boolean
  readonly statCounters: boolean
  readonly statTiming: boolean
  readonly statNotifQueue: boolean
  readonly disableMetrics: boolean
  /** Trace levels that are on at the start, as a checked expression. */
  readonly traceLevels: readonly number[]
  readonly logLevel: LogLevel
  readonly logFormat: 'json' | 'pipe' | 'humans'
  readonly logDir: string | undefined
  readonly logAppend: boolean
  readonly logSummary_s: number
  readonly relogAlarms: boolean
  readonly logLineMaxSize: number
  readonly logInfoPayloadMaxSize: number
  readonly logDeprecate: boolean
  readonly pidPath: string | undefined
  readonly dbPath: string
  /** Threads that accept and answer HTTP. */
  readonly httpThreads: number
  /** Partitions of a new data directory; nothing when the flag is not given. */
  readonly partitions: number | undefined
  /** Threads that run scans, for each HTTP thread. */
  readonly queryThreads: number
  /** Commands that may wait before one partition. */
  readonly mailboxSize: number
  /** Queries that may wait for a query thread, for each HTTP thread. */
  readonly queryQueueSize: number
  /** Largest size of one partition on disk. */
  readonly dbSizeMax_MiB: number
  readonly verbose: number
  readonly shutdownTimeout_s: number
  readonly adminPort: number | undefined
  readonly adminIp: string
  readonly adminToken: string | undefined
  /** Flags that were given and have no effect, for the one warning about them. */
  readonly ignored: readonly string[]
}
