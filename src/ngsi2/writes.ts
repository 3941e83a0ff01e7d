import { type ApiRequest, type ApiResponse, type Operation, requestOrigin, segment } from '../api/api.js'
import type { EntityId, EntityType, Tenant } from '../context/entity.js'
import type { GivenAttribute, UpdateAction, UpdateReply } from '../context/update.js'
import type { RawTarget } from '../partition/commands.js'
import { err, ok } from '../result.js'
import { mapInSlices, noSteps } from '../slices.js'
import { badInput, unavailable } from './errors.js'
import { type WrittenEntity, writeAtProviders } from './forward/remote-writes.js'
import { type Ngsi2Services, pathWrite, payloadWrite } from './operation.js'
import { optionsOf, pathOfWrite, updateTerms, writeOptionsOf } from './parameters.js'
import { type EntityGiven, parseBatch, parseNotified } from './parse/entities.js'
import {
  type AskedWrite,
  noContent,
  readWrite,
  refusedBeforeSending,
  respondToWrite,
  type SingleWrite,
} from './single-write.js'
import { batchResponse, tooMuch, writeOutcome } from './update-errors.js'

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

/** The action of a POST of attributes: `options=append` refuses those that exist. */
export function appendOf({ parameters }: ApiRequest): UpdateAction {
  return optionsOf(parameters).has('append') ? 'APPEND_STRICT' : 'APPEND'
}

/** `PUT /v2/entities/{id}/attrs/{name}` [NGSIv2 context 9.2]. */
export function putAttribute(services: Ngsi2Services): Operation {
  // The reader of the payload checks the name, and refuses it with other texts than other paths.
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

/** Carries out a write that the front end has parsed. */
async function carryOut(
  services: Ngsi2Services,
  request: ApiRequest,
  tenant: Tenant,
  write: SingleWrite,
  entity: AskedWrite,
): Promise<ApiResponse> {
  const path = pathOfWrite(request)
  if (!path.ok) return path.error
  const refused = refusedBeforeSending(write, entity, path.value)
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

/** `POST /v2/op/update` [NGSIv2 context 11.1]. */
export function updateBatch(services: Ngsi2Services): Operation {
  return payloadWrite(services, {
    single: batchOf,
    parse: (request) => parseBatch(request.body, writeOptionsOf(request).form),
    work: (request, tenant, { action, entities }) =>
      carryOutBatch(services, request, tenant, action, entities, { status: 204 }),
  })
}

/** A batch of one entity. */
function batchOf(request: ApiRequest): SingleWrite {
  const { form, overridesMetadata, forced } = writeOptionsOf(request)
  // The action is that of the payload.
  const [operation, action] = ['batch', 'APPEND'] as const
  return { operation, action, form, overridesMetadata, forced, isUpsert: false, isText: false, target: undefined }
}

/** `POST /v2/op/notify`: every entity of a notification is appended [NGSIv2 context 11.3]. */
export function takeNotification(services: Ngsi2Services): Operation {
  return payloadWrite(services, {
    parse: (request) => {
      const wrong = wrongFormat(request)
      return wrong ? noSteps(err(wrong)) : parseNotified(request.body)
    },
    work: (request, tenant, entities) => carryOutBatch(services, request, tenant, 'APPEND', entities, { status: 200 }),
  })
}

/** Formats of notifications from which no entity can be made [NGSIv2 context 11.3]. */
const formatsWithoutTypes: ReadonlySet<string> = new Set(['keyValues', 'uniqueValues', 'custom'])

function wrongFormat({ headers }: ApiRequest): ApiResponse | undefined {
  const format = headers['ngsiv2-attrsformat'] ?? 'normalized'
  if (format === 'normalized') return undefined
  return formatsWithoutTypes.has(String(format))
    ? badInput(`attribute render format /${format}/ not supported for notifications`)
    : badInput('invalid render format for notifications')
}

/** Updates the entities in their order; one that fails does not stop the others. */
async function carryOutBatch(
  services: Ngsi2Services,
  request: ApiRequest,
  tenant: Tenant,
  action: UpdateAction,
  entities: readonly EntityGiven[],
  success: ApiResponse,
): Promise<ApiResponse> {
  const path = pathOfWrite(request)
  if (!path.ok) return path.error
  const terms = updateTerms(writeOptionsOf(request), 'either')
  const origin = requestOrigin(request, services.brokerId ?? '')
  const excesses = entities.map(({ attributes }) => tooMuch(attributes))
  const sent = entities.filter((_, at) => excesses[at] === undefined)
  const at = path.value
  const mapped = mapInSlices(sent, ({ id, type, attributes }) => ({
    tenant,
    path: at,
    id,
    type,
    action,
    attributes,
    terms,
    origin,
  }))
  const elements = mapped instanceof Promise ? await mapped : mapped
  const replies = elements.length === 0 ? ok([]) : await services.broker.update(elements, request.client)
  if (!replies.ok) return unavailable(replies.error)
  const left = replies.value.values()
  const outcomes = mapInSlices(entities, (entity, at): WrittenEntity => {
    const excess = excesses[at]
    return excess ? { entity, outcome: { kind: 'refused', response: excess } } : itemOf(entity, left.next().value)
  })
  const items = outcomes instanceof Promise ? await outcomes : outcomes
  const written = { tenant, path: path.value, action, entities: items }
  return (await writeAtProviders(services, request, written, success)) ?? batchResponse(items, success)
}

function itemOf(entity: EntityGiven, reply: UpdateReply | undefined): WrittenEntity {
  if (reply === undefined) throw new Error('the broker has not answered every element of an update')
  return { entity, outcome: writeOutcome(entity.attributes, reply), reply }
}
