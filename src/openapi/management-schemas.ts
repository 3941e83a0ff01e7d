import { arraySchema, closedSchema, type JsonSchema, openSchema, schemaRef, textSchema } from './description.js'

const count: JsonSchema = { type: 'integer', minimum: 0 }
const seconds: JsonSchema = { type: 'number', minimum: 0 }
const flag: JsonSchema = { type: 'boolean' }
const secondsText = schemaRef('Seconds')
const date = schemaRef('Date')
const counts: JsonSchema = { type: 'object', additionalProperties: count }
const times: JsonSchema = { type: 'object', additionalProperties: seconds }
const health = { status: { enum: ['ok', 'unavailable'] } } as const
const metricsOfService = closedSchema({
  subservs: { type: 'object', additionalProperties: times },
  sum: times,
})
/** What a node of a cluster has counted and measured. */
const nodeSums = {
  counters: { ...counts, description: 'As `GET /statistics` has them: those that are not zero.' },
  notifQueue: closedSchema({
    ...Object.fromEntries(['in', 'out', 'reject', 'sentOk', 'sentError', 'size'].map((name) => [name, count])),
    timeInQueue: seconds,
  }),
  turns: closedSchema({
    count: { ...count, description: 'Turns of the partitions that it owns, since its start.' },
    operations: { ...count, description: 'Commands in them.' },
    logged_bytes: count,
  }),
  throughput: closedSchema({
    operations_per_sec: { ...seconds, description: 'On average since the start of the node.' },
    notifications_per_sec: seconds,
  }),
  partitions: closedSchema({
    owned: { ...count, description: 'Partitions that it owns now.' },
    handedOver: { ...count, description: 'Since its start: those that the owner before had released.' },
    takenOver: { ...count, description: 'Those that the owner before had not released.' },
    lost: { ...count, description: 'Those that another node took over while this one owned them.' },
    copyLag_records: { ...count, description: 'Records that its copies do not show yet.' },
  }),
}
const reading = {
  count: { ...count, description: 'How often it was asked for.' },
  waited: { ...count, description: 'How often there was a wait.' },
  ...Object.fromEntries(['total', 'max', 'p50', 'p90', 'p99', 'p999'].map((name) => [name, secondsText])),
}
/** With `details=on`. */
const distribution = {
  buckets: arraySchema(
    count,
    'How often a wait was at most as long as each of `bounds`, but longer than the one before; the last ones were longer.',
  ),
}
const partitions = arraySchema(closedSchema({ partition: count, ...reading }, distribution))
const waitsOfPartitions = closedSchema({ ...reading, partitions }, distribution)

/** How the deliveries of a subscription go: what is always there, and what may be absent [subscriptions 5.7]. */
export const deliveryState = [
  {
    id: schemaRef('Id'),
    servicePath: textSchema(),
    reference: textSchema('Where notifications go, without secrets.'),
    status: { enum: ['active', 'inactive', 'oneshot', 'failed', 'expired'] },
    timesSent: count,
    failsCounter: { ...count, description: 'Failed attempts in a row.' },
    queueDepth: { ...count, description: 'Notifications that wait or are under way.' },
    queueBytes: count,
    discarded: { ...count, description: 'Notifications dropped by a limit.' },
  },
  {
    service: textSchema('The tenant.'),
    expires: date,
    throttling: seconds,
    lastNotification: date,
    lastSuccess: date,
    lastSuccessCode: count,
    lastFailure: date,
    lastFailureReason: textSchema(),
    oldestQueued: date,
    nextAttempt: date,
  },
] as const

/** What the management shows [management 2 to 8]. */
export const managementSchemas: Readonly<Record<string, JsonSchema>> = {
  TraceLevels: {
    ...closedSchema({}, { tracelevels: textSchema(), tracelevels_removed: textSchema() }),
    minProperties: 1,
    description: 'Levels in normal form, such as `19, 21-25`; or what became of a request.',
  },
  Verbosity: closedSchema({ verboseLevel: textSchema() }),
  LogSettings: closedSchema({
    level: { enum: ['NONE', 'FATAL', 'ERROR', 'WARN', 'INFO', 'DEBUG'] },
    infoPayloadMaxSize: { ...count, description: 'Bytes of a payload that a line shows.' },
    lineMaxSize: { ...count, description: 'Bytes of the longest line.' },
    deprecate: { ...flag, description: 'Whether deprecated use is logged.' },
  }),
  Message: closedSchema({ message: textSchema() }),
  Statistics: {
    ...openSchema(
      { uptime_in_secs: count, measuring_interval_in_secs: count },
      {
        requestSemaphoreWaitingTime: secondsText,
        dbConnectionPoolWaitingTime: secondsText,
        transactionSemaphoreWaitingTime: secondsText,
        counters: {
          ...openSchema({}, { requests: { type: 'object', additionalProperties: counts }, deprecatedFeatures: counts }),
          additionalProperties: count,
        },
        semWait: times,
        timing: closedSchema({ accumulated: times, last: times }),
        notifQueue: {
          ...closedSchema({
            in: count,
            out: count,
            reject: count,
            sentOk: count,
            sentError: count,
            size: count,
            timeInQueue: seconds,
            avgTimeInQueue: seconds,
          }),
        },
      },
    ),
    description: 'Counters that were used since the last reset, and the parts that are switched on.',
    additionalProperties: count,
  },
  StatisticsParts: closedSchema({ counters: flag, semWait: flag, timing: flag, notifQueue: flag }),
  CacheStatistics: closedSchema({
    ids: textSchema('Ids of subscriptions, separated by commas and blanks.'),
    refresh: count,
    inserts: count,
    removes: count,
    updates: count,
    items: count,
  }),
  Waits: closedSchema(
    { enabled: flag },
    {
      measuring_interval_in_secs: count,
      since_ms: { ...count, description: 'When counting began. Another value: a reset lies between.' },
      interval: secondsText,
      bounds: arraySchema(seconds),
      waits: closedSchema(
        {
          request: closedSchema(reading, distribution),
          dbConnectionPool: waitsOfPartitions,
          transaction: waitsOfPartitions,
          mailbox: waitsOfPartitions,
        },
        // Of a broker in a cluster.
        { append: waitsOfPartitions },
      ),
    },
  ),
  Semaphores: {
    type: 'object',
    additionalProperties: closedSchema({ status: { enum: ['free', 'taken'] } }),
  },
  Metrics: closedSchema({
    services: { type: 'object', additionalProperties: metricsOfService },
    sum: metricsOfService,
  }),
  DeliveryState: closedSchema(...deliveryState),
  Version: closedSchema({
    orion: closedSchema(
      {
        version: textSchema(),
        uptime: textSchema('`D d, H h, M m, S s`'),
        git_hash: textSchema(),
        compile_time: textSchema(),
        compiled_by: textSchema(),
        compiled_in: textSchema(),
        release_date: textSchema(),
        machine: textSchema(),
        doc: textSchema(),
      },
      { libversions: { type: 'object', additionalProperties: textSchema() } },
    ),
  }),
  Cluster: closedSchema(
    {
      cluster: textSchema('Its name.'),
      prefix: textSchema('Where its keys begin in etcd.'),
      format: count,
      nodes: arraySchema(schemaRef('ClusterNode')),
      partitions: arraySchema(schemaRef('ClusterPartition')),
    },
    {
      node: textSchema('The one that was asked.'),
      coordinator: textSchema('Of several nodes: the one that coordinates. Absent while none is known to.'),
      copies: { ...count, description: 'Of several nodes: how many keep a copy of each partition.' },
      reads: {
        enum: ['confirmed', 'local'],
        description: 'Of several nodes: -clusterReads of the one that was asked.',
      },
    },
  ),
  ClusterNode: closedSchema(
    {
      name: textSchema(),
      slot: { ...count, description: 'Its number in the cluster.' },
      folder: textSchema('The id of its data folder.'),
      isMember: { ...flag, description: 'Whether it has a lease: it runs, and reaches etcd.' },
      owns: arraySchema(count, 'The partitions that it owns.'),
    },
    {
      leaseLeft_s: { ...count, description: 'Until the lease ends unless it is renewed.' },
      isLeaving: { ...flag, description: 'Whether it is about to end.' },
      isFull: { ...flag, description: 'Whether its disk has no room: it owns nothing while others have room.' },
      address: textSchema('Where other nodes reach it; empty where they do not.'),
      formats: arraySchema(count, 'The formats of records that it reads.'),
      unreachable: arraySchema(textSchema(), 'Nodes that it cannot reach.'),
    },
  ),
  ClusterStatistics: closedSchema({
    node: textSchema('The one that was asked.'),
    nodes: arraySchema(
      closedSchema(
        { name: textSchema() },
        {
          statistics: closedSchema({ uptime_in_secs: count, measuring_interval_in_secs: count, ...nodeSums }),
          reason: textSchema('Why the node has not said it.'),
        },
      ),
    ),
    all: closedSchema(nodeSums),
  }),
  ClusterPartition: closedSchema(
    {
      partition: count,
      last: { ...count, description: 'The sequence of the last record of its log.' },
      copies: arraySchema(
        closedSchema({
          node: textSchema(),
          checkpoint: { ...count, description: 'The last record that a checkpoint of it has.' },
          behind: {
            ...count,
            description: 'Records that its last checkpoint does not have, without those that change nothing.',
          },
        }),
      ),
    },
    {
      owner: textSchema('Absent while no node is known to own it.'),
      since: { ...count, description: 'The sequence of the record by which the owner has claimed the log.' },
    },
  ),
  Health: closedSchema(health, {
    reason: {
      enum: [
        'shutting down',
        'etcd does not answer',
        'partition not answering',
        'no lease in the cluster',
        'partition without owner',
        'no owner of a partition reached',
        'etcd is full',
        'storage full',
      ],
    },
    partitions: closedSchema({ total: count, ready: count }),
  }),
}
