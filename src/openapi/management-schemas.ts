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
  Health: closedSchema(health, {
    reason: { enum: ['shutting down', 'partition not answering', 'storage full'] },
    partitions: closedSchema({ total: count, ready: count }),
  }),
}
