import { requestOrigin, segment } from '../../broker/operations/api.js'
import { meansEverywhere, onePath } from '../../model/context/scope-headers.js'
import { isWritten } from '../../model/registration/contexts.js'
import type { RegistrationId } from '../../model/registration/registration.js'
import { lineContextOf } from '../../observe/log/log.js'
import { err, ok } from '../../result.js'
import { inSlices } from '../../slices.js'
import { badInput, errorOf, unavailable } from './errors.js'
import { operation, pathOperation } from './operation.js'
import { listed, pageOf } from './parameters.js'
import { parseNewRegistration } from './parse/registration-body.js'
import { renderRegistration, renderRegistrations } from './render/shown-resources.js'

/** The tenant has no such registration, or not in the path of the request [NGSIv2 subscriptions 10]. */
export const registrationUnknown = errorOf('NotFound', 'The requested registration has not been found. Check id')

/** `POST /v2/registrations` [NGSIv2 subscriptions 10]. */
export const createRegistration = operation({
  use: 'write',
  parse: ({ body, paths }) => {
    const payload = parseNewRegistration(body)
    if (!payload.ok) return err(errorOf(payload.error.error, payload.error.description))
    const path = onePath(paths)
    if (!path.ok) return err(badInput('max one service-path without # allowed for registrations'))
    return ok({ ...payload.value, path: path.value })
  },
  work: async ({ services, request, tenant }, { context, path, expires, terms }) => {
    const { correlator, service, via, ends } = requestOrigin(request, services.brokerId ?? '')
    const registration = { tenant, path, expires, contexts: [context], terms }
    const made = await services.broker.registry.add({ ...registration, correlator, service, via, ends })
    if (!made.ok) return unavailable(made.error)
    if (terms.legacy) {
      const line = `Deprecated usage of legacyForwarding mode in registration creation (regId: ${made.value})`
      services.deprecated.note('ngsiv1Forwarding', line, lineContextOf(request))
    }
    return { status: 201, headers: { Location: `/v2/registrations/${made.value}` } }
  },
})

/** `GET /v2/registrations` [NGSIv2 subscriptions 3.2, 10]. */
export const listRegistrations = pathOperation('read', async ({ services, request, tenant }) => {
  const { paths, parameters } = request
  const { offset, limit, counted } = pageOf(parameters)
  const meant = meansEverywhere(paths) ? undefined : paths
  const { registry } = services.broker
  const known = await registry.confirmed?.()
  if (known?.ok === false) return unavailable(known.error)
  const { count, resources } = registry.index.page({ tenant, paths: meant, offset, limit })
  const body = await inSlices(renderRegistrations(resources))
  return listed(body, counted ? count : undefined)
})

/** `GET /v2/registrations/{id}` [NGSIv2 subscriptions 10]. */
export const showRegistration = pathOperation('read', async ({ services, request, tenant }) => {
  const { paths } = request
  const { registry } = services.broker
  const known = await registry.confirmed?.()
  if (known?.ok === false) return unavailable(known.error)
  const resource = registry.index.resource(tenant, idOf(request))
  if (resource === undefined) return registrationUnknown
  const isBound = meansEverywhere(paths) || isWritten(resource.registration, paths)
  return isBound ? { status: 200, body: renderRegistration(resource) } : registrationUnknown
})

/** `DELETE /v2/registrations/{id}` [NGSIv2 subscriptions 10]. */
export const deleteRegistration = pathOperation('write', async ({ services, request, tenant }) => {
  const done = await services.broker.registry.remove(tenant, idOf(request))
  if (done.ok) return { status: 204 }
  return done.error.kind === 'registrationUnknown' ? registrationUnknown : unavailable(done.error)
})

/**
 * The id in the path, in either case [subscriptions 1.4]. A malformed one is not refused: it names no registration [NGSIv2
 * subscriptions 10].
 */
function idOf(request: Parameters<typeof segment>[0]): RegistrationId {
  return segment(request, 'registrationId').toLowerCase() as RegistrationId
}
