import { type ApiRequest, type ApiResponse, type Operation, requestOrigin } from '../api.js'
import type { Tenant } from '../context/entity.js'
import type { UpdateAction, UpdateReply } from '../context/update.js'
import { err, ok } from '../result.js'
import { mapInSlices, noSteps } from '../slices.js'
import { batchResponse } from './batch-response.js'
import { payloadWrite } from './checked-operation.js'

import { type WrittenEntity, writeAtProviders } from './forward/remote-writes.js'
import { badInput, unavailable } from './ngsi2-errors.js'

import type { Ngsi2Services } from './ngsi2-services.js'
import { parseBatch, parseNotified } from './parse/batch-body.js'
import type { EntityGiven } from './parse/given-entity.js'
import type { SingleWrite } from './single-write.js'
import { pathOfWrite, updateTerms, writeOptionsOf } from './update-terms.js'
import { tooMuch, writeOutcome } from './write-outcome.js'

/** `POST /v2/op/update` [NGSIv2 context 11.1]. */
export function updateBatch(services: Ngsi2Services): Operation {
  return payloadWrite(services, {
    single: batchOf,
    parse: (request) => parseBatch(request.body, writeOptionsOf(request).form),
    work: (request, tenant, { action, entities }) =>
      carryOut(services, request, tenant, action, entities, { status: 204 }),
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
    work: (request, tenant, entities) => carryOut(services, request, tenant, 'APPEND', entities, { status: 200 }),
  })
}

/** Formats that notifications have, and that no entity can be made of [NGSIv2 context 11.3]. */
const formatsWithoutTypes: ReadonlySet<string> = new Set(['keyValues', 'uniqueValues', 'custom'])

function wrongFormat({ headers }: ApiRequest): ApiResponse | undefined {
  const format = headers['ngsiv2-attrsformat'] ?? 'normalized'
  if (format === 'normalized') return undefined
  return formatsWithoutTypes.has(String(format))
    ? badInput(`attribute render format /${format}/ not supported for notifications`)
    : badInput('invalid render format for notifications')
}

/** Updates the entities in their order; one that fails does not stop the others. */
async function carryOut(
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
