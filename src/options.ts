import type { DestinationList } from './command-line/destination-list.js'
import type { NotificationMode } from './command-line/flag-values.js'
import type { LogLevel } from './shared-memory/switches.js'

/** Everything that can be set from outside, complete and frozen; read once from the command line and the environment [management 9]. */
export interface Options {
  readonly port: number
  readonly localIp: string | undefined
  readonly family: 'both' | 'ipv4' | 'ipv6'
  readonly https: { readonly key: string; readonly cert: string } | undefined
  readonly corsOrigin: string | undefined
  readonly corsMaxAge_s: number
  /** 0 for none; more than a timer can hold is given as the most that it can. */
  readonly reqTimeout_s: number
  readonly connectionMemory_KiB: number
  readonly maxConnections: number
  /** Requests of one connection that work at a time. */
  readonly connectionRequests: number
  /** 0 for none, as in the next two. */
  readonly idleTimeout_s: number
  /** For the body of a request; what comes of it earns more. */
  readonly bodyTimeout_s: number
  /** For a client that takes nothing of a response. */
  readonly sendTimeout_s: number
  /** For the heads and bodies of all requests that are not answered yet. */
  readonly requestMemory_MiB: number
  /** Large responses that are gathered or have not been sent. */
  readonly responseMemory_MiB: number
  /** Permits of the request semaphore, already 256 where 0 was given. */
  readonly requestPermits: number
  readonly reqMutexPolicy: 'all' | 'read' | 'write' | 'none'
  /** The longest wait of a request for a permit; 0 for none. */
  readonly reqMaxWait_ms: number
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
  /** Form of a line in the file, and on stdout unless lines there are for humans. */
  readonly logFormat: 'json' | 'pipe'
  readonly logForHumans: boolean
  /** Nothing with `-disableFileLog`. */
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
  /** Records that each partition keeps in memory. */
  readonly entityCache_MiB: number
  /** Characters of an entity as it is stored. */
  readonly entityMaxSize: number
  /** Entities that each front end keeps decoded, to answer what it has read lately without reading it again. */
  readonly readCache_MiB: number
  /** Bytes of the results of one read as they are stored. */
  readonly pageMaxSize: number
  /** Queries that may wait for a query thread, for each HTTP thread. */
  readonly queryQueueSize: number
  /** How long a query may take, from its arrival to its result. */
  readonly queryTimeout_ms: number
  /** Largest size of one partition on disk. */
  readonly dbSizeMax_MiB: number
  /** What is kept free of the disk: below that only removals are taken. */
  readonly dbFreeMin_MiB: number
  /** Size of the data of which every page is checked at the start. */
  readonly dbCheckSize_MiB: number
  readonly verbose: number
  readonly shutdownTimeout_s: number
  readonly adminPort: number | undefined
  readonly adminIp: string
  readonly adminToken: string | undefined
  /** For subscriptions and registrations. */
  readonly notifications: NotificationOptions
  /** Flags that were given and have no effect, for the one warning about them. */
  readonly ignored: readonly string[]
  /** Flags that were given and wait for a part of the broker that is not served yet, likewise. */
  readonly deferred: readonly string[]
}

/** How notifications are delivered and requests forwarded [subscriptions 5.5, 8.4]. */
export interface NotificationOptions {
  /** Time limit of one attempt and of one forwarded request. */
  readonly httpTimeout_ms: number
  readonly mode: NotificationMode
  readonly simulated: boolean
  /** Accept certificates of unknown authorities. */
  readonly insecure: boolean
  readonly forwardLimit: number
  /** Requests of clients that may wait for providers at one time. */
  readonly forwardsMax: number
  /** Of them, those that may wait for one provider. */
  readonly forwardsEach: number
  readonly forwardMaxSize: number
  /** Bytes of the responses to what one request causes to be forwarded, together. */
  readonly forwardResponseMaxSize: number
  readonly maxSize: number
  readonly retention_s: number
  readonly queueMax: number
  readonly queueMax_MB: number
  readonly retryMin_ms: number
  readonly retryMax_ms: number
  readonly perReceiver: number
  readonly total: number
  readonly accept: '2xx' | 'any'
  /** Where messages may go; without a list of what is allowed, everywhere that is not denied. */
  readonly destinations: { readonly allow: DestinationList | undefined; readonly deny: DestinationList | undefined }
  readonly initialLimit: number
  /** Of the notifications that are being sent. */
  readonly memory_MiB: number
  /** Subscriptions of a kind, of 1 KiB each on average. */
  readonly subscriptionsMax: number
  /** Steps that the patterns of the subscriptions of one tenant may take together with the longest id. */
  readonly patternSteps: number
  /** Subscriptions that may be about one entity. */
  readonly perEntity: number
  /** Registrations, of 1 KiB each on average. */
  readonly registrationsMax: number
  /** 0: what is expired is kept for ever. */
  readonly subscriptionGrace_days: number
}
