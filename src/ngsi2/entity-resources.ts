import type { Resource } from '../api.js'
import { listEntities } from './entity-lists.js'
import { showAttributes, showEntity } from './entity-reads.js'
import { appendOf, createEntity, removeEntity, writeAttributes } from './entity-writes.js'
import type { Ngsi2Services } from './ngsi2-services.js'

/** The resources of entities, their verbs in the order of the Allow header [NGSIv2 context 1.1, 8]. */
export function entityResources(services: Ngsi2Services): readonly Resource[] {
  return [
    {
      pattern: '/v2/entities',
      anyCase: false,
      operations: { POST: createEntity(services), GET: listEntities(services) },
      sharedOrder: ['GET', 'POST'],
    },
    {
      pattern: '/v2/entities/{id}',
      countedAs: '/v2/entities/{id}[/attrs]',
      anyCase: false,
      operations: { GET: showEntity(services), DELETE: removeEntity(services) },
    },
    {
      pattern: '/v2/entities/{id}/attrs',
      countedAs: '/v2/entities/{id}[/attrs]',
      anyCase: false,
      operations: {
        GET: showAttributes(services),
        PATCH: writeAttributes(services, () => 'UPDATE'),
        POST: writeAttributes(services, appendOf),
        PUT: writeAttributes(services, () => 'REPLACE'),
      },
    },
  ]
}
