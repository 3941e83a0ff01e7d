import { type ApiRequest, type ApiResponse, isLong, type Operation, type StatusText } from '../api/api.js'
import type { RawUpdate, Unavailable } from '../broker/broker.js'
import type { Tenant } from '../context/entity.js'
import type { Page, Query } from '../context/query.js'
import { pathsOfRead } from '../context/scope-headers.js'
import type { RawUpdateReply } from '../partition/commands.js'
import { forwarderOf, mayPassOn } from '../providers/forwarder.js'
import { err, ok, type Result } from '../result.js'
import { LongText, Slices } from '../slices.js'
import { type ElementResponse, manyResponsesOf, resultsOf, type UpdateRequest } from './element-results.js'
import { withProviders } from './forward/query-forwarding.js'
import { fillGaps, type NothingDone } from './forward/update-forwarding.js'
import { type Ngsi1Services, originOf, pathOfUpdate, payloadOperation, tenantOf } from './operation.js'
import { requestedOrder, requestedPage, requestsObject, requestsUntyped } from './parse/parameters.js'
import type { PayloadRefusal } from './parse/payload-errors.js'
import { parseQuery, type QueryPayload } from './parse/query-payload.js'
import { parseUpdate, type UpdatePayload } from './parse/update-payload.js'
import { type RawRequest, rawElementsOf, updateRawElements } from './raw-elements.js'
import { encodeFlags, onlyId } from './raw-update.js'
import { renderLargeUpdate, renderResult, renderStatus, renderUpdate } from './render/elements.js'
import {
  type ErrorShape,
  errorsOf,
  payloadResponse,
  reporting,
  statusOf,
  statusResponse,
  unavailableResponse,
  wrapped,
} from './render/status.js'

const refused = (refusal: PayloadRefusal): ApiResponse =>
  payloadResponse({ parser: 'errorCode', checks: 'errorCode' }, refusal)

const wrapStatus = (status: StatusText): unknown => wrapped('errorCode', status)

/** More responses are rendered in slices. */
const fewResponses = 256

/** `POST /v1/updateContext` [context 6]. */
export function updateContext(services: Ngsi1Services): Operation {
  const readHere = payloadOperation(services, {
    use: 'write',
    wrapStatus,
    parse: parseUpdate,
    refused,
    work: (request, tenant, payload) => update(services, request, tenant, payload),
  })
  return {
    ...readHere,
    prepare: (request) => {
      const asked = rawRequestOf(services, request)
      if (asked === undefined) return readHere.prepare(request)
      const raw = rawUpdateOf(services, request.body, asked)
      if (raw) return ok({ run: () => services.broker.rawUpdate(raw, request.client).then(checked) })
      const elements = rawElementsOf(services, request.body, asked)
      if (elements === undefined) return readHere.prepare(request)
      const here = (payload: UpdatePayload) => update(services, request, elements.tenant, payload)
      return ok(() => updateRawElements(services, elements, request, asked.flags, here))
    },
  }
}

/**
 * The head of an update whose payload partitions may parse. Undefined when the front end has to parse it: the payload is long, or the
 * headers are wrong, which is reported after mistakes in the payload.
 */
function rawRequestOf(services: Ngsi1Services, request: ApiRequest): RawRequest | undefined {
  if (isLong(request.body)) return undefined
  const { options } = services
  const tenant = tenantOf(request.headers, options.multiservice)
  const path = pathOfUpdate(request.paths)
  if (!tenant.ok || !path.ok) return undefined
  const { parameters } = request
  const flags = {
    untyped: requestsUntyped(parameters),
    autocast: options.ngsiv1Autocast,
    asObject: requestsObject(parameters),
    strictIds: options.strictNgsiv1Ids,
  }
  return { tenant: tenant.value, path: path.value, flags, origin: originOf(services, request) }
}

/**
 * An update of one entity, as nearly all are: its partition parses and answers it, whatever is in it. Undefined when the update is not
 * about exactly one id, or may have to be forwarded.
 */
function rawUpdateOf(
  services: Ngsi1Services,
  body: string,
  { tenant, path, flags, origin }: RawRequest,
): RawUpdate | undefined {
  const id = onlyId(body)
  if (id === undefined || mayPassOn(services, tenant, id, 'ngsi1')) return undefined
  return { tenant, path, id, body, flags: encodeFlags(flags), origin }
}

/** An update that the broker cannot take now is counted as accepted: nobody has parsed its payload. */
function checked(reply: Result<RawUpdateReply, Unavailable>): Result<ApiResponse, ApiResponse> {
  if (!reply.ok) return ok(unavailableResponse(reply.error))
  const { text, errors = [] } = reply.value
  const response = reporting({ status: 200, body: text }, errors)
  return reply.value.accepted ? ok(response) : err(response)
}

async function update(
  services: Ngsi1Services,
  request: ApiRequest,
  tenant: Tenant,
  { action, elements }: UpdatePayload,
): Promise<ApiResponse> {
  const path = pathOfUpdate(request.paths)
  if (!path.ok) return statusResponse('errorCode', path.error)
  const responses = await carryOut(services, request, { tenant, path: path.value, action, elements })
  if (!responses.ok) return failedUpdate('errorCode', responses.error)
  const format = { asObject: requestsObject(request.parameters) }
  const isShort = responses.value.length <= fewResponses && !isLong(request.body)
  const errors = errorsOf(responses.value)
  if (isShort) return reporting({ status: 200, body: () => renderUpdate(responses.value, format) }, errors)
  return reporting({ status: 200, body: await renderLargeUpdate(responses.value, format) }, errors)
}

/**
 * Carries out an update here, then passes on what is not held here and somebody is registered for [subscriptions 8.3].
 * What is done here is on disk before the first request goes out.
 */
export async function carryOut(
  services: Ngsi1Services,
  request: ApiRequest,
  what: Pick<UpdateRequest, 'tenant' | 'path' | 'action' | 'elements'>,
): Promise<Result<readonly ElementResponse[], Unavailable | NothingDone>> {
  const untyped = requestsUntyped(request.parameters)
  const autocast = services.options.ngsiv1Autocast
  const update: UpdateRequest = { ...what, untyped, autocast, origin: originOf(services, request) }
  const { action, elements, tenant } = update
  const results = await resultsOf(services.broker, update, request.client)
  if (!results.ok) return results
  const isPassedOn = action === 'UPDATE' || action === 'REPLACE'
  const forwarder = isPassedOn ? forwarderOf(services, request, tenant) : undefined
  const joined = forwarder && (await fillGaps(forwarder, update, results.value))
  return joined ?? ok(await manyResponsesOf(elements, results.value, action))
}

/** The response to an update of which nothing could be done; `shape` is that of the errors of its operation. */
export function failedUpdate(shape: ErrorShape, refusal: Unavailable | NothingDone): ApiResponse {
  return refusal.kind === 'nothingDone' ? statusResponse(shape, refusal.status) : unavailableResponse(refusal)
}

/** `POST /v1/queryContext` [context 7]. */
export function queryContext(services: Ngsi1Services): Operation {
  return payloadOperation(services, {
    use: 'read',
    wrapStatus,
    parse: parseQuery,
    refused,
    work: (request, tenant, payload) => query(services, request, tenant, payload),
  })
}

/**
 * The response of queryContext and of the lists of entities. `notFound` is the status without results [context 7.5].
 */
export async function query(
  services: Ngsi1Services,
  request: ApiRequest,
  tenant: Tenant,
  what: QueryPayload,
  notFound: StatusText = statusOf(404),
): Promise<ApiResponse> {
  const { paths, parameters } = request
  const order = requestedOrder(parameters)
  const wanted: Query = { tenant, paths: pathsOfRead(paths), ...what, order, ...requestedPage(parameters) }
  const page = await services.broker.query(wanted, request.client)
  if (!page.ok) return unavailableResponse(page.error)
  const found = await withProviders(services, request, wanted, page.value)
  if (!found.ok) return unavailableResponse(found.error)
  const { entities, details } = found.value
  if (entities.length === 0) {
    const status = details === undefined ? nothingOn(page.value, wanted, notFound) : statusOf(404, details)
    return statusResponse('errorCode', status)
  }
  const format = { asObject: requestsObject(parameters) }
  const texts = new LongText()
  const slices = new Slices()
  for (const entity of entities) {
    texts.push(renderResult(entity, what.attributes, format))
    if (slices.isOver) await slices.next()
  }
  return { status: 200, body: () => renderPage(texts.joined, page.value.count) }
}

/** With `details=on`, a page without results reports whether earlier pages have some [context 7.6]. */
function nothingOn({ count = 0 }: Page, { counted, offset }: Query, notFound: StatusText): StatusText {
  if (!counted || count === 0) return notFound
  return statusOf(404, `Number of matching entities: ${count}. Offset is ${offset}`)
}

function renderPage(results: string, count: number | undefined): string {
  const counted = count === undefined ? '' : `,"errorCode":${renderStatus(statusOf(200, `Count: ${count}`))}`
  return `{"contextResponses":[${results}]${counted}}`
}
