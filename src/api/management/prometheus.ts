import { statfs } from 'node:fs/promises'
import type { Resource } from '../../broker/operations/api.js'
import { memoryLeft_bytes, memoryLimit_bytes, memoryUsed_bytes } from '../../machine.js'
import type { AlarmCount } from '../../observe/log/alarms.js'
import { verbs } from '../../observe/measure/counted-routes.js'
import { countersOf } from '../../observe/measure/counters.js'
import type { LabelledRow, Sample } from '../../observe/measure/figure-table.js'
import {
  alarmFigures,
  backupFigures,
  brokerFigures,
  courierFigures,
  deliveryFigures,
  diskFigures,
  engineFigures,
  frontEndFigures,
  memoryFigures,
  nodeFigures,
  outboxFigures,
  partitionFigures,
  remoteFigures,
  replicaFigures,
  requestFigures,
  threadFigures,
  waitFigures,
} from '../../observe/measure/figures.js'
import { type Measures, threadsOf } from '../../observe/measure/measures.js'
import { replicaLag_records } from '../../observe/measure/node-statistics.js'
import { errorCodes, statusCodes } from '../../observe/measure/route-table.js'
import type { WaitKind } from '../../observe/measure/waits.js'
import { now } from '../../time.js'
import { versionFacts } from '../../version.js'
import { metricContentType, metricsOf, type ReadMetrics, textOf } from './metric-text.js'
import { type ManagementParts, operation } from './parts.js'

/** Prometheus text, read from shared memory; never reset, and no label ever comes from a client [management 7]. */
export function prometheusResources(parts: ManagementParts): readonly Resource[] {
  const { measures, peers } = parts
  const lists = [
    brokerMetrics(parts),
    requestMetrics(measures),
    metricsOf(frontEndFigures, () => ({}), measures.frontEnds),
    partitionMetrics(measures),
    diskMetrics(parts),
    metricsOf(backupFigures, () => ({}), measures.backups),
    ...(parts.cluster === undefined ? [] : [metricsOf(engineFigures, () => ({}), measures.engine)]),
    ...nodeMetrics(parts),
    ...deliveryMetrics(measures),
    threadMetrics(measures),
    metricsOf(memoryFigures, () => {
      return { used: memoryUsed_bytes(), limit: memoryLimit_bytes(), left: memoryLeft_bytes() }
    }),
    alarmMetrics(parts),
  ]
  const measured = [...lists, waitMetrics(measures)]
  const get = operation('read', async () => {
    const ofProcess = peers.gather('process', undefined)
    const text = await textOf(measures.isOn('semWait') ? measured : lists)
    const body = [text, ...(await ofProcess)].filter((part) => part !== '').join('\n')
    return { status: 200, body, contentType: metricContentType }
  })
  return [{ pattern: '/metrics', anyCase: false, polled: true, operations: { GET: get } }]
}

function brokerMetrics({ measures, broker }: ManagementParts): ReadMetrics {
  const { switches, counts } = measures
  const { version, git_hash } = versionFacts
  const labels = { version, git_hash, node_version: process.version }
  const operations = countersOf('flat')
  return metricsOf(brokerFigures, async () => ({
    build: [{ labels, value: 1 }],
    operations: operations.map(({ name }) => ({ labels: { operation: name }, value: Number(counts.ever(name)) })),
    traceLevels: switches.traces.reduce((sum, on) => sum + on, 0),
    certificateEnd: measures.certificateEnd && measures.certificateEnd / 1000,
    subscriptions: (await broker.subscriptions.index(false)).count,
    registrations: broker.registry.index.size,
  }))
}

/** The disk as it is when it is asked for. */
function diskMetrics({ disk: { path, keepFree_bytes } }: ManagementParts): ReadMetrics {
  return metricsOf(diskFigures, async () => {
    const { bavail, bsize } = await statfs(path)
    const free = bavail * bsize
    return { free, left: Math.max(0, free - keepFree_bytes) }
  })
}

/** Nothing of a single broker. */
function nodeMetrics({ measures, applied }: ManagementParts): readonly ReadMetrics[] {
  if (measures.node.value('isNode', 0) === 0) return []
  const rows = partitionRows(measures)
  const lag = (): readonly Sample[] =>
    rows.map(([labels, partition]) => {
      const head = measures.replicas.value('head', partition)
      return { labels, value: replicaLag_records(head, applied[partition]?.() ?? 0) }
    })
  return [
    metricsOf(nodeFigures, () => ({}), measures.node),
    metricsOf(replicaFigures, () => ({ lag: lag() }), measures.replicas, rows),
    metricsOf(remoteFigures, () => ({}), measures.remote),
  ]
}

function alarmMetrics({ peers }: ManagementParts): ReadMetrics {
  return metricsOf(alarmFigures, async () => {
    const counts = (await peers.gather('alarms', undefined)).flatMap((kinds) => Object.entries(kinds))
    const each = (value: (count: AlarmCount) => number): readonly Sample[] =>
      counts.map(([alarm, count]) => ({ labels: { alarm }, value: value(count) }))
    return { active: each(({ active }) => active), raised: each(({ raised }) => raised) }
  })
}

/** Shown only while the waits are measured. */
function waitMetrics(measures: Measures): ReadMetrics {
  const rows = partitionRows(measures)
  const each = (kind: WaitKind): readonly Sample[] =>
    rows.map(([labels, partition]) => ({ labels, value: measures.waits.buckets(kind, partition) }))
  return metricsOf(waitFigures, () => ({
    request: [{ labels: {}, value: measures.waits.buckets('request') }],
    dbConnectionPool: each('dbConnectionPool'),
    transaction: each('transaction'),
    mailbox: each('mailbox'),
  }))
}

function partitionMetrics(measures: Measures): ReadMetrics {
  const { partitions } = measures
  const rows = partitionRows(measures)
  const each = (value: (partition: number) => number): readonly Sample[] =>
    rows.map(([labels, partition]) => ({ labels, value: value(partition) }))
  const compute = () => ({
    mailboxDepth: each((partition) => measures.mailboxDepthOf(partition)),
    commits: each((partition) => partitions.distribution('commitDurations', partition).counts.at(-1) ?? 0),
    left_bytes: each((partition) =>
      Math.max(0, partitions.value('map_bytes', partition) - partitions.value('used_bytes', partition)),
    ),
    damages: measures.damages,
  })
  return metricsOf(partitionFigures, compute, partitions, rows)
}

function deliveryMetrics({ delivery, threads }: Measures): readonly ReadMetrics[] {
  const { sums, outboxes, courier } = delivery
  const attempts = (): readonly Sample[] => [
    { labels: { result: 'accepted' }, value: sums.value('notifications.accepted') },
    { labels: { result: 'trouble' }, value: sums.value('trouble') },
    { labels: { result: 'refused' }, value: sums.value('refused') },
  ]
  const oldestAge = () => (delivery.oldest === undefined ? 0 : Math.max(0, now() - delivery.oldest) / 1000)
  // The last outbox is the coordinator's: of notifications that no single entity causes.
  const rows: readonly LabelledRow[] = [...partitionRows({ threads }), [{ partition: 'control' }, threads.partitions]]
  return [
    metricsOf(deliveryFigures, () => ({ attempts: attempts() }), sums),
    metricsOf(outboxFigures, () => ({}), outboxes, rows),
    metricsOf(courierFigures, () => ({ oldestAge: oldestAge() }), courier),
  ]
}

/** How the kinds of threads are called in labels. */
const threadKinds = { frontEnd: 'front_end', partition: 'partition', queryThread: 'query', courier: 'courier' } as const

function threadMetrics({ threads, threadTable, stepTable }: Measures): ReadMetrics {
  const rows = threadsOf(threads).map(({ kind, number, row }): LabelledRow => {
    return [{ kind: threadKinds[kind], number: String(number) }, row]
  })
  const longestStep = (): readonly Sample[] => {
    const at = process.hrtime.bigint()
    return rows.map(([labels, row]) => ({ labels, value: Number(stepTable.longest(row, at)) / 1e9 }))
  }
  return metricsOf(threadFigures, () => ({ longestStep: longestStep() }), threadTable, rows)
}

function partitionRows({ threads }: Pick<Measures, 'threads'>): readonly LabelledRow[] {
  return Array.from({ length: threads.partitions }, (_, partition) => [{ partition: String(partition) }, partition])
}

/** The requests of clients by route, method and status: only what was requested at least once [management 7]. */
function requestMetrics(measures: Measures): ReadMetrics {
  const { traffic } = measures
  return metricsOf(requestFigures, () => {
    const requested = requestedOf(measures)
    const routes = [...new Map(requested.map(({ route, index }) => [route, index]))]
    return {
      requests: requested.flatMap(({ method, route, codes }) =>
        codes.map(({ code, value }): Sample => ({ labels: { method, route, code }, value })),
      ),
      errors: requested.flatMap(({ method, route, index, verb }) =>
        errorCodes.flatMap((code, column): readonly Sample[] => {
          const value = traffic.errors(index, verb, column)
          return value === 0 ? [] : [{ labels: { method, route, code }, value }]
        }),
      ),
      durations: requested.map(({ method, route, index, verb }) => {
        return { labels: { method, route }, value: traffic.durations(index, verb) }
      }),
      requestSizes: routes.map(([route, index]) => ({ labels: { route }, value: traffic.requestSizes(index) })),
      responseSizes: routes.map(([route, index]) => ({ labels: { route }, value: traffic.responseSizes(index) })),
    }
  })
}

/** Routes are known only when all tables of resources are there. */
function requestedOf({ routes, traffic }: Measures) {
  return routes.all.flatMap(({ name, index }) =>
    verbs.flatMap((method, verb) => {
      const codes = statusCodes.map((code, column) => ({ code, value: traffic.responses(index, verb, column) }))
      const used = codes.filter(({ value }) => value > 0)
      return used.length === 0 ? [] : [{ route: name, index, method, verb, codes: used }]
    }),
  )
}
