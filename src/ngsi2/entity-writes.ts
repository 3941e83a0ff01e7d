import { type ApiRequest, type ApiResponse, type Operation, requestOrigin, segment } from '../api.js'
import type { EntityId, EntityType, ServicePath, Tenant } from '../context/entity.js'
import type { GivenAttribute, UpdateAction, UpdateElement, UpdateTerms } from '../context/update.js'
import { pathWrite, payloadWrite } from './checked-operation.js'
import { attributeUnknown, badInput, unavailable } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { parseOneAttribute, parseValueBody } from './parse/attribute-body.js'
import { type EntityGiven, parseAttributeMembers, parseEntity } from './parse/given-entity.js'
import { defaultEntityType, formOf, pathOfWrite, updateTerms } from './update-terms.js'
import { optionsOf } from './uri-parameters.js'
import { respondTo, tooMuch, type WriteOutcome, writeOutcome } from './write-outcome.js'

const noContent: ApiResponse = { status: 204 }

const maxKey_bytes = 1013

/** `POST /v2/entities` [NGSIv2 context 8.2]. */
export function createEntity(services: Ngsi2Services): Operation {
  return payloadWrite(services, {
    parse: (request) => parseEntity(request.body, formOf(request)),
    work: (request, tenant, entity) => create(services, request, tenant, entity),
  })
}

async function create(
  services: Ngsi2Services,
  request: ApiRequest,
  tenant: Tenant,
  { id, type = defaultEntityType, attributes }: EntityGiven,
): Promise<ApiResponse> {
  const path = pathOfWrite(request)
  if (!path.ok) return path.error
  if (Buffer.byteLength(id) + Buffer.byteLength(type) + Buffer.byteLength(path.value) > maxKey_bytes) {
    return badInput('Too long entity id/type/servicePath combination')
  }
  const isUpsert = optionsOf(request.parameters).has('upsert')
  const terms = updateTerms(request, isUpsert ? 'either' : 'absent')
  const outcome = await updateOne(services, request, {
    tenant,
    path: path.value,
    id,
    type,
    action: 'APPEND',
    attributes,
    terms,
  })
  const headers = { Location: `/v2/entities/${id}?type=${type}` }
  return respondTo(outcome, id, { status: isUpsert ? 204 : 201, headers })
}

/** `DELETE /v2/entities/{id}` [NGSIv2 context 8.4]. */
export function removeEntity(services: Ngsi2Services): Operation {
  return pathWrite(services, async (request, tenant) => {
    const outcome = await updateNamed(services, request, tenant, 'DELETE', [])
    return respondTo(outcome, shownEntity(request), noContent)
  })
}

/** `POST`, `PATCH` and `PUT` of `/v2/entities/{id}/attrs` [NGSIv2 context 8.5]. */
export function writeAttributes(services: Ngsi2Services, actionOf: (request: ApiRequest) => UpdateAction): Operation {
  return payloadWrite(services, {
    parse: (request) => parseAttributeMembers(request.body, formOf(request)),
    work: async (request, tenant, attributes) => {
      const outcome = await updateNamed(services, request, tenant, actionOf(request), attributes)
      return respondTo(outcome, shownEntity(request), noContent)
    },
  })
}

/** What POST of attributes does: those that exist are refused on request. */
export function appendOf({ parameters }: ApiRequest): UpdateAction {
  return optionsOf(parameters).has('append') ? 'APPEND_STRICT' : 'APPEND'
}

/** `PUT /v2/entities/{id}/attrs/{name}` [NGSIv2 context 9.2]. */
export function putAttribute(services: Ngsi2Services): Operation {
  return payloadWrite(services, {
    checksName: false, // What is wrong with it is said with other words.
    parse: (request) => parseOneAttribute(request.body, segment(request, 'name')),
    work: async (request, tenant, attribute) =>
      respondToOne(await updateNamed(services, request, tenant, 'UPDATE', [attribute])),
  })
}

/** `DELETE /v2/entities/{id}/attrs/{name}` [NGSIv2 context 9.2]. */
export function removeAttribute(services: Ngsi2Services): Operation {
  return pathWrite(services, async (request, tenant) => {
    const attribute = { name: segment(request, 'name'), instance: '', type: '', metadata: [] }
    return respondToOne(await updateNamed(services, request, tenant, 'DELETE', [attribute]))
  })
}

/** `PUT /v2/entities/{id}/attrs/{name}/value` [NGSIv2 context 9.3]. */
export function putValue(services: Ngsi2Services): Operation {
  return payloadWrite(services, {
    parse: ({ body, headers }) => parseValueBody(body, /^text\/plain\b/i.test(headers['content-type']?.trim() ?? '')),
    work: async (request, tenant, { value, isForbidden }) => {
      const attribute = { name: segment(request, 'name'), instance: '', type: '', value, metadata: [] }
      const valueOnly = isForbidden ? 'forbiddenCharacters' : 'plain'
      return respondToOne(await updateNamed(services, request, tenant, 'UPDATE', [attribute], valueOnly))
    },
  })
}

/** An attribute that is not there is not found, where the path names it [NGSIv2 context 9.2]. */
function respondToOne(outcome: WriteOutcome): ApiResponse {
  return outcome.kind === 'missing' ? attributeUnknown : respondTo(outcome, '', noContent)
}

/** The entity as errors name it: with its type where the request has one [NGSIv2 context 8.5]. */
function shownEntity(request: ApiRequest): string {
  const type = request.parameters.get('type')
  const id = segment(request, 'id')
  return type === undefined ? id : `${id}/${type}`
}

/** Updates the entity that the path names, which has to be there. */
async function updateNamed(
  services: Ngsi2Services,
  request: ApiRequest,
  tenant: Tenant,
  action: UpdateAction,
  attributes: readonly GivenAttribute[],
  valueOnly?: UpdateTerms['valueOnly'],
): Promise<WriteOutcome> {
  const path = pathOfWrite(request)
  if (!path.ok) return { kind: 'refused', response: path.error }
  const id = segment(request, 'id') as EntityId
  const type = request.parameters.get('type') as EntityType | undefined
  const terms = updateTerms(request, 'present', valueOnly)
  return updateOne(services, request, { tenant, path: path.value, id, type, action, attributes, terms })
}

interface OneUpdate extends Omit<UpdateElement, 'origin'> {
  readonly path: ServicePath
}

async function updateOne(
  { broker, brokerId = '' }: Ngsi2Services,
  request: ApiRequest,
  update: OneUpdate,
): Promise<WriteOutcome> {
  const excess = tooMuch(update.attributes)
  if (excess) return { kind: 'refused', response: excess }
  const replies = await broker.update([{ ...update, origin: requestOrigin(request, brokerId) }])
  if (!replies.ok) return { kind: 'refused', response: unavailable(replies.error) }
  const [reply] = replies.value
  if (reply === undefined) throw new Error('the broker has not answered an update')
  return writeOutcome(update.attributes, reply)
}
