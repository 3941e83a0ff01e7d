import { Registry } from 'prom-client'
import type { Resource } from '../api.js'
import type { AlarmCount } from '../log/alarms.js'
import { type CounterRow, counterRows } from '../measure/counters.js'
import type { OutboxReading } from '../measure/delivery-table.js'
import type { Measures } from '../measure/measures.js'
import { rejections } from '../measure/requests.js'
import { verbs } from '../measure/routes.js'
import type { StorageReading } from '../measure/storage-table.js'
import { statusCodes } from '../measure/traffic-table.js'
import type { WaitKind } from '../measure/waits.js'
import { now } from '../time.js'
import { versionFacts } from '../version.js'
import { operation } from './answers.js'
import { counter, type Family, gauge, histogram, type Labels, plain, registryOf, type Sample } from './families.js'
import type { ManagementParts } from './parts.js'

/** Prometheus text, read from shared memory; never reset, and no label ever comes from a client [management 7]. */
export function prometheusResources({ measures, peers, broker }: ManagementParts): readonly Resource[] {
  const always = registryOf([
    ...brokerFamilies(measures, broker),
    ...trafficFamilies(measures),
    ...partitionFamilies(measures),
    ...deliveryFamilies(measures),
    ...alarmFamilies(peers),
  ])
  const whileMeasured = registryOf(waitFamilies(measures))

  const get = operation('read', async () => {
    const ofProcess = peers.gather('process', undefined)
    const registry = measures.isOn('semWait') ? Registry.merge([always, whileMeasured]) : always
    const texts = [await registry.metrics(), ...(await ofProcess)]
    const body = texts.filter((text) => text !== '').join('\n')
    return { status: 200, body, contentType: registry.contentType }
  })
  return [{ pattern: '/metrics', anyCase: false, polled: true, operations: { GET: get } }]
}

function brokerFamilies(
  { switches, counts }: Measures,
  { subscriptions, registry }: ManagementParts['broker'],
): readonly Family[] {
  const { version, git_hash } = versionFacts
  const operations = counterRows.filter((row: CounterRow) => row.only !== 'nested')
  return [
    gauge('rigel_build_info', 'What was built, always 1', () => [
      { labels: { version, git_hash, node_version: process.version }, value: 1 },
    ]),
    counter('rigel_operations_total', 'Requests and events by the names of the statistics', () =>
      operations.map(({ name }) => ({ labels: { operation: name }, value: Number(counts.ever(name)) })),
    ),
    gauge('rigel_trace_levels_enabled', 'Trace levels that are on', () =>
      plain(switches.traces.reduce((sum, on) => sum + on, 0)),
    ),
    gauge('rigel_subscriptions', 'Context subscriptions', async () => {
      const { ids } = await subscriptions.index(false)
      return plain(ids.length)
    }),
    gauge('rigel_registrations', 'Registrations of context providers', () => plain(registry.index.size)),
  ]
}

function trafficFamilies(measures: Measures): readonly Family[] {
  const { traffic } = measures
  /** What was requested at least once; routes are known only when all tables are there. */
  const asked = () =>
    measures.routes.all.flatMap(({ name, place }) =>
      verbs.flatMap((method, verb) => {
        const codes = statusCodes.map((code, index) => ({ code, value: traffic.answers(place, verb, index) }))
        const used = codes.filter(({ value }) => value > 0)
        return used.length === 0 ? [] : [{ route: name, place, method, verb, codes: used }]
      }),
    )
  const askedRoutes = () => [...new Map(asked().map(({ route, place }) => [route, place]))]
  return [
    counter('rigel_http_requests_total', 'Requests answered', () =>
      asked().flatMap(({ method, route, codes }) =>
        codes.map(({ code, value }): Sample => ({ labels: { method, route, code }, value })),
      ),
    ),
    histogram('rigel_http_request_duration_seconds', "From a request's head to its answer", () =>
      asked().map(({ method, route, place, verb }) => [{ method, route }, traffic.durations(place, verb)]),
    ),
    histogram('rigel_http_request_size_bytes', 'Payloads of requests', () =>
      askedRoutes().map(([route, place]) => [{ route }, traffic.requestSizes(place)]),
    ),
    histogram('rigel_http_response_size_bytes', 'Payloads of answers', () =>
      askedRoutes().map(([route, place]) => [{ route }, traffic.responseSizes(place)]),
    ),
    gauge('rigel_http_requests_in_flight', 'Requests being worked on', () => plain(traffic.gauge('inFlight'))),
    gauge('rigel_http_connections', 'Open connections', () => plain(traffic.gauge('connections'))),
    counter('rigel_http_rejected_total', 'Requests and connections turned away', () =>
      rejections.map((reason) => ({ labels: { reason }, value: traffic.rejections(reason) })),
    ),
    gauge('rigel_request_semaphore_permits', 'Permits of the request semaphore', () => [
      { labels: { state: 'free' }, value: traffic.gauge('permitsFree') },
      { labels: { state: 'taken' }, value: traffic.gauge('permitsTaken') },
    ]),
    gauge('rigel_request_semaphore_queue', 'Requests that wait for a permit', () =>
      plain(traffic.gauge('permitsQueued')),
    ),
  ]
}

function partitionFamilies(measures: Measures): readonly Family[] {
  const { storageSheet } = measures
  const partitions = partitionLabels(measures)
  const each = (value: (reading: StorageReading) => number) => () =>
    partitions.map(([labels, partition]): Sample => ({ labels, value: value(storageSheet.reading(partition)) }))
  const eachHistogram = (part: 'commitDurations' | 'commitOperations' | 'loopDelays') => () =>
    partitions.map(([labels, partition]) => [labels, storageSheet.reading(partition)[part]] as const)
  return [
    gauge('rigel_mailbox_depth', 'Messages in the mailboxes', () =>
      partitions.map(([labels, partition]) => ({ labels, value: measures.mailboxDepthOf(partition) })),
    ),
    counter(
      'rigel_storage_commits_total',
      'Turns committed',
      each((reading) => reading.commitDurations.counts.at(-1) ?? 0),
    ),
    histogram('rigel_storage_commit_duration_seconds', 'Commit and sync of a turn', eachHistogram('commitDurations')),
    histogram('rigel_storage_commit_operations', 'Commands of a turn', eachHistogram('commitOperations')),
    gauge(
      'rigel_storage_used_bytes',
      'Size of the data',
      each((reading) => reading.used_bytes),
    ),
    gauge(
      'rigel_storage_map_bytes',
      'Size of the memory map',
      each((reading) => reading.map_bytes),
    ),
    gauge(
      'rigel_entities',
      'Entities stored',
      each((reading) => reading.entities),
    ),
    counter(
      'rigel_worker_restarts_total',
      'Threads of partitions replaced',
      each((reading) => reading.restarts),
    ),
    counter('rigel_storage_damaged_total', 'Times that a damaged record was met', () => plain(measures.damages)),
    histogram('rigel_worker_event_loop_delay_seconds', 'How late event loops were', eachHistogram('loopDelays')),
  ]
}

function deliveryFamilies({ delivery }: Measures): readonly Family[] {
  const results = (counts: Readonly<Record<string, number>>): readonly Sample[] =>
    Object.entries(counts).map(([result, value]) => ({ labels: { result }, value }))
  const outboxes = (value: (outbox: OutboxReading) => number) => (): readonly Sample[] =>
    delivery.outboxes().map((outbox, number, { length }) => {
      // The last one is the coordinator's: of notifications that no single entity causes.
      const partition = number === length - 1 ? 'control' : String(number)
      return { labels: { partition }, value: value(outbox) }
    })
  const age_s = () => (delivery.oldest === undefined ? 0 : Math.max(0, now() - delivery.oldest) / 1000)
  return [
    counter('rigel_notifications_total', 'Notifications that left the queue', () =>
      results(delivery.totals.notifications),
    ),
    counter('rigel_notification_attempts_total', 'Attempts to notify', () => results(delivery.totals.attempts)),
    histogram('rigel_notification_attempt_duration_seconds', 'Attempts to notify', () => [
      [{}, delivery.totals.attemptDurations],
    ]),
    histogram('rigel_notification_queue_wait_seconds', 'From the making of a notification to its acceptance', () => [
      [{}, delivery.totals.queueWaits],
    ]),
    gauge(
      'rigel_notification_queue_depth',
      'Notifications that wait or are under way',
      outboxes(({ depth }) => depth),
    ),
    gauge(
      'rigel_notification_queue_bytes',
      'Size of the notifications that wait or are under way',
      outboxes(({ bytes }) => bytes),
    ),
    gauge('rigel_notification_oldest_age_seconds', 'Age of the oldest notification that waits', () => plain(age_s())),
  ]
}

function alarmFamilies(peers: ManagementParts['peers']): readonly Family[] {
  const each = (value: (count: AlarmCount) => number) => async (): Promise<readonly Sample[]> => {
    const counts = await peers.gather('alarms', undefined)
    return counts.flatMap((kinds) =>
      Object.entries(kinds).map(([alarm, count]): Sample => ({ labels: { alarm }, value: value(count) })),
    )
  }
  return [
    gauge(
      'rigel_alarms_active',
      'Alarms that are raised',
      each(({ active }) => active),
    ),
    counter(
      'rigel_alarms_raised_total',
      'Alarms raised since the start',
      each(({ raised }) => raised),
    ),
  ]
}

function waitFamilies(measures: Measures): readonly Family[] {
  const partitions = partitionLabels(measures)
  const byPartition = (kind: WaitKind) => () =>
    partitions.map(([labels, partition]) => [labels, measures.waits.buckets(kind, partition)] as const)
  return [
    histogram('rigel_request_semaphore_wait_seconds', 'Waits for a permit', () => [
      [{}, measures.waits.buckets('request')],
    ]),
    histogram('rigel_db_connection_pool_wait_seconds', 'Waits for a read handle', byPartition('dbConnectionPool')),
    histogram('rigel_transaction_semaphore_wait_seconds', 'Waits for a write transaction', byPartition('transaction')),
    histogram('rigel_mailbox_wait_seconds', 'Time spent in a mailbox', byPartition('mailbox')),
  ]
}

function partitionLabels({ threads }: Measures): readonly (readonly [Labels, number])[] {
  return Array.from({ length: threads.partitions }, (_, partition) => [{ partition: String(partition) }, partition])
}
