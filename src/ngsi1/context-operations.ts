import { type ApiRequest, type ApiResponse, isLong, type Operation, type StatusText } from '../api.js'
import type { RawUpdate, Unavailable } from '../broker/broker.js'
import type { Tenant } from '../context/entity.js'
import type { Page, Query } from '../context/query.js'
import type { RawUpdateReply } from '../partition/message.js'
import { err, ok, type Result } from '../result.js'
import { LongText, Slices } from '../slices.js'
import { mayPassOn } from './forward/forwarder.js'
import { originOf } from './forward/origin.js'
import { withProviders } from './forward/query-forwarding.js'
import { carryOutEverywhere, failedUpdate } from './forward/update-forwarding.js'
import { asksObject, asksUntyped, requestedOrder, requestedPage } from './parse/parameters.js'
import { parseQuery, type QueryPayload } from './parse/query-payload.js'
import { parseTraced } from './parse/traced.js'
import { parseUpdate, type UpdatePayload } from './parse/update-payload.js'
import { encodeFlags, onlyId } from './raw-update.js'
import { renderResult, renderStatus } from './render/elements.js'
import { type PayloadErrors, payloadAnswer, statusAnswer, unavailableAnswer, wrapped } from './render/responses.js'
import { statusOf } from './render/status.js'
import { renderLargeUpdate, renderUpdate } from './render/update-response.js'
import { forTenant, type Ngsi1Services, reading } from './services.js'
import { parseTenant, pathOfUpdate, pathsOfRead } from './tenant.js'

const payloadErrors: PayloadErrors = { parser: 'errorCode', checks: 'errorCode' }

const wrapStatus = (status: StatusText): unknown => wrapped('errorCode', status)

/** More responses are worded in slices. */
const fewResponses = 256

/** `POST /v1/updateContext` [context 6]. */
export function updateContext(environment: Ngsi1Services): Operation {
  const { strictNgsiv1Ids } = environment.options
  const readHere = reading(environment, function* (asked) {
    const payload = yield* parseTraced(environment.log, asked.body, parseUpdate(asked.body, strictNgsiv1Ids))
    if (!payload.ok) return err(payloadAnswer(payloadErrors, payload.error))
    return ok(() => forTenant(environment, asked, (tenant) => update(environment, asked, tenant, payload.value)))
  })
  return {
    use: 'write',
    wrapStatus,
    prepare: (request) => {
      const raw = rawUpdateOf(environment, request)
      return raw === undefined ? readHere(request) : ok({ run: () => environment.broker.rawUpdate(raw).then(checked) })
    },
  }
}

/**
 * An update of one entity, as nearly all are, is parsed and answered by its partition. Undefined when the payload has to be
 * read here: it is long or not about one id, it may have to be passed on, or the headers are wrong, which is said after
 * what is wrong with the payload.
 */
function rawUpdateOf(environment: Ngsi1Services, asked: ApiRequest): RawUpdate | undefined {
  if (isLong(asked.body)) return undefined
  const { options } = environment
  const id = onlyId(asked.body)
  if (id === undefined) return undefined
  const tenant = parseTenant(asked.headers, options.multiservice)
  const path = pathOfUpdate(asked.paths)
  if (!tenant.ok || !path.ok) return undefined
  if (mayPassOn(environment, tenant.value, id)) return undefined
  const { body, parameters } = asked
  const flags = encodeFlags({
    untyped: asksUntyped(parameters),
    autocast: options.ngsiv1Autocast,
    asObject: asksObject(parameters),
    strictIds: options.strictNgsiv1Ids,
  })
  return { tenant: tenant.value, path: path.value, id, body, flags, origin: originOf(environment, asked) }
}

/** An update that the broker cannot take now counts, since nobody knows better. */
function checked(reply: Result<RawUpdateReply, Unavailable>): Result<ApiResponse, ApiResponse> {
  if (!reply.ok) return ok(unavailableAnswer(reply.error))
  const response = { status: 200, body: reply.value.text }
  return reply.value.accepted ? ok(response) : err(response)
}

async function update(
  environment: Ngsi1Services,
  asked: ApiRequest,
  tenant: Tenant,
  payload: UpdatePayload,
): Promise<ApiResponse> {
  const { paths, parameters } = asked
  const path = pathOfUpdate(paths)
  if (!path.ok) return statusAnswer('errorCode', path.error)
  const responses = await carryOutEverywhere(environment, asked, {
    tenant,
    path: path.value,
    action: payload.action,
    elements: payload.elements,
    untyped: asksUntyped(parameters),
    autocast: environment.options.ngsiv1Autocast,
    origin: originOf(environment, asked),
  })
  if (!responses.ok) return failedUpdate('errorCode', responses.error)
  const format = { asObject: asksObject(parameters) }
  const isShort = responses.value.length <= fewResponses && !isLong(asked.body)
  if (isShort) return { status: 200, body: () => renderUpdate(responses.value, format) }
  return { status: 200, body: await renderLargeUpdate(responses.value, format) }
}

/** `POST /v1/queryContext` [context 7]. */
export function queryContext(environment: Ngsi1Services): Operation {
  return {
    use: 'read',
    wrapStatus,
    prepare: reading(environment, function* (asked) {
      const payload = yield* parseTraced(
        environment.log,
        asked.body,
        parseQuery(asked.body, environment.options.strictNgsiv1Ids),
      )
      if (!payload.ok) return err(payloadAnswer(payloadErrors, payload.error))
      const what = payload.value
      return ok(() => forTenant(environment, asked, (tenant) => query(environment, asked, tenant, what)))
    }),
  }
}

/**
 * Answers what queryContext and the lists of entities answer. `notFound` is the status without results [context 7.5].
 */
export async function query(
  environment: Ngsi1Services,
  request: ApiRequest,
  tenant: Tenant,
  what: QueryPayload,
  notFound: StatusText = statusOf(404),
): Promise<ApiResponse> {
  const { paths, parameters } = request
  const order = requestedOrder(parameters)
  const asked: Query = { tenant, paths: pathsOfRead(paths), ...what, order, ...requestedPage(parameters) }
  const page = await environment.broker.query(asked, request.client)
  if (!page.ok) return unavailableAnswer(page.error)
  const found = await withProviders(environment, request, asked, page.value)
  if (!found.ok) return unavailableAnswer(found.error)
  const { entities, details } = found.value
  if (entities.length === 0) {
    const status = details === undefined ? nothingOn(page.value, asked, notFound) : statusOf(404, details)
    return statusAnswer('errorCode', status)
  }
  const format = { asObject: asksObject(parameters) }
  const texts = new LongText()
  const slices = new Slices()
  for (const entity of entities) {
    texts.push(renderResult(entity, what.attributes, format))
    if (slices.isOver) await slices.next()
  }
  return { status: 200, body: () => renderPage(texts.joined, page.value.count) }
}

/** A page without results says whether there are results before it, if that was asked for [context 7.6]. */
function nothingOn({ count = 0 }: Page, { counted, offset }: Query, notFound: StatusText): StatusText {
  if (!counted || count === 0) return notFound
  return statusOf(404, `Number of matching entities: ${count}. Offset is ${offset}`)
}

function renderPage(results: string, count: number | undefined): string {
  const counted = count === undefined ? '' : `,"errorCode":${renderStatus(statusOf(200, `Count: ${count}`))}`
  return `{"contextResponses":[${results}]${counted}}`
}
