import type { Resource } from '../api.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { listEntityTypes, showEntityType } from './type-reads.js'

/** The resources of types of entities [NGSIv2 context 1.1, 13]. */
export function typeResources(services: Ngsi2Services): readonly Resource[] {
  return [
    { pattern: '/v2/types', anyCase: false, operations: { GET: listEntityTypes(services) } },
    { pattern: '/v2/types/{type}', anyCase: false, operations: { GET: showEntityType(services) } },
  ]
}
