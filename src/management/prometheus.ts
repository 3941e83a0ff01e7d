import type { Resource } from '../api.js'
import type { AlarmCount } from '../log/alarms.js'
import { countersOf } from '../measure/counters.js'
import { EngineTable } from '../measure/engine-table.js'
import type { Measures } from '../measure/measures.js'
import { versionFacts } from '../version.js'
import { addDeliveryMetrics } from './delivery-metrics.js'
import { addEngineMetrics } from './engine-metrics.js'
import { MetricRegistry, type Sample } from './metric-registry.js'
import { addNodeMetrics } from './node-metrics.js'
import type { ManagementParts } from './parts.js'
import { operation } from './response-forms.js'
import { addBackupMetrics, addDiskMetrics, addPartitionMetrics, addWaitMetrics } from './storage-metrics.js'
import { addMemoryMetrics, addThreadMetrics } from './thread-metrics.js'
import { addTrafficMetrics } from './traffic-metrics.js'

/** Prometheus text, read from shared memory; never reset, and no label ever comes from a client [management 7]. */
export function prometheusResources({
  measures,
  peers,
  broker,
  disk,
  cluster,
  applied,
}: ManagementParts): readonly Resource[] {
  const metrics = new MetricRegistry()
  addBrokerMetrics(metrics, measures, broker)
  addTrafficMetrics(metrics, measures)
  addPartitionMetrics(metrics, measures)
  addDiskMetrics(metrics, disk)
  addBackupMetrics(metrics, measures)
  if (cluster !== undefined) addEngineMetrics(metrics, new EngineTable(measures.engineMemory))
  addNodeMetrics(metrics, measures, applied)
  addDeliveryMetrics(metrics, measures)
  addThreadMetrics(metrics, measures)
  addMemoryMetrics(metrics)
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
  measures: Measures,
  { subscriptions, registry }: ManagementParts['broker'],
): void {
  const { switches, counts } = measures
  const { version, git_hash } = versionFacts
  const operations = countersOf('flat')
  metrics.gauge(
    'rigel_build_info',
    'What runs, always 1: version, commit and version of Node are its labels',
    ['version', 'git_hash', 'node_version'],
    () => [{ labels: { version, git_hash, node_version: process.version }, value: 1 }],
  )
  metrics.counter(
    'rigel_operations_total',
    'Requests and events by the names that GET /statistics has for them',
    ['operation'],
    () => operations.map(({ name }) => ({ labels: { operation: name }, value: Number(counts.ever(name)) })),
  )
  metrics.gauge('rigel_trace_levels_enabled', 'Trace levels that are on; each costs time and room in the log', [], () =>
    switches.traces.reduce((sum, on) => sum + on, 0),
  )
  metrics.gauge(
    'rigel_certificate_expiry_timestamp_seconds',
    'When the certificate ends to be valid that new connections get, in seconds of Unix time; only with -https',
    [],
    () => (measures.certificateEnd === undefined ? [] : measures.certificateEnd / 1000),
  )
  metrics.gauge('rigel_subscriptions', 'Subscriptions to changes of context', [], async () => {
    const { ids } = await subscriptions.index(false)
    return ids.length
  })
  metrics.gauge('rigel_registrations', 'Registrations of context providers', [], () => registry.index.size)
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
    'Alarms that are raised now, by kind: the log names whom they are about',
    ['alarm'],
    each(({ active }) => active),
  )
  metrics.counter(
    'rigel_alarms_raised_total',
    'Alarms raised since the start, by kind',
    ['alarm'],
    each(({ raised }) => raised),
  )
}
