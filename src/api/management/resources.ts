import type { Resource } from '../../broker/operations/api.js'
import { backupResources } from './backup-resource.js'
import { clusterResources, versionResources } from './health.js'
import { logResources, traceResources } from './logs.js'
import type { ManagementParts } from './parts.js'
import { prometheusResources } from './prometheus.js'
import { metricsResources } from './service-metrics.js'
import { statisticsResources } from './statistics.js'
import { availabilityStateResources } from './subscription-states.js'
import { waitResources } from './wait-resources.js'

/** The management interface of one front end [management 1]. */
export function managementResources(parts: ManagementParts): readonly Resource[] {
  return [
    ...traceResources(parts),
    ...logResources(parts),
    ...statisticsResources(parts),
    ...availabilityStateResources(parts),
    ...waitResources(parts),
    ...metricsResources(parts),
    ...prometheusResources(parts),
    ...versionResources(parts),
    ...backupResources(parts),
    ...clusterResources(parts),
  ]
}
