import type { Unavailable } from '../../broker/front-end/broker.js'
import { onlyId, rawResponse } from '../../broker/front-end/raw-replies.js'
import {
  type ApiRequest,
  type ApiResponse,
  isLong,
  type StatusText,
  type UncheckedWork,
  type Work,
} from '../../broker/operations/api.js'
import { tenantOf } from '../../broker/operations/operation.js'
import { mayPassOn } from '../../broker/providers/forwarder.js'
import type { Page, Query } from '../../model/context/query.js'
import { pathsOfRead } from '../../model/context/scope-headers.js'
import type { RawUpdateReply } from '../../partition/turn/commands.js'
import { ok, type Result } from '../../result.js'
import { atOnce, LongText, noSteps, Slices, type Steps } from '../../slices.js'
import { manyResponsesOf, resultsOf, type UpdateRequest } from './element-results.js'
import { withProviders } from './forward/query-forwarding.js'
import { type CarriedOut, fillGaps, type NothingDone } from './forward/update-forwarding.js'
import { type Ngsi1Call, type Ngsi1Services, originOf, pathOfUpdate, payloadOperation } from './operation.js'
import { requestedOrder, requestedPage, requestsObject, requestsUntyped } from './parse/parameters.js'
import type { PayloadRefusal } from './parse/payload-errors.js'
import { parseQuery, type QueryPayload } from './parse/query-payload.js'
import { isUsual } from './parse/shape.js'
import { parseUpdate, type UpdatePayload } from './parse/update-payload.js'
import { type ParseScanned, type RawRequest, rawElementsOf, updateRawElements } from './raw-elements.js'
import { encodeFlags } from './raw-update.js'
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

const refusalResponse = (refusal: PayloadRefusal): ApiResponse =>
  payloadResponse({ parser: 'errorCode', checks: 'errorCode' }, refusal)

const wrapStatus = (status: StatusText): unknown => wrapped('errorCode', status)

/** More responses are rendered in slices. */
const fewResponses = 256

/** `POST /v1/updateContext` [context 6]. */
export const updateContext = payloadOperation({
  use: 'write',
  wrapStatus,
  raw: rawWork,
  rawLong: (request, services, longPayloads) => {
    const head = rawHeadOf(services, request)
    return head === undefined
      ? noSteps(undefined)
      : elementsWork(request, services, head, (steps) => longPayloads.read(steps))
  },
  parse: parseUpdate,
  refusalResponse,
  work: update,
})

/**
 * The raw way of an update: its partitions parse and answer it. Nearly all updates of one entity take it, and one of
 * several unless something in it needs the front end: wrong headers, characters that need a check, forwarding, a long element.
 */
function rawWork(request: ApiRequest, services: Ngsi1Services): Work | UncheckedWork | undefined {
  const head = rawHeadOf(services, request)
  if (head === undefined) return undefined
  const { body, client } = request
  const { tenant, path, flags, origin } = head
  const id = onlyId(body, isUsual)
  if (id !== undefined && !mayPassOn(services, tenant, id, 'ngsi1')) {
    const raw = { tenant, path, id, body, flags: encodeFlags(flags), origin }
    return { run: () => services.broker.rawUpdate(raw, client).then(responseOf) }
  }
  return atOnce(elementsWork(request, services, head, atOnce))
}

function* elementsWork(
  request: ApiRequest,
  services: Ngsi1Services,
  head: RawRequest,
  parse: ParseScanned,
): Steps<Work | undefined> {
  const elements = yield* rawElementsOf(services, request.body, head)
  if (elements === undefined) return undefined
  return () => updateRawElements({ services, request, tenant: head.tenant }, elements, head.flags, parse, update)
}

/**
 * The head of an update whose payload partitions may parse. Undefined when its headers are wrong, which is reported after
 * mistakes in the payload.
 */
function rawHeadOf(services: Ngsi1Services, request: ApiRequest): RawRequest | undefined {
  const { options } = services
  const tenant = tenantOf(request, options)
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

function responseOf(reply: Result<RawUpdateReply, Unavailable>): Result<ApiResponse, ApiResponse> {
  return rawResponse(reply, unavailableResponse, ({ text, errors = [] }) =>
    reporting({ status: 200, body: text }, errors),
  )
}

async function update(call: Ngsi1Call, { action, elements }: UpdatePayload): Promise<ApiResponse> {
  const { request } = call
  const path = pathOfUpdate(request.paths)
  if (!path.ok) return statusResponse('errorCode', path.error)
  const carriedOut = await carryOut(call, { path: path.value, action, elements })
  if (!carriedOut.ok) return failedUpdate('errorCode', carriedOut.error)
  const { responses, ...more } = carriedOut.value
  const format = { asObject: requestsObject(request.parameters) }
  const isShort = responses.length <= fewResponses && !isLong(request.body)
  const errors = errorsOf(responses)
  if (isShort) return reporting({ status: 200, ...more, body: () => renderUpdate(responses, format) }, errors)
  return reporting({ status: 200, ...more, body: await renderLargeUpdate(responses, format) }, errors)
}

/**
 * Carries out an update here, then forwards what is not held here to providers that are registered for it [subscriptions 8.3].
 * What is done here is durable before the first request is sent.
 */
export async function carryOut(
  call: Ngsi1Call,
  what: Pick<UpdateRequest, 'path' | 'action' | 'elements'>,
): Promise<Result<CarriedOut, Unavailable | NothingDone>> {
  const { services, request, tenant } = call
  const untyped = requestsUntyped(request.parameters)
  const autocast = services.options.ngsiv1Autocast
  const update: UpdateRequest = { ...what, tenant, untyped, autocast, origin: originOf(services, request) }
  const { action, elements } = update
  const results = await resultsOf(services.broker, update, request.client)
  if (!results.ok) return results
  const isPassedOn = action === 'UPDATE' || action === 'REPLACE'
  const joined = isPassedOn ? await fillGaps(call, update, results.value) : undefined
  return joined ?? ok({ responses: await manyResponsesOf(elements, results.value, action) })
}

/** The response to an update of which nothing could be done; `shape` is that of the errors of its operation. */
export function failedUpdate(shape: ErrorShape, refusal: Unavailable | NothingDone): ApiResponse {
  if (refusal.kind !== 'nothingDone') return unavailableResponse(refusal)
  return { ...statusResponse(shape, refusal.status), headers: refusal.headers }
}

/** `POST /v1/queryContext` [context 7]. */
export const queryContext = payloadOperation({
  use: 'read',
  wrapStatus,
  parse: parseQuery,
  refusalResponse,
  work: (call, payload) => query(call, payload),
})

/**
 * The response of queryContext and of the lists of entities. `notFound` is the status without results [context 7.5].
 */
export async function query(
  call: Ngsi1Call,
  what: QueryPayload,
  notFound: StatusText = statusOf(404),
): Promise<ApiResponse> {
  const { services, request, tenant } = call
  const { paths, parameters } = request
  const order = requestedOrder(parameters)
  const wanted: Query = { tenant, paths: pathsOfRead(paths), ...what, order, ...requestedPage(parameters) }
  const page = await services.broker.query(wanted, request.client)
  if (!page.ok) return unavailableResponse(page.error)
  const found = await withProviders(call, wanted, page.value)
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
