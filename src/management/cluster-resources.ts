import type { Resource } from '../api.js'
import { json, shortForm } from '../short-form.js'
import type { ManagementParts } from './parts.js'
import { operation } from './response-forms.js'

/** The cluster of the broker as it stands in etcd: members, owners, copies. */
export function clusterResources({ cluster }: Pick<ManagementParts, 'cluster'>): readonly Resource[] {
  const shown = operation('read', async () => {
    if (cluster === undefined) return shortForm(404, 'this broker is of no cluster')
    const read = await cluster.shown()
    return read.ok ? json(read.value) : shortForm(503, `etcd does not say how the cluster is: ${read.error}`)
  })
  return [{ pattern: '/admin/cluster', anyCase: false, operations: { GET: shown } }]
}
