import { durationBuckets, operationBuckets } from './buckets.js'
import { computed, counter, counters, FigureList, gauge, gauges, hidden, histogram } from './figure.js'
import { rejections } from './requests.js'

/** The broker as a whole. */
export const brokerFigures = new FigureList([], {
  build: computed(
    'gauge',
    'rigel_build_info',
    'What runs, always 1: version, commit and version of Node are its labels',
    ['version', 'git_hash', 'node_version'],
  ),
  operations: computed(
    'counter',
    'rigel_operations_total',
    'Requests and events by the names that GET /statistics has for them',
    ['operation'],
  ),
  traceLevels: computed(
    'gauge',
    'rigel_trace_levels_enabled',
    'Trace levels that are on; each costs time and room in the log',
  ),
  certificateEnd: computed(
    'gauge',
    'rigel_certificate_expiry_timestamp_seconds',
    'When the certificate that new connections get expires, in seconds of Unix time; only with -https',
  ),
  subscriptions: computed('gauge', 'rigel_subscriptions', 'Subscriptions to changes of context'),
  registrations: computed('gauge', 'rigel_registrations', 'Registrations of context providers'),
})

/** Requests by resource, see `RouteTable`. */
export const requestFigures = new FigureList([], {
  requests: computed(
    'counter',
    'rigel_http_requests_total',
    'Requests answered, by HTTP status; for errors of NGSIv1, whose status is nearly always 200, see rigel_ngsi_errors_total',
    ['method', 'route', 'code'],
  ),
  errors: computed(
    'counter',
    'rigel_ngsi_errors_total',
    'Errors in responses to clients of NGSIv1 and NGSIv2: each code in the body counts, one for each element that failed; where the body has none, the HTTP status',
    ['method', 'route', 'code'],
  ),
  durations: computed(
    'histogram',
    'rigel_http_request_duration_seconds',
    'Time from the head of a request to its response',
    ['method', 'route'],
  ),
  requestSizes: computed('histogram', 'rigel_http_request_size_bytes', 'Sizes of the payloads of requests', ['route']),
  responseSizes: computed('histogram', 'rigel_http_response_size_bytes', 'Sizes of the payloads of responses', [
    'route',
  ]),
})

/** The outcomes of requests to context providers. */
export const forwardResults = ['answered', 'unreachable', 'empty', 'unreadable', 'refused', 'given_up'] as const
export type ForwardedResult = (typeof forwardResults)[number]

/** What arrives at the front ends, and what they forward: a row for each front end. */
export const frontEndFigures = new FigureList([], {
  inFlight: gauge('rigel_http_requests_in_flight', 'Requests that have begun and have no response yet'),
  connections: gauge('rigel_http_connections', 'Open connections of clients'),
  /** Errors within responses, without those of the console's own requests. */
  failures: hidden(),
  rejected: counters(
    'rigel_http_rejected_total',
    'Requests and connections turned away before their operation, by reason; overload and memory mean that more arrives than can be done',
    'reason',
    rejections,
  ),
  permits: gauges(
    'rigel_request_semaphore_permits',
    'Permits to work on a request (-reqPoolSize), free and taken',
    'state',
    ['free', 'taken'],
  ),
  permitsQueued: gauge('rigel_request_semaphore_queue', 'Requests that wait for a permit'),
  permitsLent: gauge(
    'rigel_request_semaphore_lent',
    'Permits of requests that wait for a node which answers nothing, and that others have meanwhile',
  ),
  queriesWaiting: gauge('rigel_query_queue_depth', 'Queries that wait for a query thread, over all front ends'),
  queriesRunning: gauge('rigel_queries_running', 'Queries that query threads are working on'),
  forwards: counters(
    'rigel_forwarded_requests_total',
    'Requests passed on to context providers, by what became of them; all but answered and given_up, whose client had gone or which got no permit in time, are failures',
    'result',
    forwardResults,
  ),
  forwardDurations: histogram(
    'rigel_forwarded_request_duration_seconds',
    'Time that requests passed on to context providers took, waits for a connection included',
    durationBuckets,
  ),
})

/** The state and the work of the partitions: a row for each partition, which its thread writes. */
export const partitionFigures = new FigureList(['partition'], {
  mailboxDepth: computed('gauge', 'rigel_mailbox_depth', 'Commands that wait in the mailbox of a partition'),
  commits: computed('counter', 'rigel_storage_commits_total', 'Turns committed'),
  commitDurations: histogram(
    'rigel_storage_commit_duration_seconds',
    'Time to log, sync and apply the changes of a turn',
    durationBuckets,
  ),
  commitOperations: histogram(
    'rigel_storage_commit_operations',
    'Commands that one turn carried out',
    operationBuckets,
  ),
  logDurations: histogram(
    'rigel_log_append_duration_seconds',
    'Time until the record of a turn was in the log and on disk',
    durationBuckets,
  ),
  longestLog_ns: gauge(
    'rigel_log_append_longest_seconds',
    'The longest time within the last minute or two until the record of a turn was in the log and on disk',
    { per: 1e9 },
  ),
  /** Without the log's own overhead per record. */
  logged_bytes: counter('rigel_log_appended_bytes_total', 'Size of the records appended to the log'),
  checkpointDurations: histogram('rigel_checkpoint_duration_seconds', 'Time to take a checkpoint', durationBuckets),
  used_bytes: gauge('rigel_storage_used_bytes', 'Size of the data of a partition'),
  map_bytes: gauge('rigel_storage_map_bytes', 'What the data of a partition may grow to (-dbSizeMax)'),
  left_bytes: computed(
    'gauge',
    'rigel_storage_left_bytes',
    'What the data of a partition may still grow by before -dbSizeMax',
  ),
  isFull: gauge('rigel_storage_full', '1 while a partition refuses updates because it is full, else 0'),
  entities: gauge('rigel_entities', 'Entities stored'),
  /** Written by the thread that has partitions swept. */
  expired: counter('rigel_entities_expired_total', 'Entities removed because they had expired'),
  /** Written by the thread that replaces those of partitions. */
  restarts: counter(
    'rigel_worker_restarts_total',
    'How often the thread of a partition was replaced because it had died',
  ),
  /** When that was last, in milliseconds since 1970; written by the same thread. */
  restarted_ms: hidden(),
  damages: computed(
    'counter',
    'rigel_storage_damaged_total',
    'Times that a damaged record was met in the data folder',
    [],
  ),
  loopDelays: histogram(
    'rigel_worker_event_loop_delay_seconds',
    'How late the event loop of a partition was, looked at ten times a second',
    durationBuckets,
  ),
  isWriting: hidden(),
})

/** The disk of the data. */
export const diskFigures = new FigureList([], {
  free: computed('gauge', 'rigel_disk_free_bytes', 'Free space on the disk of the data folder'),
  left: computed(
    'gauge',
    'rigel_disk_left_bytes',
    'What may still be written to the disk before updates are refused: the free space without -dbFreeMin',
  ),
})

/** The outcomes of requests for a backup. Failed: it was given up, or its moment could not be kept. */
const backupResults = ['complete', 'failed', 'refused'] as const

const onlySinceBackup = 'only when there was one since the start'

/** Backups: one row, which the main thread writes. */
export const backupFigures = new FigureList([], {
  results: counters(
    'rigel_backups_total',
    'Backups that were asked for: complete; failed, given up or of no use; refused, as another one was under way, the partitions did not stand still, or a node of a cluster could not confirm that it has everything',
    'result',
    backupResults,
  ),
  /** In milliseconds since 1970. */
  end: gauge(
    'rigel_backup_last_success_timestamp_seconds',
    `When the last complete backup was read, in seconds of Unix time; ${onlySinceBackup}`,
    { per: 1000, since: 'end' },
  ),
  duration_ms: gauge(
    'rigel_backup_last_duration_seconds',
    `How long the last complete backup took; ${onlySinceBackup}`,
    { per: 1000, since: 'end' },
  ),
  size_bytes: gauge(
    'rigel_backup_last_size_bytes',
    `Size of the files in the last complete backup; ${onlySinceBackup}`,
    { since: 'end' },
  ),
})

/** The connection to etcd: one row, which the thread with the connection writes. */
export const engineFigures = new FigureList([], {
  requestDurations: histogram(
    'rigel_cluster_append_request_duration_seconds',
    'Time until the engine of the cluster answered a request to append records',
    durationBuckets,
  ),
  records: counter('rigel_cluster_appended_records_total', 'Records in the requests that were answered'),
  unanswered: counter(
    'rigel_cluster_append_retries_total',
    'Requests to append records that were not answered in time, and were made again',
  ),
  fenced: counter('rigel_cluster_fenced_total', 'Records that another node was faster with'),
  neglected: counter(
    'rigel_cluster_neglected_total',
    'Times that the logs could not be truncated, or the engine not be compacted',
  ),
  isSilent: gauge('rigel_cluster_engine_silent', '1 while the engine of the cluster does not answer, else 0'),
  isFull: gauge('rigel_cluster_engine_full', '1 while the engine of the cluster has no room for records, else 0'),
  /** Whether it has been silent for so long that updates are refused. */
  isAway: hidden(),
})

/** This broker as a node: one row, which its main thread writes. */
export const nodeFigures = new FigureList([], {
  isNode: hidden(),
  listed: gauge('rigel_cluster_nodes', 'Nodes of the cluster, whether they run or not'),
  members: gauge('rigel_cluster_members', 'Nodes that have a lease, as far as this one knows'),
  hasLease: gauge('rigel_cluster_has_lease', '1 while this node has a lease, else 0'),
  owned: gauge('rigel_cluster_partitions_owned', 'Partitions that this node owns'),
  unowned: gauge('rigel_cluster_partitions_unowned', 'Partitions that no node is known to own, for more than a second'),
  /** Partitions whose owners this node does not reach. */
  unreached: hidden(),
})

/** The replicas of partitions on this node: a row for each partition, which its thread writes. */
export const replicaFigures = new FigureList(['partition'], {
  elections: counters(
    'rigel_cluster_elections_total',
    'Partitions that this node came to own: released by the owner before (handover), or not (takeover)',
    'kind',
    ['handover', 'takeover'],
    { isSummed: true },
  ),
  lost: counter('rigel_cluster_lost_total', 'Partitions that another node took over while this one owned them', {
    isSummed: true,
  }),
  lag: computed(
    'gauge',
    'rigel_cluster_replica_lag_records',
    'Records of the log of a partition that its replica on this node does not show yet',
  ),
  /** In milliseconds since 1970; 0 when none was taken yet. */
  checkpoint: gauge(
    'rigel_cluster_checkpoint_timestamp_seconds',
    'When the last checkpoint of a partition was taken on this node, in seconds of Unix time; only when there was one since the start',
    { per: 1000, since: 'checkpoint' },
  ),
  skew_ms: gauge(
    'rigel_cluster_clock_skew_seconds',
    'How far the clock of this node is ahead of that of the owner of a partition, with the way of a record; negative: behind',
    { per: 1000 },
  ),
  /** The last known record of the partition's log; written by the thread with the connection to etcd. */
  head: hidden(),
})

/** Batches of commands that other nodes carry out: a row for each front end. */
export const remoteFigures = new FigureList([], {
  batchDurations: histogram(
    'rigel_cluster_remote_batch_duration_seconds',
    'Time until another node answered a batch of commands for a partition that it owns, or its connection broke',
    durationBuckets,
  ),
})

/** Notifications: outcomes and times. One row, which the courier writes. */
export const deliveryFigures = new FigureList([], {
  stored: hidden(),
  /** The sum of the columns that follow. It stands before them, because a reset reads the columns in order, see `DeliveryFigures.meter`. */
  left: hidden(),
  notifications: counters(
    'rigel_notifications_total',
    'Notifications that left the queue: accepted by their receiver, dropped by a limit, or simulated (-simulatedNotification)',
    'result',
    ['accepted', 'dropped', 'simulated'],
  ),
  attempts: computed(
    'counter',
    'rigel_notification_attempts_total',
    'Attempts to notify: accepted; trouble, which is tried again; refused by the receiver',
    ['result'],
  ),
  trouble: hidden(),
  refused: hidden(),
  timeInQueue_ns: hidden(),
  attemptDurations: histogram(
    'rigel_notification_attempt_duration_seconds',
    'Time that attempts to notify took',
    durationBuckets,
  ),
  queueWaits: histogram(
    'rigel_notification_queue_wait_seconds',
    'Time from the making of a notification to its acceptance',
    durationBuckets,
  ),
})

/** A row for each outbox: those of the partitions, then the coordinator's. */
export const outboxFigures = new FigureList(['partition'], {
  depth: gauge(
    'rigel_notification_queue_depth',
    'Notifications in an outbox that wait or are under way; control has those that no single entity causes',
  ),
  bytes: gauge('rigel_notification_queue_bytes', 'Size of the notifications in an outbox that wait or are under way'),
})

/** The state of the courier. */
export const courierFigures = new FigureList([], {
  streams: gauge('rigel_notification_streams', 'Clients that listen to subscriptions by event streams (-sseListeners)'),
  unread: gauge(
    'rigel_notification_unread',
    'Notifications from before the start that were not read from the outboxes yet, at most; they count as waiting',
  ),
  oldestAge: computed(
    'gauge',
    'rigel_notification_oldest_age_seconds',
    'Age of the oldest notification that waits to be sent; of no inactive subscription, and of none with listeners',
  ),
  /** When the notification of `oldestAge` was made, in milliseconds since 1970; 0 when none waits. */
  oldest: hidden(),
  /** Notifications that wait for subscriptions which are inactive or have listeners. */
  withheld: hidden(),
  /** Connections to MQTT brokers that are being opened [management 6.3]. */
  opening: hidden(),
})

/** The kinds of garbage collections that Node distinguishes. */
const garbageCollections = ['minor', 'major', 'incremental', 'weak_callbacks'] as const
export type GarbageCollection = (typeof garbageCollections)[number]

/** Sums since the start of the process, over all threads that had the row; each thread writes its own. */
export const threadFigures = new FigureList(['kind', 'number'], {
  busy_ns: counter(
    'rigel_thread_busy_seconds_total',
    'Time that a thread was busy: its rate is the busy share; front end 0 is the main thread',
    { per: 1e9 },
  ),
  longestStep: computed(
    'gauge',
    'rigel_thread_longest_step_seconds',
    'The longest time within the last minute or two in which a thread worked on one thing and did nothing else',
  ),
  heapUsed_bytes: gauge(
    'rigel_thread_heap_used_bytes',
    'What is in the heap of a thread, garbage that was not collected yet included',
  ),
  heapLimit_bytes: gauge(
    'rigel_thread_heap_limit_bytes',
    'What the heap of a thread may grow to: a thread that needs more dies and is replaced, the main thread ends the process',
  ),
  external_bytes: gauge(
    'rigel_thread_external_bytes',
    'Memory outside of the heap of a thread that it refers to, buffers above all',
  ),
  collections: counters(
    'rigel_thread_collections_total',
    'Collections of garbage in the heap of a thread, by kind',
    'collection',
    garbageCollections,
  ),
  collectionTimes_ns: counters(
    'rigel_thread_collection_seconds_total',
    'Time that collections of garbage in the heap of a thread took, by kind',
    'collection',
    garbageCollections,
    { per: 1e9 },
  ),
  /** When the thread has reported, by the monotonic clock. */
  looked_ns: hidden(),
})

/** The memory of the process, and of the machine or container that it runs in. */
export const memoryFigures = new FigureList([], {
  used: computed(
    'gauge',
    'rigel_memory_used_bytes',
    'Memory that the process holds, without the pages of mapped data files, which the system takes back when it needs them',
  ),
  limit: computed(
    'gauge',
    'rigel_memory_limit_bytes',
    'Memory of the machine, or of the container where that has less',
  ),
  left: computed(
    'gauge',
    'rigel_memory_left_bytes',
    'Memory that the process may still take: up to its limit, or what other processes have left of the machine',
  ),
})

export const alarmFigures = new FigureList(['alarm'], {
  active: computed(
    'gauge',
    'rigel_alarms_active',
    'Alarms that are raised now, by kind: the log names whom they are about',
  ),
  raised: computed('counter', 'rigel_alarms_raised_total', 'Alarms raised since the start, by kind'),
})

const onlyMeasured = 'only while waits are measured (-mutexTimeStat)'

/** The waits of requests [management 5]. */
export const waitFigures = new FigureList(['partition'], {
  request: computed(
    'histogram',
    'rigel_request_semaphore_wait_seconds',
    `Waits of requests for a permit to work; ${onlyMeasured}`,
    [],
  ),
  dbConnectionPool: computed(
    'histogram',
    'rigel_db_connection_pool_wait_seconds',
    `Waits for a read handle of a partition; ${onlyMeasured}`,
  ),
  transaction: computed(
    'histogram',
    'rigel_transaction_semaphore_wait_seconds',
    `Waits for the write transaction of a partition, while the turn before is under way; ${onlyMeasured}`,
  ),
  mailbox: computed(
    'histogram',
    'rigel_mailbox_wait_seconds',
    `Waits in the mailbox of a partition until its thread takes the command out; ${onlyMeasured}`,
  ),
})

/** Facts about the process that only the main thread knows. */
export const processFigures = new FigureList([], {
  droppedLines: computed(
    'counter',
    'rigel_log_lines_dropped_total',
    'Lines of the log that were dropped because they could not be written fast enough, or because their reader had gone',
  ),
})
