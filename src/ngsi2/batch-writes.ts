import { type ApiRequest, type ApiResponse, type Operation, requestOrigin } from '../api.js'
import type { Tenant } from '../context/entity.js'
import type { UpdateAction, UpdateReply } from '../context/update.js'
import { err, ok } from '../result.js'
import { mapInSlices, noSteps } from '../slices.js'
import { payloadWrite } from './checked-operation.js'
import { badInput, refused, unavailable } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { parseBatch, parseNotified } from './parse/batch-body.js'
import type { EntityGiven } from './parse/given-entity.js'
import { formOf, pathOfWrite, updateTerms } from './update-terms.js'
import { beginnings, namesText, tooMuch, type WriteOutcome, writeOutcome } from './write-outcome.js'

/** `POST /v2/op/update` [NGSIv2 context 11.1]. */
export function updateBatch(services: Ngsi2Services): Operation {
  return payloadWrite(services, {
    parse: (request) => parseBatch(request.body, formOf(request)),
    work: (request, tenant, { action, entities }) =>
      carryOut(services, request, tenant, action, entities, { status: 204 }),
  })
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
  const terms = updateTerms(request, 'either')
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
  const replies = elements.length === 0 ? ok([]) : await services.broker.update(elements)
  if (!replies.ok) return unavailable(replies.error)
  const left = replies.value.values()
  const outcomes = mapInSlices(entities, (entity, at): BatchItem => {
    const excess = excesses[at]
    const outcome = excess ? ({ kind: 'refused', response: excess } as const) : outcomeIn(entity, left.next().value)
    return { entity, outcome }
  })
  return answer(outcomes instanceof Promise ? await outcomes : outcomes, success)
}

interface BatchItem {
  readonly entity: EntityGiven
  readonly outcome: WriteOutcome
}

function outcomeIn({ attributes }: EntityGiven, reply: UpdateReply | undefined): WriteOutcome {
  if (reply === undefined) throw new Error('the broker has not answered every element of an update')
  return writeOutcome(attributes, reply)
}

/** One response to all items: the first one that failed otherwise decides, else those that are missing or there already [NGSIv2 context 11.1]. */
function answer(items: readonly BatchItem[], success: ApiResponse): ApiResponse {
  for (const { outcome } of items) if (outcome.kind === 'refused') return outcome.response
  const failed = items.filter(({ outcome }) => outcome.kind !== 'done')
  if (failed.length === 0) return success
  const description = failed.map(partOf).join(', ')
  const isOf = (kind: WriteOutcome['kind']) => (item: BatchItem) => item.outcome.kind === kind
  if (items.every(isOf('entityUnknown'))) return refused('NotFound', description)
  const isDone = items.some(({ outcome }) => outcome.kind === 'done' || ('isPartial' in outcome && outcome.isPartial))
  return refused(isDone ? 'PartialUpdate' : 'Unprocessable', description)
}

/** What is said of an item that failed; the first one of the request begins the description. */
function partOf({ entity: { id, type }, outcome }: BatchItem, at: number): string {
  const shown = type === undefined ? id : `${id}/${type}`
  if (outcome.kind === 'entityUnknown') {
    return at === 0 ? `${beginnings.missing}${shown} - [entity itself]` : `${shown} [entity itself]`
  }
  if (outcome.kind !== 'missing' && outcome.kind !== 'existing') return ''
  return `${at === 0 ? beginnings[outcome.kind] : ''}${shown} - ${namesText(outcome.names)}`
}
