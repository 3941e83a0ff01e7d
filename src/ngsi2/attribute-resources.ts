import type { Resource } from '../api.js'
import { showAttribute } from './attribute-reads.js'
import { putAttribute, putValue, removeAttribute } from './entity-writes.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { showValue } from './value-reads.js'

/** The resources of single attributes, their verbs in the order of the Allow header [NGSIv2 context 1.1, 9]. */
export function attributeResources(services: Ngsi2Services): readonly Resource[] {
  return [
    {
      pattern: '/v2/entities/{id}/attrs/{name}',
      anyCase: false,
      operations: { GET: showAttribute(services), PUT: putAttribute(services), DELETE: removeAttribute(services) },
    },
    {
      pattern: '/v2/entities/{id}/attrs/{name}/value',
      anyCase: false,
      operations: { GET: showValue(services), PUT: putValue(services) },
    },
  ]
}
