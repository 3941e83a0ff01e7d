import type { ApiRequest, ApiResponse, Operation, StatusText } from '../api.js'
import type { EntityId, EntityType, Tenant } from '../context/entity.js'
import type { GivenAttribute, UpdateAction } from '../context/update.js'
import { err, ok, type Result } from '../result.js'
import { noSteps, type Steps } from '../slices.js'
import type { ElementResponse } from './carry-out.js'
import { checkSegments, segment, typesMeant } from './convenience.js'
import { originOf } from './forward/origin.js'
import { carryOutEverywhere, failedUpdate } from './forward/update-forwarding.js'
import { asksObject, asksUntyped } from './parse/parameters.js'
import type { PayloadRefusal } from './parse/payload-refusal.js'
import {
  type AppendPayload,
  type GivenElement,
  parseAppend,
  parseAttribute,
  parseAttributes,
} from './parse/update-payload.js'
import { type Format, renderEcho, renderHead, renderItem } from './render/elements.js'
import { type ErrorShape, type PayloadErrors, payloadAnswer, statusAnswer } from './render/responses.js'
import { isOk, statusOf } from './render/status.js'
import { forTenant, type Ngsi1Services, reading } from './services.js'
import { pathOfUpdate } from './tenant.js'

/**
 * A convenience operation that writes: one row of a table. It says how its payload is read, which context element of an
 * update it stands for, and how the response to that is shown [context 8.3 to 8.5].
 */
export interface UpdateRow<Payload> {
  readonly action: UpdateAction
  readonly read: (asked: ApiRequest, strictIds: boolean) => Steps<Result<Payload, PayloadRefusal>>
  readonly payloadErrors: PayloadErrors
  /** `type` is that of path or parameter, nothing when neither names one. */
  readonly mean: (asked: ApiRequest, type: EntityType | undefined, payload: Payload) => Result<GivenElement, StatusText>
  /** The shape of every error that is not one of the payload. */
  readonly errors: ErrorShape
  readonly answer: (responses: readonly ElementResponse[], format: Format) => ApiResponse
}

/** The operation of a row. */
export function updateOperation<Payload>(environment: Ngsi1Services, row: UpdateRow<Payload>): Operation {
  const { strictNgsiv1Ids } = environment.options
  return {
    use: 'write',
    prepare: reading(environment, function* (asked) {
      const wrong = checkSegments(asked, strictNgsiv1Ids)
      if (wrong) return err(wrong)
      const payload = yield* row.read(asked, strictNgsiv1Ids)
      if (!payload.ok) return err(payloadAnswer(row.payloadErrors, payload.error))
      return ok(() => forTenant(environment, asked, (tenant) => update(environment, row, asked, tenant, payload.value)))
    }),
  }
}

async function update<Payload>(
  environment: Ngsi1Services,
  row: UpdateRow<Payload>,
  asked: ApiRequest,
  tenant: Tenant,
  payload: Payload,
): Promise<ApiResponse> {
  const path = pathOfUpdate(asked.paths)
  if (!path.ok) return statusAnswer(row.errors, path.error)
  const types = typesMeant(asked)
  if (!types.ok) return statusAnswer(row.errors, types.error)
  const element = row.mean(asked, types.value.type, payload)
  if (!element.ok) return statusAnswer(row.errors, element.error)
  const responses = await carryOutEverywhere(environment, asked, {
    tenant,
    path: path.value,
    action: row.action,
    elements: [element.value],
    untyped: asksUntyped(asked.parameters),
    autocast: environment.options.ngsiv1Autocast,
    origin: originOf(environment, asked),
  })
  if (!responses.ok) return failedUpdate(row.errors, responses.error)
  return row.answer(responses.value, { asObject: asksObject(asked.parameters) })
}

const entityPayload: PayloadErrors = { parser: 'orionError', checks: 'errorCode' }
const attributePayload: PayloadErrors = { parser: 'orionError', checks: 'statusCode' }

/** POST of an entity [context 8.3]. */
export const appendEntity: UpdateRow<AppendPayload> = {
  action: 'APPEND',
  read: ({ body }, strictIds) => parseAppend(body, strictIds),
  payloadErrors: entityPayload,
  mean: meantByAppend,
  errors: 'errorCode',
  answer: (responses, format) =>
    onlyFailure(responses) ?? {
      status: 200,
      body: () => `{${renderHead(first(responses))},${renderResponses(responses, format)}}`,
    },
}

/** PUT of an entity [context 8.3]. */
export const updateEntity: UpdateRow<readonly GivenAttribute[]> = {
  action: 'UPDATE',
  read: ({ body }, strictIds) => parseAttributes(body, strictIds),
  payloadErrors: entityPayload,
  mean: (asked, type, attributes) => ok(elementOf(asked, type, attributes)),
  errors: 'errorCode',
  answer: (responses, format) =>
    onlyFailure(responses) ?? { status: 200, body: () => `{${renderResponses(responses, format)}}` },
}

/** DELETE of an entity [context 8.3]. */
export const deleteEntity: UpdateRow<undefined> = {
  action: 'DELETE',
  read: () => noSteps(ok(undefined)),
  payloadErrors: entityPayload,
  mean: (asked, type) => ok(elementOf(asked, type, [])),
  errors: 'bare',
  answer: bareAnswer,
}

/** POST of an attribute or of an instance of one [context 8.4, 8.5]. */
export const appendAttribute: UpdateRow<GivenAttribute> = attributeRow('APPEND')

/** PUT of an attribute or of an instance of one [context 8.4, 8.5]. */
export const updateAttribute: UpdateRow<GivenAttribute> = attributeRow('UPDATE')

/** DELETE of an attribute or of an instance of one [context 8.4, 8.5]. */
export const deleteAttribute: UpdateRow<GivenAttribute> = {
  ...attributeRow('DELETE'),
  read: (asked) => noSteps(ok({ name: segment(asked, 'name'), instance: '', type: '', metadata: [] })),
}

function attributeRow(action: UpdateAction): UpdateRow<GivenAttribute> {
  return {
    action,
    read: (asked, strictIds) => parseAttribute(asked.body, strictIds, segment(asked, 'name')),
    payloadErrors: attributePayload,
    mean: (asked, type, attribute) => {
      const instance = asked.segments['metaID'] ?? attribute.instance
      if (attribute.instance !== '' && attribute.instance !== instance) {
        const both = `/${instance}/ vs /${attribute.instance}/`
        return err(statusOf(400, `unmatching metadata ID value URI/payload: ${both}`))
      }
      return ok(elementOf(asked, type, [{ ...attribute, instance }]))
    },
    errors: 'bare',
    answer: bareAnswer,
  }
}

/** The payload may repeat id and type of the path, and name a type where the path has none [context 8.3]. */
function meantByAppend(
  asked: ApiRequest,
  type: EntityType | undefined,
  payload: AppendPayload,
): Result<GivenElement, StatusText> {
  const { id: inPath, type: typeInPath } = asked.segments
  const namesEntity = payload.id !== '' || payload.type !== '' || payload.isPattern !== ''
  if (typeInPath !== undefined && namesEntity) return err(statusOf(400, 'invalid payload: unknown fields'))
  if (inPath !== undefined && payload.id !== '' && payload.id !== inPath) {
    return err(statusOf(400, 'entityId::id differs in URL and payload'))
  }
  if (type !== undefined && payload.type !== '' && payload.type !== type) {
    return err(statusOf(400, 'entityId::type differs in URL and payload'))
  }
  if (payload.isPattern === 'true') {
    return err(statusOf(400, 'entityId::isPattern set to true in contextUpdate convenience operation'))
  }
  const id = (inPath as EntityId | undefined) ?? payload.id
  if (id === '') return err(statusOf(400, 'invalid request: mandatory entityId::id missing'))
  return ok({ id, type: type ?? payload.type, isPattern: false, attributes: payload.attributes })
}

function elementOf(
  asked: ApiRequest,
  type: EntityType | undefined,
  attributes: readonly GivenAttribute[],
): GivenElement {
  return { id: segment(asked, 'id') as EntityId, type: type ?? ('' as EntityType), isPattern: false, attributes }
}

/** When several entities were meant, the status of the first stands for all [context 8.4]. */
function bareAnswer(responses: readonly ElementResponse[]): ApiResponse {
  return statusAnswer('bare', first(responses).status)
}

/** A single failed item is answered as an error, without what it echoes [context 8.3]. */
function onlyFailure(responses: readonly ElementResponse[]): ApiResponse | undefined {
  const { status } = first(responses)
  return responses.length === 1 && !isOk(status) ? statusAnswer('errorCode', status) : undefined
}

function renderResponses(responses: readonly ElementResponse[], format: Format): string {
  const items = responses.map(({ attributes, status }) => renderItem(renderEcho(attributes, format), status))
  return `"contextResponses":[${items.join(',')}]`
}

function first([response]: readonly ElementResponse[]): ElementResponse {
  if (response === undefined) throw new Error('an update without a response')
  return response
}
