import { type ApiRequest, type ApiResponse, type Operation, requestOrigin, segment } from '../api.js'
import type { EntityId, EntityType, Tenant } from '../context/entity.js'
import type { GivenAttribute, UpdateAction } from '../context/update.js'
import type { RawTarget } from '../partition/commands.js'
import { pathWrite, payloadWrite } from './checked-operation.js'
import { writeAtProviders } from './forward/remote-writes.js'
import { unavailable } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { type AskedWrite, noContent, readWrite, respondToWrite, type SingleWrite, unsent } from './single-write.js'
import { pathOfWrite, updateTerms, writeOptionsOf } from './update-terms.js'
import { optionsOf } from './uri-parameters.js'
import { writeOutcome } from './write-outcome.js'

/** `POST /v2/entities` [NGSIv2 context 8.2]. */
export function createEntity(services: Ngsi2Services): Operation {
  return entityWrite(services, (request) => {
    const { form, overridesMetadata, forced } = writeOptionsOf(request)
    const isUpsert = optionsOf(request.parameters).has('upsert')
    const [operation, action] = ['create', 'APPEND'] as const
    return { operation, action, form, overridesMetadata, forced, isUpsert, isText: false, target: undefined }
  })
}

/** `DELETE /v2/entities/{id}` [NGSIv2 context 8.4]. */
export function removeEntity(services: Ngsi2Services): Operation {
  return removal(services, 'attributes', () => [])
}

/** `POST`, `PATCH` and `PUT` of `/v2/entities/{id}/attrs` [NGSIv2 context 8.5]. */
export function writeAttributes(services: Ngsi2Services, actionOf: (request: ApiRequest) => UpdateAction): Operation {
  return entityWrite(services, (request) => writeOfNamed(request, 'attributes', actionOf(request)))
}

/** What POST of attributes does: those that exist are refused on request. */
export function appendOf({ parameters }: ApiRequest): UpdateAction {
  return optionsOf(parameters).has('append') ? 'APPEND_STRICT' : 'APPEND'
}

/** `PUT /v2/entities/{id}/attrs/{name}` [NGSIv2 context 9.2]. */
export function putAttribute(services: Ngsi2Services): Operation {
  // What is wrong with the name is said with other words than of other paths.
  return entityWrite(services, (request) => writeOfNamed(request, 'attribute', 'UPDATE'), false)
}

/** `DELETE /v2/entities/{id}/attrs/{name}` [NGSIv2 context 9.2]. */
export function removeAttribute(services: Ngsi2Services): Operation {
  return removal(services, 'attribute', (request) => [
    { name: segment(request, 'name'), instance: '', type: '', metadata: [] },
  ])
}

/** `PUT /v2/entities/{id}/attrs/{name}/value` [NGSIv2 context 9.3]. */
export function putValue(services: Ngsi2Services): Operation {
  return entityWrite(services, (request) => writeOfNamed(request, 'value', 'UPDATE'))
}

/** A write of the entity that the path names. */
function writeOfNamed(request: ApiRequest, operation: SingleWrite['operation'], action: UpdateAction): SingleWrite {
  const { form, overridesMetadata, forced } = writeOptionsOf(request)
  const isText = operation === 'value' && /^text\/plain\b/i.test(request.headers['content-type']?.trim() ?? '')
  return { operation, action, form, overridesMetadata, forced, isUpsert: false, isText, target: targetOf(request) }
}

function targetOf({ segments, parameters }: ApiRequest): RawTarget {
  return {
    id: segment({ segments }, 'id') as EntityId,
    type: parameters.get('type') as EntityType | undefined,
    name: segments['name'],
  }
}

function entityWrite(
  services: Ngsi2Services,
  writeOf: (request: ApiRequest) => SingleWrite,
  checksName = true,
): Operation {
  return payloadWrite(services, {
    checksName,
    single: writeOf,
    parse: (request) => readWrite(writeOf(request), request.body),
    work: (request, tenant, entity) => carryOut(services, request, tenant, writeOf(request), entity),
  })
}

/** An operation without a payload that removes something of the entity that its path names. */
function removal(
  services: Ngsi2Services,
  operation: SingleWrite['operation'],
  attributesOf: (request: ApiRequest) => readonly GivenAttribute[],
): Operation {
  return pathWrite(services, (request, tenant) => {
    const write = writeOfNamed(request, operation, 'DELETE')
    const { id, type } = targetOf(request)
    const terms = updateTerms(write, 'present')
    const entity = { id, type, action: 'DELETE', attributes: attributesOf(request), terms } as const
    return carryOut(services, request, tenant, write, entity)
  })
}

/** Carries out a write that was read here. */
async function carryOut(
  services: Ngsi2Services,
  request: ApiRequest,
  tenant: Tenant,
  write: SingleWrite,
  entity: AskedWrite,
): Promise<ApiResponse> {
  const path = pathOfWrite(request)
  if (!path.ok) return path.error
  const refused = unsent(write, entity, path.value)
  if (refused) return refused
  const { broker, brokerId = '' } = services
  const element = { ...entity, tenant, path: path.value, origin: requestOrigin(request, brokerId) }
  const replies = await broker.update([element], request.client)
  if (!replies.ok) return unavailable(replies.error)
  const [reply] = replies.value
  if (reply === undefined) throw new Error('the broker has not answered an update')
  const entities = [{ entity, outcome: writeOutcome(entity.attributes, reply), reply }]
  const written = { tenant, path: path.value, action: entity.action, entities }
  return (await writeAtProviders(services, request, written, noContent)) ?? respondToWrite(write, entity, reply)
}
