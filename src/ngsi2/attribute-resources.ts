import type { Resource } from '../api.js'
import { showAttribute } from './attribute-reads.js'
import type { Ngsi2Services } from './ngsi2-services.js'

/** The resources of single attributes, their verbs in the order of the Allow header [NGSIv2 context 1.1, 9]. */
export function attributeResources(services: Ngsi2Services): readonly Resource[] {
  return [{ pattern: '/v2/entities/{id}/attrs/{name}', anyCase: false, operations: { GET: showAttribute(services) } }]
}
