import type { Resource } from '../api.js'
import type { AlarmCount } from '../log/alarms.js'
import { verbs } from '../measure/counted-routes.js'
import { countersOf } from '../measure/counters.js'
import type { OutboxReading } from '../measure/delivery-table.js'
import type { Measures } from '../measure/measures.js'
import { rejections } from '../measure/requests.js'
import type { StorageReading } from '../measure/storage-table.js'
import { statusCodes } from '../measure/traffic-table.js'
import type { WaitKind } from '../measure/waits.js'
import { now } from '../time.js'
import { versionFacts } from '../version.js'
import { type Labels, MetricRegistry, type ReadBuckets, type Sample } from './metric-registry.js'
import type { ManagementParts } from './parts.js'
import { operation } from './response-forms.js'

/** Prometheus text, read from shared memory; never reset, and no label ever comes from a client [management 7]. */
export function prometheusResources({ measures, peers, broker }: ManagementParts): readonly Resource[] {
  const metrics = new MetricRegistry()
  addBrokerMetrics(metrics, measures, broker)
  addTrafficMetrics(metrics, measures)
  addPartitionMetrics(metrics, measures)
  addDeliveryMetrics(metrics, measures)
  addAlarmMetrics(metrics, peers)
  const waits = addWaitMetrics(metrics, measures)

  const get = operation('read', async () => {
    const ofProcess = peers.gather('process', undefined)
    const text = await metrics.text(measures.isOn('semWait') ? new Set() : waits)
    const body = [text, ...(await ofProcess)].filter((part) => part !== '').join('\n')
    return { status: 200, body, contentType: metrics.contentType }
  })
  return [{ pattern: '/metrics', anyCase: false, polled: true, operations: { GET: get } }]
}

function addBrokerMetrics(
  metrics: MetricRegistry,
  { switches, counts }: Measures,
  { subscriptions, registry }: ManagementParts['broker'],
): void {
  const { version, git_hash } = versionFacts
  const operations = countersOf('flat')
  metrics.gauge('rigel_build_info', 'What was built, always 1', ['version', 'git_hash', 'node_version'], () => [
    { labels: { version, git_hash, node_version: process.version }, value: 1 },
  ])
  metrics.counter('rigel_operations_total', 'Requests and events by the names of the statistics', ['operation'], () =>
    operations.map(({ name }) => ({ labels: { operation: name }, value: Number(counts.ever(name)) })),
  )
  metrics.gauge('rigel_trace_levels_enabled', 'Trace levels that are on', [], () =>
    switches.traces.reduce((sum, on) => sum + on, 0),
  )
  metrics.gauge('rigel_subscriptions', 'Context subscriptions', [], async () => {
    const { ids } = await subscriptions.index(false)
    return ids.length
  })
  metrics.gauge('rigel_registrations', 'Registrations of context providers', [], () => registry.index.size)
}

function addTrafficMetrics(metrics: MetricRegistry, measures: Measures): void {
  const { traffic } = measures
  /** What was requested at least once; routes are known only when all tables are there. */
  const requested = () =>
    measures.routes.all.flatMap(({ name, index }) =>
      verbs.flatMap((method, verb) => {
        const codes = statusCodes.map((code, column) => ({ code, value: traffic.responses(index, verb, column) }))
        const used = codes.filter(({ value }) => value > 0)
        return used.length === 0 ? [] : [{ route: name, index, method, verb, codes: used }]
      }),
    )
  const requestedRoutes = () => [...new Map(requested().map(({ route, index }) => [route, index]))]
  metrics.counter('rigel_http_requests_total', 'Requests answered', ['method', 'route', 'code'], () =>
    requested().flatMap(({ method, route, codes }) =>
      codes.map(({ code, value }): Sample => ({ labels: { method, route, code }, value })),
    ),
  )
  metrics.histogram('rigel_http_request_duration_seconds', "From a request's head to its answer", () =>
    requested().map(({ method, route, index, verb }) => [{ method, route }, traffic.durations(index, verb)]),
  )
  metrics.histogram('rigel_http_request_size_bytes', 'Payloads of requests', () =>
    requestedRoutes().map(([route, index]) => [{ route }, traffic.requestSizes(index)]),
  )
  metrics.histogram('rigel_http_response_size_bytes', 'Payloads of answers', () =>
    requestedRoutes().map(([route, index]) => [{ route }, traffic.responseSizes(index)]),
  )
  metrics.gauge('rigel_http_requests_in_flight', 'Requests being worked on', [], () => traffic.gauge('inFlight'))
  metrics.gauge('rigel_http_connections', 'Open connections', [], () => traffic.gauge('connections'))
  metrics.counter('rigel_http_rejected_total', 'Requests and connections turned away', ['reason'], () =>
    rejections.map((reason) => ({ labels: { reason }, value: traffic.rejections(reason) })),
  )
  metrics.gauge('rigel_request_semaphore_permits', 'Permits of the request semaphore', ['state'], () => [
    { labels: { state: 'free' }, value: traffic.gauge('permitsFree') },
    { labels: { state: 'taken' }, value: traffic.gauge('permitsTaken') },
  ])
  metrics.gauge('rigel_request_semaphore_queue', 'Requests that wait for a permit', [], () =>
    traffic.gauge('permitsQueued'),
  )
}

type PartitionHistogram = 'commitDurations' | 'commitOperations' | 'logDurations' | 'checkpointDurations' | 'loopDelays'

function addPartitionMetrics(metrics: MetricRegistry, measures: Measures): void {
  const { storageTable } = measures
  const partitions = partitionLabels(measures)
  const each = (value: (reading: StorageReading) => number) => () =>
    partitions.map(([labels, partition]): Sample => ({ labels, value: value(storageTable.reading(partition)) }))
  const eachHistogram = (part: PartitionHistogram) => () =>
    partitions.map(([labels, partition]) => [labels, storageTable.reading(partition)[part]] as const)
  const counter = (name: string, help: string, value: (reading: StorageReading) => number) =>
    metrics.counter(name, help, ['partition'], each(value))
  const gauge = (name: string, help: string, value: (reading: StorageReading) => number) =>
    metrics.gauge(name, help, ['partition'], each(value))

  metrics.gauge('rigel_mailbox_depth', 'Messages in the mailboxes', ['partition'], () =>
    partitions.map(([labels, partition]) => ({ labels, value: measures.mailboxDepthOf(partition) })),
  )
  counter('rigel_storage_commits_total', 'Turns committed', (reading) => reading.commitDurations.counts.at(-1) ?? 0)
  metrics.histogram(
    'rigel_storage_commit_duration_seconds',
    'Log, sync and commit of a turn',
    eachHistogram('commitDurations'),
  )
  metrics.histogram('rigel_storage_commit_operations', 'Commands of a turn', eachHistogram('commitOperations'))
  metrics.histogram('rigel_log_append_duration_seconds', 'Append and sync of a turn', eachHistogram('logDurations'))
  counter('rigel_log_appended_bytes_total', 'Size of what was appended', (reading) => reading.logged_bytes)
  metrics.histogram('rigel_checkpoint_duration_seconds', 'Checkpoints taken', eachHistogram('checkpointDurations'))
  gauge('rigel_storage_used_bytes', 'Size of the data', (reading) => reading.used_bytes)
  gauge('rigel_storage_map_bytes', 'Size of the memory map', (reading) => reading.map_bytes)
  gauge('rigel_entities', 'Entities stored', (reading) => reading.entities)
  counter('rigel_entities_expired_total', 'Entities removed because they had expired', (reading) => reading.expired)
  counter('rigel_worker_restarts_total', 'Threads of partitions replaced', (reading) => reading.restarts)
  metrics.counter('rigel_storage_damaged_total', 'Times that a damaged record was met', [], () => measures.damages)
  metrics.histogram('rigel_worker_event_loop_delay_seconds', 'How late event loops were', eachHistogram('loopDelays'))
}

function addDeliveryMetrics(metrics: MetricRegistry, { delivery }: Measures): void {
  const results = (counts: Readonly<Record<string, number>>): readonly Sample[] =>
    Object.entries(counts).map(([result, value]) => ({ labels: { result }, value }))
  const outboxes = (value: (outbox: OutboxReading) => number) => (): readonly Sample[] =>
    delivery.outboxes().map((outbox, number, { length }) => {
      // The last one is the coordinator's: of notifications that no single entity causes.
      const partition = number === length - 1 ? 'control' : String(number)
      return { labels: { partition }, value: value(outbox) }
    })
  metrics.counter('rigel_notifications_total', 'Notifications that left the queue', ['result'], () =>
    results(delivery.totals.notifications),
  )
  metrics.counter('rigel_notification_attempts_total', 'Attempts to notify', ['result'], () =>
    results(delivery.totals.attempts),
  )
  metrics.histogram('rigel_notification_attempt_duration_seconds', 'Attempts to notify', () => [
    [{}, delivery.totals.attemptDurations],
  ])
  metrics.histogram(
    'rigel_notification_queue_wait_seconds',
    'From the making of a notification to its acceptance',
    () => [[{}, delivery.totals.queueWaits]],
  )
  metrics.gauge(
    'rigel_notification_queue_depth',
    'Notifications that wait or are under way',
    ['partition'],
    outboxes(({ depth }) => depth),
  )
  metrics.gauge(
    'rigel_notification_queue_bytes',
    'Size of the notifications that wait or are under way',
    ['partition'],
    outboxes(({ bytes }) => bytes),
  )
  metrics.gauge('rigel_notification_oldest_age_seconds', 'Age of the oldest notification that waits', [], () =>
    delivery.oldest === undefined ? 0 : Math.max(0, now() - delivery.oldest) / 1000,
  )
}

function addAlarmMetrics(metrics: MetricRegistry, peers: ManagementParts['peers']): void {
  const each = (value: (count: AlarmCount) => number) => async (): Promise<readonly Sample[]> => {
    const counts = await peers.gather('alarms', undefined)
    return counts.flatMap((kinds) =>
      Object.entries(kinds).map(([alarm, count]): Sample => ({ labels: { alarm }, value: value(count) })),
    )
  }
  metrics.gauge(
    'rigel_alarms_active',
    'Alarms that are raised',
    ['alarm'],
    each(({ active }) => active),
  )
  metrics.counter(
    'rigel_alarms_raised_total',
    'Alarms raised since the start',
    ['alarm'],
    each(({ raised }) => raised),
  )
}

/** Gives the names of these metrics, which are shown only while the waits are measured. */
function addWaitMetrics(metrics: MetricRegistry, measures: Measures): ReadonlySet<string> {
  const partitions = partitionLabels(measures)
  const byPartition = (kind: WaitKind) => () =>
    partitions.map(([labels, partition]) => [labels, measures.waits.buckets(kind, partition)] as const)
  const waits: readonly (readonly [string, string, ReadBuckets])[] = [
    ['rigel_request_semaphore_wait_seconds', 'Waits for a permit', () => [[{}, measures.waits.buckets('request')]]],
    ['rigel_db_connection_pool_wait_seconds', 'Waits for a read handle', byPartition('dbConnectionPool')],
    ['rigel_transaction_semaphore_wait_seconds', 'Waits for a write transaction', byPartition('transaction')],
    ['rigel_mailbox_wait_seconds', 'Time spent in a mailbox', byPartition('mailbox')],
  ]
  for (const [name, help, read] of waits) metrics.histogram(name, help, read)
  return new Set(waits.map(([name]) => name))
}

function partitionLabels({ threads }: Measures): readonly (readonly [Labels, number])[] {
  return Array.from({ length: threads.partitions }, (_, partition) => [{ partition: String(partition) }, partition])
}
