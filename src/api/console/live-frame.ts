/**
 * What `GET /admin/live` sends, as JSON: an event `hello` once, then an event `frame` every second. With the URI parameter `history`
 * an event `history` stands between them.
 *
 * All counts are since the start of the process and never fall, so a lost frame loses no counts. A rate is the difference of two
 * frames, divided by the difference of their `time_ms`. If `processStart_ms` has changed, the broker was
 * restarted and all counts began at zero. Only waits count since their last reset, whose time is `since_ms`.
 *
 * This file has types only, so that the page can import it.
 */

/** Figures that do not change while the process lives. */
export interface LiveHello {
  readonly version: string
  /** 40 hexadecimal digits or `nogitversion`. */
  readonly gitHash: string
  /** Name of the machine. */
  readonly host: string
  /** Name of the broker (`-name`); by default that of the machine. */
  readonly name: string
  readonly processStart_ms: number
  /** How often frames come. */
  readonly interval_ms: number
  readonly partitions: number
  /** Whether an update is durable before its response (`-writeConcern 1`). */
  readonly isDurable: boolean
  /**
   * Whether the console may not change anything: the broker has no token, and either other machines can reach the port or the
   * request is from another machine.
   */
  readonly isReadOnly: boolean
  /** The bounds of the buckets of all durations, in seconds; a last bucket has longer ones. */
  readonly durationBounds_s: readonly number[]
  /** The names of `requests[].route`, by number. */
  readonly routes: readonly LiveRoute[]
  /** The names of `requests[].method`, by number. */
  readonly methods: readonly string[]
  /** HTTP status codes: the names of the codes of `requests`, by number. */
  readonly statusCodes: readonly string[]
  /** The names of the codes of `errors`, by number. */
  readonly errorCodes: readonly string[]
  /** The names of the numbers of `rejected`. */
  readonly rejections: readonly string[]
  /** The names of the numbers of `forwards`. */
  readonly forwardResults: readonly string[]
  /** The threads, in the order of `threads` of a frame. */
  readonly threads: readonly LiveThread[]
  /** The most commands in the mailbox of a partition (`-mailboxSize`). */
  readonly mailboxSize: number
  /** The most bytes of data in one partition (`-dbSizeMax`). */
  readonly map_bytes: number
  /** Free space of the disk that updates leave alone (`-dbFreeMin`). */
  readonly keepFree_bytes: number
  readonly memoryLimit_bytes: number
}

export interface LiveRoute {
  /** `unknown` for unknown paths. */
  readonly name: string
  /** The methods with which it changes entities. */
  readonly updates: readonly string[]
  /** The methods with which it reads entities. */
  readonly reads: readonly string[]
}

export interface LiveThread {
  /** Front end 0 is the main thread. */
  readonly kind: 'frontEnd' | 'partition' | 'queryThread' | 'courier'
  /** Its number within its kind. */
  readonly number: number
}

/**
 * The counts of buckets in short form: the number of the first bucket with values, its count, and the counts of the following
 * ones up to the last with values. `[3, 10, 0, 2]` is 10 in bucket 3 and 2 in bucket 5; empty when there are none.
 */
export type LiveBuckets = readonly number[]

export interface LiveFrame {
  readonly processStart_ms: number
  /**
   * The number of the frame, one more than that of the frame before unless frames are lost. It begins again when there was no
   * viewer for a while.
   */
  readonly sequence: number
  readonly time_ms: number
  /** Only routes and methods with requests. */
  readonly requests: readonly LiveRequests[]
  /** Sizes of payloads by route: route, bytes of requests, bytes of responses. Only of routes with requests. */
  readonly sizes: readonly (readonly [route: number, request_bytes: number, response_bytes: number])[]
  /** Errors within responses, one for each failed element: route, method, code, count. Only those that happened. */
  readonly errors: readonly (readonly [route: number, method: number, code: number, count: number])[]
  /** Rejected before the operation, in the order of `rejections`. */
  readonly rejected: readonly number[]
  /** Requests to context providers, in the order of `forwardResults`. */
  readonly forwards: readonly number[]
  readonly now: LiveGauges
  /** Null while waits are not measured (`-mutexTimeStat`). */
  readonly waits: LiveWaits | null
  readonly partitions: LivePartitions
  /**
   * The distributions of partitions: of all of them up to 64; of more, each frame has those of 64, in turns. They are cumulative
   * like all other figures, so they stay valid until the next frame that has them.
   */
  readonly distributions: readonly LiveDistributions[]
  /** In the order of `threads` of the hello. */
  readonly threads: readonly LiveThreadCounts[]
  readonly deliveries: LiveDeliveries
  readonly alarms: LiveAlarms
  /**
   * Of each kind the hosts with most active alarms, ten at most. Null for requests that may not read `/admin/alarms`: `alarms`
   * has their numbers.
   */
  readonly alarmGroups: readonly LiveAlarmGroup[] | null
  readonly memory: LiveMemory
  readonly disk: LiveDisk
  /** Lines of the log that could not be written and were dropped. */
  readonly logLinesDropped: number
}

/** Requests on a route with a method. */
export interface LiveRequests {
  readonly route: number
  readonly method: number
  /** Alternating: the number of a status code, and how many responses had it. */
  readonly codes: readonly number[]
  /** From the head of a request to its response. */
  readonly durations: LiveBuckets
  readonly total_s: number
}

export interface LiveGauges {
  readonly connections: number
  /** Requests without a response yet. */
  readonly inFlight: number
  readonly permitsFree: number
  readonly permitsTaken: number
  /** Requests that wait for a permit. */
  readonly permitsQueued: number
  readonly queriesWaiting: number
  readonly queriesRunning: number
}

/** Uses of a resource and the waits for it, as in `GET /admin/waits`. */
export interface LiveWait {
  readonly count: number
  /** Uses that had to wait. */
  readonly waited: number
  /** Nanoseconds as digits, since they may exceed the precision of a JSON number. */
  readonly total_ns: string
  readonly max_ns: string
}

/** Over all partitions. */
export interface LiveWaitDistribution extends LiveWait {
  /** Of the uses that waited. */
  readonly buckets: LiveBuckets
}

export interface LiveWaits {
  /**
   * When the measurement began: at the last reset, or when it was switched on. A different value means a different measurement.
   */
  readonly since_ms: number
  readonly request: LiveWaitDistribution
  readonly dbConnectionPool: LiveWaitDistribution
  readonly transaction: LiveWaitDistribution
  readonly mailbox: LiveWaitDistribution
  /** By partition: count, waited, total_ns, max_ns of the read handle, the write transaction and the mailbox in this order. */
  readonly partitions: readonly (readonly [
    dbConnectionPool: LivePartitionWait,
    transaction: LivePartitionWait,
    mailbox: LivePartitionWait,
  ])[]
}

/** The short form of `LiveWait`, as there are many. */
export type LivePartitionWait = readonly [count: number, waited: number, total_ns: string, max_ns: string]

/** The figures of the partitions, each with one number per partition, in order. */
export interface LivePartitions {
  /** Commands in the mailbox now. */
  readonly mailboxDepth: readonly number[]
  /** Committed turns. */
  readonly commits: readonly number[]
  /** Commands in the committed turns. */
  readonly commands: readonly number[]
  /** The time to log, sync and apply the turns. */
  readonly commit_s: readonly number[]
  readonly entities: readonly number[]
  readonly used_bytes: readonly number[]
  /** Size of the records appended to the log. */
  readonly logged_bytes: readonly number[]
  /** How often the thread was replaced because it had died. */
  readonly restarts: readonly number[]
  /** When that was last; 0 for never. */
  readonly restarted_ms: readonly number[]
  /** 1 while it refuses updates because of a lack of space, otherwise 0. */
  readonly isFull: readonly number[]
}

export interface LiveDistributions {
  readonly partition: number
  readonly commits: LiveBuckets
  /** Until the record of a turn was durable in the log. */
  readonly syncs: LiveBuckets
  /** Of the uses that waited; empty while waits are not measured. */
  readonly dbConnectionPool: LiveBuckets
  readonly transaction: LiveBuckets
  readonly mailbox: LiveBuckets
}

/** The report of a thread, once a second. Its utilisation is the difference of `busy_ms` divided by that of `looked_ms`. */
export type LiveThreadCounts = readonly [
  busy_ms: number,
  /** Time of the report since the start of the process. */
  looked_ms: number,
  heapUsed_bytes: number,
  heapLimit_bytes: number,
]

export interface LiveDeliveries {
  /** Notifications that left the queue. */
  readonly accepted: number
  readonly dropped: number
  readonly simulated: number
  /** Failed attempts: `trouble` are tried again, `refused` are given up because the receiver refused. */
  readonly trouble: number
  readonly refused: number
  /** Durations of attempts. */
  readonly attempts: LiveBuckets
  /** From the making of a notification to its acceptance. */
  readonly queueWaits: LiveBuckets
  /**
   * The notices that wait or are under way, by outbox: those of the partitions, then the coordinator's, whose notices no single
   * entity causes.
   */
  readonly outboxes: readonly (readonly [depth: number, bytes: number])[]
  /** When the oldest waiting notification was made, without those of `withheld`. */
  readonly oldest_ms: number | null
  /** The number of notices that wait for subscriptions which are inactive or have listeners. */
  readonly withheld: number
  /**
   * The receivers for which most notifications wait, as of at most some seconds ago; twenty at most. Subscriptions that are
   * inactive or have listeners are left out. Null for requests that may not read `/admin/receivers`.
   */
  readonly backlogs: readonly LiveBacklog[] | null
}

/** The notifications that wait for a receiver or are under way to it. */
export interface LiveBacklog {
  /** Scheme, host and port, or MQTT broker. */
  readonly receiver: string
  readonly depth: number
  /** When the oldest of them was made. */
  readonly oldest_ms: number
  /** The average duration of recent attempts; null without attempts since the start. */
  readonly latency_ms: number | null
}

/** The active alarms of one kind about one host. */
export interface LiveAlarmGroup {
  readonly kind: string
  /** The scheme, host and port of a URL, the MQTT broker, or the address of a client; empty where the kind says it all. */
  readonly host: string
  /** The URL or address of its first alarm; empty where the kind says it all. */
  readonly subject: string
  /** The number of its alarms. */
  readonly alarms: number
  /** Since when the first of them is active. */
  readonly since_ms: number
  /** How often their conditions have occurred, and when last. */
  readonly occurrences: number
  readonly last_ms: number
  /** The reason of the last occurrence. */
  readonly reason: string
  /** Whether all of them are about a lack of space, which `partitions.isFull` and `disk` tell by figures. */
  readonly isOfRoom: boolean
}

/** By kind: active now, raised since the start, and the number of hosts that the active ones are about. */
export type LiveAlarms = Readonly<Record<string, readonly [active: number, raised: number, hosts: number]>>

export interface LiveMemory {
  /** Memory of the process without the pages of mapped data files. */
  readonly used_bytes: number
  /** Memory of the process with the pages of mapped data files. */
  readonly resident_bytes: number
  /** Memory that the process may still allocate. */
  readonly left_bytes: number
}

export interface LiveDisk {
  /** Null until the disk has answered. */
  readonly free_bytes: number | null
  /** The bytes that can be written before updates are refused. */
  readonly left_bytes: number | null
  /** The used share of `map_bytes` in the fullest partition. */
  readonly fullestMap: number
}

/** What charts show of the last seconds before the first frame, as many as `history` asks for; `all` is half an hour. */
export interface LiveHistory {
  /** One for each five seconds, the oldest first; the last may be shorter. None of a time in which the process slept. */
  readonly samples: readonly LiveSample[]
}

/** What happened within the `over_s` seconds before `time_ms`; unlike those of frames, its counts are of that time alone. */
export interface LiveSample {
  readonly time_ms: number
  readonly over_s: number
  /** Durations of requests that change entities, and of those that read some. */
  readonly updates: LiveBuckets
  readonly reads: LiveBuckets
  /** Errors within responses, without those of the console's own requests. */
  readonly errors: number
  /** Notifications that were accepted or simulated. */
  readonly notified: number
  /** The age of the oldest waiting notification, at the end. */
  readonly lag_s: number
  /** Null while waits are not measured, or with more than 32 partitions. */
  readonly waits: Readonly<Record<'request' | 'mailbox' | 'transaction' | 'dbConnectionPool', LiveBuckets>> | null
}
