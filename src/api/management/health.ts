import type { PartitionHealth } from '../../broker/front-end/broker.js'
import type { ApiRequest, ApiResponse, Resource } from '../../broker/operations/api.js'
import { json, shortForm } from '../../broker/operations/response.js'
import type { Measures } from '../../observe/measure/measures.js'
import { standingOf } from '../../observe/measure/meters.js'
import type { Nanoseconds } from '../../time.js'
import { libraryVersions, versionFacts } from '../../version.js'
import { type ManagementParts, operation } from './parts.js'

/** Version and health: what machines ask for, also with HEAD [management 8]. */
export function versionResources({ measures, broker }: ManagementParts): readonly Resource[] {
  const version = operation('read', (request) => {
    const uptime = uptimeText(process.hrtime.bigint() - measures.startedAt)
    return json({ orion: versionShown(request, uptime) })
  })
  const live = operation('read', () => health(200, { status: 'ok' }))
  const ready = operation('read', async () => {
    const { total, ready, storageFull } = await broker.health()
    const partitions = { total, ready }
    const reason = unavailability(measures, partitions, storageFull)
    const { unread } = measures.delivery
    const outbox = unread > 0 ? { outbox: { unread } } : {}
    return reason === undefined
      ? health(200, { status: 'ok', partitions, ...outbox })
      : health(503, { status: 'unavailable', reason, partitions, ...outbox })
  })
  return [
    { pattern: '/version', anyCase: false, counter: 'versionRequests', operations: { GET: version } },
    { pattern: '/health/live', anyCase: false, polled: true, operations: { GET: live } },
    { pattern: '/health/ready', anyCase: false, polled: true, operations: { GET: ready } },
  ]
}

function versionShown({ parameters }: ApiRequest, uptime: string) {
  const { version, ...facts } = versionFacts
  const shown = { version, uptime, ...facts }
  return parameters.get('options') === 'libVersions' ? { ...shown, libversions: libraryVersions() } : shown
}

/** `D d, H h, M m, S s` without leading zeros [management 8.1]. */
export function uptimeText(uptime: Nanoseconds): string {
  const seconds = uptime / 1_000_000_000n
  return `${seconds / 86_400n} d, ${(seconds / 3600n) % 24n} h, ${(seconds / 60n) % 60n} m, ${seconds % 60n} s`
}

function health(status: number, state: unknown): ApiResponse {
  return { status, body: JSON.stringify(state), headers: { 'Cache-Control': 'no-store' } }
}

function unavailability(
  { ending, node, engine }: Pick<Measures, 'ending' | 'node' | 'engine'>,
  partitions: Pick<PartitionHealth, 'total' | 'ready'>,
  storageFull: boolean,
): string | undefined {
  if (ending) return 'shutting down'
  const standing = standingOf(node)
  if (engine.value('isAway') === 1) return 'etcd does not answer'
  if (partitions.ready < partitions.total) return 'partition not answering'
  if (standing?.hasLease === false) return 'no lease in the cluster'
  if (standing !== undefined && standing.unowned > 0) return 'partition without owner'
  if (standing !== undefined && standing.unreached === partitions.total) return 'no owner of a partition reached'
  if (engine.value('isFull') === 1) return 'etcd is full'
  return storageFull ? 'storage full' : undefined
}

/** The cluster of the broker: members, owners and replicas as they stand in etcd, and what all nodes have counted. */
export function clusterResources({ cluster }: Pick<ManagementParts, 'cluster'>): readonly Resource[] {
  const shown = operation('read', async () => {
    if (cluster === undefined) return shortForm(404, 'this broker is of no cluster')
    const read = await cluster.shown()
    return read.ok ? json(read.value) : shortForm(503, `etcd does not say how the cluster is: ${read.error}`)
  })
  const statistics = operation('read', async () =>
    cluster === undefined ? shortForm(404, 'this broker is of no cluster') : json(await cluster.statistics()),
  )
  return [
    { pattern: '/admin/cluster', anyCase: false, operations: { GET: shown } },
    { pattern: '/admin/cluster/statistics', anyCase: false, operations: { GET: statistics } },
  ]
}
