import type { Resource } from '../api.js'
import { takeNotification, updateBatch } from './batch-writes.js'
import { queryEntities } from './entity-lists.js'
import type { Ngsi2Services } from './ngsi2-services.js'

/** The resources of batch operations [NGSIv2 context 1.1, 11]. */
export function batchResources(services: Ngsi2Services): readonly Resource[] {
  return [
    {
      pattern: '/v2/op/query',
      anyCase: false,
      counter: 'batchQueryRequests',
      operations: { POST: queryEntities(services) },
    },
    {
      pattern: '/v2/op/update',
      anyCase: false,
      counter: 'batchUpdateRequests',
      operations: { POST: updateBatch(services) },
    },
    {
      pattern: '/v2/op/notify',
      anyCase: false,
      counter: 'notificationsReceived',
      operations: { POST: takeNotification(services) },
    },
  ]
}
