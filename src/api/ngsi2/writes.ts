import { type ApiRequest, type ApiResponse, requestOrigin, segment } from '../../broker/operations/api.js'
import type { Unbound } from '../../broker/operations/operation.js'
import type { EntityId, EntityType } from '../../model/context/entity.js'
import type { GivenAttribute, UpdateAction, UpdateReply } from '../../model/context/update.js'
import type { RawTarget } from '../../partition/turn/commands.js'
import { err, ok } from '../../result.js'
import { mapInSlices } from '../../slices.js'
import { badInput, unavailable } from './errors.js'
import { type WrittenEntity, writeAtProviders } from './forward/remote-writes.js'
import { type Ngsi2Call, type Ngsi2Services, pathOperation, payloadWrite } from './operation.js'
import { optionsOf, pathOfWrite, updateTerms, writeOptionsOf } from './parameters.js'
import { type EntityGiven, parseBatch, parseNotified } from './parse/entities.js'
import { rawBatch } from './raw-batch.js'
import {
  noContent,
  type RequestedWrite,
  readWrite,
  refusalBeforeSending,
  respondToWrite,
  type SingleWrite,
} from './single-write.js'
import { batchResponse, tooMuch, writeOutcome } from './update-errors.js'

/** `POST /v2/entities` [NGSIv2 context 8.2]. */
export const createEntity = entityWrite((request) => singleWrite(request, 'create', 'APPEND', undefined))

/** `DELETE /v2/entities/{id}` [NGSIv2 context 8.4]. */
export const removeEntity = removal('attributes', () => [])

/** `POST`, `PATCH` and `PUT` of `/v2/entities/{id}/attrs` [NGSIv2 context 8.5]. */
export function writeAttributes(actionOf: (request: ApiRequest) => UpdateAction): Unbound<Ngsi2Services> {
  return entityWrite((request) => writeOfNamed(request, 'attributes', actionOf(request)))
}

/** The action of a POST of attributes: `options=append` refuses those that exist. */
export function appendOf({ parameters }: ApiRequest): UpdateAction {
  return optionsOf(parameters).has('append') ? 'APPEND_STRICT' : 'APPEND'
}

/** `PUT /v2/entities/{id}/attrs/{name}` [NGSIv2 context 9.2]. */
export const putAttribute = entityWrite(
  (request) => writeOfNamed(request, 'attribute', 'UPDATE'),
  // The parser of the payload checks the name, with other error texts than those for other paths.
  false,
)

/** `DELETE /v2/entities/{id}/attrs/{name}` [NGSIv2 context 9.2]. */
export const removeAttribute = removal('attribute', (request) => [
  { name: segment(request, 'name'), instance: '', type: '', metadata: [] },
])

/** `PUT /v2/entities/{id}/attrs/{name}/value` [NGSIv2 context 9.3]. */
export const putValue = entityWrite((request) => writeOfNamed(request, 'value', 'UPDATE'))

/** A write of the entity in the path. */
function writeOfNamed(request: ApiRequest, operation: SingleWrite['operation'], action: UpdateAction): SingleWrite {
  return singleWrite(request, operation, action, targetOf(request))
}

function singleWrite(
  { headers, parameters }: ApiRequest,
  operation: SingleWrite['operation'],
  action: UpdateAction,
  target: RawTarget | undefined,
): SingleWrite {
  const { form, overridesMetadata, forced } = writeOptionsOf({ parameters })
  const isUpsert = operation === 'create' && optionsOf(parameters).has('upsert')
  const isText = operation === 'value' && /^text\/plain\b/i.test(headers['content-type']?.trim() ?? '')
  return { operation, action, form, overridesMetadata, forced, isUpsert, isText, target }
}

function targetOf({ segments, parameters }: ApiRequest): RawTarget {
  return {
    id: segment({ segments }, 'id') as EntityId,
    type: parameters.get('type') as EntityType | undefined,
    name: segments['name'],
  }
}

function entityWrite(writeOf: (request: ApiRequest) => SingleWrite, checksName = true): Unbound<Ngsi2Services> {
  return payloadWrite({
    checksName,
    single: writeOf,
    parse: (request) => readWrite(writeOf(request), request.body),
    work: (call, entity) => carryOut(call, writeOf(call.request), entity),
  })
}

/** An operation without a payload that removes something of the entity in the path. */
function removal(
  operation: SingleWrite['operation'],
  attributesOf: (request: ApiRequest) => readonly GivenAttribute[],
): Unbound<Ngsi2Services> {
  return pathOperation('write', (call) => {
    const { request } = call
    const write = writeOfNamed(request, operation, 'DELETE')
    const { id, type } = targetOf(request)
    const terms = updateTerms(write, 'present')
    const entity = { id, type, action: 'DELETE', attributes: attributesOf(request), terms } as const
    return carryOut(call, write, entity)
  })
}

/** Carries out a write that the front end has parsed. */
async function carryOut(call: Ngsi2Call, write: SingleWrite, entity: RequestedWrite): Promise<ApiResponse> {
  const { services, request, tenant } = call
  const path = pathOfWrite(request)
  if (!path.ok) return path.error
  const refusal = refusalBeforeSending(write, entity, path.value)
  if (refusal) return refusal
  const { broker, brokerId = '' } = services
  const element = { ...entity, tenant, path: path.value, origin: requestOrigin(request, brokerId) }
  const replies = await broker.update([element], request.client)
  if (!replies.ok) return unavailable(replies.error)
  const [reply] = replies.value
  if (reply === undefined) throw new Error('the broker has not answered an update')
  const entities = [{ entity, outcome: writeOutcome(entity.attributes, reply), reply }]
  const written = { path: path.value, action: entity.action, entities }
  return (await writeAtProviders(call, written, noContent)) ?? respondToWrite(write, entity, reply)
}

/** `POST /v2/op/update` [NGSIv2 context 11.1]. */
export const updateBatch = payloadWrite({
  // A batch takes the action of its payload.
  single: (request) => singleWrite(request, 'batch', 'APPEND', undefined),
  many: rawBatch,
  parse: (request) => parseBatch(request.body, writeOptionsOf(request).form),
  work: (call, { action, entities }) => carryOutBatch(call, action, entities, { status: 204 }),
})

/** `POST /v2/op/notify`: every entity of a notification is appended [NGSIv2 context 11.3]. */
export const takeNotification = payloadWrite({
  parse: (request) => {
    const wrong = wrongFormat(request)
    return wrong ? err(wrong) : parseNotified(request.body)
  },
  work: (call, entities) => carryOutBatch(call, 'APPEND', entities, { status: 200 }),
})

/** Formats of notifications from which no entity can be made [NGSIv2 context 11.3]. */
const formatsWithoutTypes: ReadonlySet<string> = new Set(['keyValues', 'uniqueValues', 'custom'])

/** An empty header counts as none. */
function wrongFormat({ headers }: ApiRequest): ApiResponse | undefined {
  const format = headers['ngsiv2-attrsformat'] || 'normalized'
  if (format === 'normalized') return undefined
  return formatsWithoutTypes.has(String(format))
    ? badInput(`attribute render format /${format}/ not supported for notifications`)
    : badInput('invalid render format for notifications')
}

/** Updates the entities in order; a failed one does not stop the others. */
async function carryOutBatch(
  call: Ngsi2Call,
  action: UpdateAction,
  entities: readonly EntityGiven[],
  success: ApiResponse,
): Promise<ApiResponse> {
  const { services, request, tenant } = call
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
  const written = { path: path.value, action, entities: items }
  return (await writeAtProviders(call, written, success)) ?? batchResponse(items, success)
}

function itemOf(entity: EntityGiven, reply: UpdateReply | undefined): WrittenEntity {
  if (reply === undefined) throw new Error('the broker has not answered every element of an update')
  return { entity, outcome: writeOutcome(entity.attributes, reply), reply }
}
