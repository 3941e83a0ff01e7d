import type { StatusText } from '../../../broker/operations/api.js'
import type {
  ParsedQueryResponse,
  ParsedUpdateResponse,
  ProviderFormat,
  ResponseElement,
} from '../../../broker/providers/provider-format.js'
import type { ProviderFailure, ProviderResponse } from '../../../broker/providers/provider-request.js'
import type { QueryForward, ShownAttribute, ShownEntity } from '../../../broker/providers/query-plan.js'
import type { UpdateForward } from '../../../broker/providers/update-plan.js'
import { type PartRoom, ValueRoom } from '../../../broker/providers/value-room.js'
import { type JsonMembers, type JsonScalar, type JsonTree, readTree, scalarsByKind } from '../../../json-reader.js'
import type { EntityId, EntityType, Metadata, Value } from '../../../model/context/entity.js'
import { err, ok, type Result } from '../../../result.js'
import type { Steps } from '../../../slices.js'
import { isJsonArray, storedValue } from '../parse/shape.js'
import { renderElement, renderGiven, renderHead } from '../render/elements.js'
import { isOk, okStatus } from '../render/status.js'

/**
 * Requests to providers in the form of NGSIv1 [subscriptions 8.2, 8.3]. Providers are not trusted: malformed parts of a response
 * are skipped, if the response as a whole has one of the members of NGSIv1 responses.
 */
export const ngsi1Format: ProviderFormat = {
  query: (forward) => ({ path: 'queryContext', parameters: '', body: queryForProvider(forward) }),
  readQuery: readQueryResponse,
  update: (forward) => ({ path: 'updateContext', parameters: '', body: updateForProvider(forward) }),
  readUpdate: readUpdateResponse,
  correlator: (correlator) => correlator,
}

/** Without `attributes` for the whole entity. */
function queryForProvider({ entity, attributes }: QueryForward): string {
  const names = attributes.length === 0 ? '' : `,"attributes":${JSON.stringify(attributes)}`
  return `{"entities":[{${renderHead({ ...entity, isPattern: entity.everyId === true })}}]${names}}`
}

/** A forwarded update always has the action UPDATE. */
function updateForProvider({ shares }: UpdateForward): string {
  const elements = shares.map(({ id, type, attributes }) =>
    renderElement({ id, type, isPattern: false }, renderGiven(attributes)),
  )
  return `{"contextElements":[${elements.join(',')}],"updateAction":"UPDATE"}`
}

/** Elements with another status than 200 are left out [subscriptions 8.2]. */
function* readQueryResponse(response: ProviderResponse): Steps<Result<ParsedQueryResponse, ProviderFailure>> {
  const parsed = yield* readResponse(response)
  if (!parsed.ok) return parsed
  const { elements, status } = parsed.value
  const found = elements.filter((element) => isOk(element.status))
  const refusal = status ?? elements.find((element) => !isOk(element.status))?.status
  return ok({ elements: found.map(({ entity }) => entity), details: refusal?.details, count: undefined })
}

function* readUpdateResponse(response: ProviderResponse): Steps<Result<ParsedUpdateResponse, ProviderFailure>> {
  const parsed = yield* readResponse(response)
  if (!parsed.ok) return parsed
  const elements: ResponseElement[] = []
  for (const { entity, isPattern, status } of parsed.value.elements) {
    const attributes = entity.attributes.map(({ name, instance, type, metadata }) => ({
      name,
      instance,
      type,
      metadata,
    }))
    elements.push({ id: entity.id, type: entity.type, isPattern, status, attributes })
    yield
  }
  return ok({ elements, status: parsed.value.status })
}

interface ReadResponse {
  readonly elements: readonly EntityInResponse[]
  readonly status: StatusText | undefined
}

interface EntityInResponse {
  readonly entity: ShownEntity
  readonly isPattern: boolean
  readonly status: StatusText
}

/** A parsed response: values come back as the provider gave them, by their kinds [subscriptions 8.2]. */
type ResponseTree = JsonTree<JsonScalar>
type ResponseObject = JsonMembers<JsonScalar>

function* readResponse({ body }: ProviderResponse): Steps<Result<ReadResponse, ProviderFailure>> {
  if (body.trim() === '') return err({ kind: 'responseEmpty' })
  const read = yield* readElements(body)
  return read === undefined ? err({ kind: 'responseUnreadable' }) : ok(read)
}

/** Nothing when the body is no JSON, or has no member of NGSIv1 responses. */
function* readElements(body: string): Steps<ReadResponse | undefined> {
  const json = yield* readTree(body, scalarsByKind)
  const whole = json.ok ? objectOf(json.value) : undefined
  if (whole === undefined) return undefined
  const responses = memberOf(whole, 'contextResponses')
  const errorCode = objectOf(memberOf(whole, 'errorCode'))
  const isResponse = errorCode !== undefined || (responses !== undefined && isJsonArray(responses))
  if (!isResponse) return undefined
  const elements: EntityInResponse[] = []
  for (const item of itemsOf(responses)) {
    yield
    const element = objectOf(memberOf(item, 'contextElement'))
    const entity = element && (yield* entityOf(element))
    if (element === undefined || entity === undefined) continue
    const isPattern = textOf(element, 'isPattern') === 'true'
    elements.push({ entity, isPattern, status: statusIn(objectOf(memberOf(item, 'statusCode'))) })
  }
  return { elements, status: errorCode && statusIn(errorCode) }
}

function* entityOf(element: ResponseObject): Steps<ShownEntity | undefined> {
  const id = textOf(element, 'id')
  if (id === '') return undefined
  const attributes: ShownAttribute[] = []
  const room = new ValueRoom()
  for (const item of itemsOf(memberOf(element, 'attributes'))) {
    const attribute = yield* attributeOf(item, room)
    if (attribute !== undefined) attributes.push(attribute)
    yield
  }
  const type = textOf(element, 'type') as EntityType
  return { id: id as EntityId, type, attributes, hasTooManyValues: room.isExceeded }
}

/** Metadata ID tells instances apart; all others stay as they came, location among them. */
function* attributeOf(json: ResponseObject, room: ValueRoom): Steps<ShownAttribute | undefined> {
  const name = textOf(json, 'name')
  if (name === '') return undefined
  const given: Metadata[] = []
  for (const item of itemsOf(memberOf(json, 'metadatas'))) {
    const own = textOf(item, 'name')
    if (own !== '')
      given.push({ name: own, type: textOf(item, 'type'), value: yield* givenValue(item, room.inMetadata) })
    yield
  }
  const instance = given.findLast((one) => one.name === 'ID')?.value ?? ''
  const isInstance = typeof instance === 'string'
  const metadata = isInstance ? given.filter((one) => one.name !== 'ID') : given
  const value = yield* givenValue(json, room.inValues)
  const type = textOf(json, 'type')
  return { name, type, value, metadata, instance: isInstance ? instance : '', isLocation: false }
}

function* givenValue(json: ResponseObject, room: PartRoom): Steps<Value> {
  const value = memberOf(json, 'value')
  return value === undefined || !(yield* room.takes(value)) ? '' : yield* storedValue(value)
}

/** A missing status means success. */
function statusIn(json: ResponseObject | undefined): StatusText {
  const code = json && textOf(json, 'code')
  if (json === undefined || code === undefined || code === '' || code === okStatus.code) return okStatus
  const details = textOf(json, 'details')
  const status = { code, reasonPhrase: textOf(json, 'reasonPhrase') }
  return details === '' ? status : { ...status, details }
}

function objectOf(json: ResponseTree | undefined): ResponseObject | undefined {
  return typeof json !== 'object' || json === null || isJsonArray(json) ? undefined : json
}

function* itemsOf(json: ResponseTree | undefined): Iterable<ResponseObject> {
  for (const item of json !== undefined && isJsonArray(json) ? json : []) {
    const object = objectOf(item)
    if (object !== undefined) yield object
  }
}

/** The member of a name; the last one if several have it. */
function memberOf(json: ResponseObject, name: string): ResponseTree | undefined {
  return json.members.findLast(([key]) => key === name)?.[1]
}

function textOf(json: ResponseObject, name: string): string {
  const member = memberOf(json, name)
  return member === undefined || (typeof member === 'object' && member !== null) ? '' : String(member)
}
