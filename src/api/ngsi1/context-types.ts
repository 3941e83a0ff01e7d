import type { TypeSummary } from '../../broker/front-end/broker.js'
import { type ApiRequest, type ApiResponse, segment } from '../../broker/operations/api.js'
import type { Unbound } from '../../broker/operations/operation.js'
import { pathsOfRead } from '../../model/context/scope-headers.js'
import { quote } from '../../model/context/value.js'
import { inSlices, LongText, listText, type Steps } from '../../slices.js'
import { type Ngsi1Services, pathOperation } from './operation.js'
import { requestedPage, requestsCollapsed } from './parse/parameters.js'
import { renderStatus } from './render/elements.js'
import { bodyResponse, foundStatus, statusOf, statusResponse, unavailableResponse } from './render/status.js'

/** `GET /v1/contextTypes`: the types of the entities in the paths of the request [context 9]. */
export const listTypes = typesOperation(async (types, request) => {
  const { offset, limit, counted } = requestedPage(request.parameters)
  const shown = types.slice(offset, offset + limit)
  if (shown.length === 0) return statusResponse('statusCode', nothing('types', types.length, offset, counted))
  const collapsed = requestsCollapsed(request.parameters)
  const list = await inSlices(renderTypes(shown, collapsed))
  return { status: 200, body: `{"types":${list},"statusCode":${renderStatus(foundStatus(types.length, counted))}}` }
})

/** `GET /v1/contextTypes/{type}`: the attributes of the entities of a type [context 9]. */
export const showType = typesOperation((types, request) => {
  const name = segment(request, 'type')
  const { offset, limit, counted } = requestedPage(request.parameters)
  const attributes = types.find(({ type }) => type === name)?.attributes ?? []
  const shown = attributes.slice(offset, offset + limit)
  if (shown.length === 0) {
    const statusCode = nothing('attributes', attributes.length, offset, counted)
    return bodyResponse({ name, statusCode }, statusCode)
  }
  const statusCode = foundStatus(attributes.length, counted)
  return { status: 200, body: () => JSON.stringify({ name, attributes: shown, statusCode }) }
})

function typesOperation(
  respond: (types: readonly TypeSummary[], request: ApiRequest) => ApiResponse | Promise<ApiResponse>,
): Unbound<Ngsi1Services> {
  return pathOperation('read', async ({ services, request, tenant }) => {
    const types = await services.broker.types(tenant, pathsOfRead(request.paths), request.client)
    return types.ok ? respond(types.value, request) : unavailableResponse(types.error)
  })
}

function nothing(what: 'types' | 'attributes', count: number, offset: number, counted: boolean) {
  if (!counted || count === 0) return statusOf(404)
  return statusOf(404, `Number of ${what}: ${count}. Offset is ${offset}`)
}

/** In steps: a type may have any number of attributes. */
function* renderTypes(types: readonly TypeSummary[], collapsed: boolean): Steps<string> {
  const texts = new LongText()
  for (const { type, attributes } of types) {
    const list = collapsed || attributes.length === 0 ? '' : `,"attributes":${yield* listText(attributes, quote)}`
    texts.push(`{"name":${quote(type)}${list}}`)
    yield
  }
  return `[${texts.joined}]`
}
