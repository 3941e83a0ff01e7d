import type { Resource } from '../api/api.js'
import { json, shortForm } from '../api/response.js'
import type { ManagementParts } from './parts.js'
import { operation } from './response-forms.js'

/** The cluster of the broker: members, owners and copies as they stand in etcd, and what all nodes have counted. */
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
