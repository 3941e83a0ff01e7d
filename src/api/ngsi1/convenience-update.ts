import { type ApiRequest, type ApiResponse, type StatusText, segment } from '../../broker/operations/api.js'
import type { Unbound } from '../../broker/operations/operation.js'
import type { EntityId, EntityType } from '../../model/context/entity.js'
import type { GivenAttribute, UpdateAction } from '../../model/context/update.js'
import { err, ok, type Result } from '../../result.js'
import { noSteps } from '../../slices.js'
import { carryOut, failedUpdate } from './context-operations.js'
import type { ElementResponse } from './element-results.js'
import {
  type Ngsi1Call,
  type Ngsi1Services,
  type ParsePayload,
  pathOfUpdate,
  payloadOperation,
  typesMeant,
} from './operation.js'
import { requestsObject } from './parse/parameters.js'
import {
  type AppendPayload,
  type GivenElement,
  parseAppend,
  parseAttribute,
  parseAttributes,
} from './parse/update-payload.js'
import { type AttributeFormat, renderEcho, renderHead, renderItem } from './render/elements.js'
import {
  type ErrorShape,
  errorsOf,
  isOk,
  type PayloadErrors,
  payloadResponse,
  reporting,
  statusOf,
  statusResponse,
} from './render/status.js'

/**
 * A convenience operation that writes: how its payload is parsed, which context element of an update it stands for, and the form
 * of its response [context 8.3 to 8.5].
 */
interface UpdateRow<Payload> {
  readonly action: UpdateAction
  readonly parse: ParsePayload<Payload>
  readonly payloadErrors: PayloadErrors
  /** `type` is that of path or parameter, undefined when neither names one. */
  readonly mean: (
    request: ApiRequest,
    type: EntityType | undefined,
    payload: Payload,
  ) => Result<GivenElement, StatusText>
  /** The shape of all errors but those of the payload. */
  readonly errors: ErrorShape
  readonly respond: (responses: readonly ElementResponse[], format: AttributeFormat) => ApiResponse
}

function updateOperation<Payload>(row: UpdateRow<Payload>): Unbound<Ngsi1Services> {
  return payloadOperation({
    use: 'write',
    checksPath: true,
    parse: row.parse,
    refusalResponse: (refusal) => payloadResponse(row.payloadErrors, refusal),
    work: (call, payload) => update(call, row, payload),
  })
}

async function update<Payload>(
  call: Ngsi1Call,
  { action, mean, errors, respond }: UpdateRow<Payload>,
  payload: Payload,
): Promise<ApiResponse> {
  const { request } = call
  const path = pathOfUpdate(request.paths)
  if (!path.ok) return statusResponse(errors, path.error)
  const types = typesMeant(request)
  if (!types.ok) return statusResponse(errors, types.error)
  const element = mean(request, types.value.type, payload)
  if (!element.ok) return statusResponse(errors, element.error)
  const carriedOut = await carryOut(call, { path: path.value, action, elements: [element.value] })
  if (!carriedOut.ok) return failedUpdate(errors, carriedOut.error)
  const { responses, ...more } = carriedOut.value
  return { ...more, ...respond(responses, { asObject: requestsObject(request.parameters) }) }
}

const entityPayload: PayloadErrors = { parser: 'orionError', checks: 'errorCode' }
const attributePayload: PayloadErrors = { parser: 'orionError', checks: 'statusCode' }

/** POST of an entity [context 8.3]. */
export const appendEntity = updateOperation<AppendPayload>({
  action: 'APPEND',
  parse: parseAppend,
  payloadErrors: entityPayload,
  mean: meantByAppend,
  errors: 'errorCode',
  respond: (responses, format) =>
    onlyFailure(responses) ??
    allResponses(responses, () => `{${renderHead(first(responses))},${renderResponses(responses, format)}}`),
})

/** PUT of an entity [context 8.3]. */
export const updateEntity = updateOperation<readonly GivenAttribute[]>({
  action: 'UPDATE',
  parse: parseAttributes,
  payloadErrors: entityPayload,
  mean: (request, type, attributes) => ok(elementOf(request, type, attributes)),
  errors: 'errorCode',
  respond: (responses, format) =>
    onlyFailure(responses) ?? allResponses(responses, () => `{${renderResponses(responses, format)}}`),
})

/** DELETE of an entity [context 8.3]. */
export const deleteEntity = updateOperation<undefined>({
  action: 'DELETE',
  parse: () => noSteps(ok(undefined)),
  payloadErrors: entityPayload,
  mean: (request, type) => ok(elementOf(request, type, [])),
  errors: 'bare',
  respond: bareResponse,
})

/** POST of an attribute or of an instance of one [context 8.4, 8.5]. */
export const appendAttribute = updateOperation(attributeRow('APPEND'))

/** PUT of an attribute or of an instance of one [context 8.4, 8.5]. */
export const updateAttribute = updateOperation(attributeRow('UPDATE'))

/** DELETE of an attribute or of an instance of one [context 8.4, 8.5]. */
export const deleteAttribute = updateOperation({
  ...attributeRow('DELETE'),
  parse: (_body, _strictIds, request) =>
    noSteps(ok({ name: segment(request, 'name'), instance: '', type: '', metadata: [] })),
})

function attributeRow(action: UpdateAction): UpdateRow<GivenAttribute> {
  return {
    action,
    parse: (body, strictIds, request) => parseAttribute(body, strictIds, segment(request, 'name')),
    payloadErrors: attributePayload,
    mean: (request, type, attribute) => {
      const instance = request.segments['metaID'] ?? attribute.instance
      if (attribute.instance !== '' && attribute.instance !== instance) {
        const both = `/${instance}/ vs /${attribute.instance}/`
        return err(statusOf(400, `unmatching metadata ID value URI/payload: ${both}`))
      }
      return ok(elementOf(request, type, [{ ...attribute, instance }]))
    },
    errors: 'bare',
    respond: bareResponse,
  }
}

/** The payload may repeat id and type of the path, and name a type where the path has none [context 8.3]. */
function meantByAppend(
  request: ApiRequest,
  type: EntityType | undefined,
  payload: AppendPayload,
): Result<GivenElement, StatusText> {
  const { id: inPath, type: typeInPath } = request.segments
  if (typeInPath !== undefined && payload.namesEntity) return err(statusOf(400, 'invalid payload: unknown fields'))
  if (inPath !== undefined && payload.id !== '' && payload.id !== inPath) {
    return err(statusOf(400, 'entityId::id differs in URL and payload'))
  }
  if (type !== undefined && payload.type !== '' && payload.type !== type) {
    return err(statusOf(400, 'entityId::type differs in URL and payload'))
  }
  if (payload.isPattern) {
    return err(statusOf(400, 'entityId::isPattern set to true in contextUpdate convenience operation'))
  }
  const id = (inPath as EntityId | undefined) ?? payload.id
  if (id === '') return err(statusOf(400, 'invalid request: mandatory entityId::id missing'))
  return ok({ id, type: type ?? payload.type, isPattern: false, attributes: payload.attributes })
}

function elementOf(
  request: ApiRequest,
  type: EntityType | undefined,
  attributes: readonly GivenAttribute[],
): GivenElement {
  return { id: segment(request, 'id') as EntityId, type: type ?? ('' as EntityType), isPattern: false, attributes }
}

/** The status of the first entity stands for all [context 8.4]. */
function bareResponse(responses: readonly ElementResponse[]): ApiResponse {
  return statusResponse('bare', first(responses).status)
}

/** A single failed item is reported as an error, without its echo [context 8.3]. */
function onlyFailure(responses: readonly ElementResponse[]): ApiResponse | undefined {
  const { status } = first(responses)
  return responses.length === 1 && !isOk(status) ? statusResponse('errorCode', status) : undefined
}

function allResponses(responses: readonly ElementResponse[], body: () => string): ApiResponse {
  return reporting({ status: 200, body }, errorsOf(responses))
}

function renderResponses(responses: readonly ElementResponse[], format: AttributeFormat): string {
  const items = responses.map(({ attributes, status }) => renderItem(renderEcho(attributes, format), status))
  return `"contextResponses":[${items.join(',')}]`
}

function first([response]: readonly ElementResponse[]): ElementResponse {
  if (response === undefined) throw new Error('an update without a response')
  return response
}
