import type { Resource } from '../api.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { createRegistration, deleteRegistration, listRegistrations, showRegistration } from './registration-requests.js'

/** The resources of registrations, their verbs in the order of the Allow header [NGSIv2 subscriptions 1.1]. */
export function registrationResources(services: Ngsi2Services): readonly Resource[] {
  return [
    {
      pattern: '/v2/registrations',
      anyCase: false,
      counter: 'registrationsRequest',
      sharedOrder: ['GET', 'POST'],
      operations: { POST: createRegistration(services), GET: listRegistrations(services) },
    },
    {
      pattern: '/v2/registrations/{registrationId}',
      countedAs: '/v2/registrations/{id}',
      anyCase: false,
      counter: 'registrationRequest',
      operations: { GET: showRegistration(services), DELETE: deleteRegistration(services) },
    },
  ]
}
