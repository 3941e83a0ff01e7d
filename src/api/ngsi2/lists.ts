import type { TypeSummary } from '../../broker/front-end/broker.js'
import { type ApiRequest, type ApiResponse, segment } from '../../broker/operations/api.js'
import type { Unbound } from '../../broker/operations/operation.js'
import type { OptionWord } from '../../broker/operations/parameters.js'
import type { Query } from '../../model/context/query.js'
import { pathsOfRead } from '../../model/context/scope-headers.js'
import { quote } from '../../model/context/value.js'
import { inSlices, LongText, listText, Slices, type Steps } from '../../slices.js'
import { type EntityQuery, orderOf, queryOf } from './entity-query.js'
import { badInput, errorOf, unavailable } from './errors.js'
import { foundEverywhere } from './forward/remote-entities.js'
import { type Ngsi2Call, type Ngsi2Services, operation, pathOperation } from './operation.js'
import { listed, optionsOf, pageOf, representationOf } from './parameters.js'
import { parseQueryPayload } from './parse/query-body.js'
import { entityText, type Representation } from './render/entity-text.js'

/** `GET /v2/entities` [NGSIv2 context 8.1]. */
export const listEntities = pathOperation('read', (call) => {
  const { parameters } = call.request
  const what = queryOf(parameters)
  return what.ok ? respondWithList(call, what.value, representationOf(parameters)) : badInput(what.error)
})

/** `POST /v2/op/query` [NGSIv2 context 11.2]. */
export const queryEntities = operation({
  use: 'read',
  parse: ({ body }) => parseQueryPayload(body),
  work: (call, { query, shown, metadata }) =>
    respondWithList(call, query, { ...representationOf(call.request.parameters, shown), metadata }),
})

async function respondWithList(
  call: Ngsi2Call,
  what: EntityQuery,
  representation: Representation,
): Promise<ApiResponse> {
  const { services, request, tenant } = call
  const { parameters, paths, client } = request
  const order = orderOf(parameters, what)
  if (!order.ok) return badInput(order.error)
  const page = pageOf(parameters)
  // A page without entities needs no order.
  const sorted = page.limit === 0 ? [] : order.value
  const { attributes: shown } = representation
  const query: Query = {
    ...{ tenant, paths: pathsOfRead(paths), ...what, ...page, order: sorted },
    ...(shown.length > 0 && { shown }),
  }
  if (page.limit === 0 && !page.counted) return { status: 200, body: '[]' }
  const found = await services.broker.query(query, client)
  if (!found.ok) return unavailable(found.error)
  const everywhere = await foundEverywhere(call, query, found.value, shown)
  if (!everywhere.ok) return unavailable(everywhere.error)
  const { entities, count } = everywhere.value
  const texts = new LongText()
  const slices = new Slices()
  for (const entity of entities) {
    texts.push(entityText(entity, representation))
    if (slices.isOver) await slices.next()
  }
  return listed(`[${texts.joined}]`, count)
}

/** `GET /v2/types` [NGSIv2 context 13]. */
export const listEntityTypes = typesRead(['noAttrDetail', 'values'], async (types, { parameters }) => {
  const { offset, limit, counted } = pageOf(parameters)
  const shown = untypedFirst(types).slice(offset, offset + limit)
  const namesOnly = optionsOf(parameters).has('values')
  const body = await inSlices(namesOnly ? listText(shown, ({ type }) => quote(type)) : typesText(shown))
  return listed(body, counted ? types.length : undefined)
})

/** `GET /v2/types/{type}` [NGSIv2 context 13]. */
export const showEntityType = typesRead(['noAttrDetail'], async (types, request) => {
  const name = segment(request, 'type')
  const summary = types.find(({ type }) => type === name)
  return summary === undefined ? typeUnknown : { status: 200, body: `{${await inSlices(membersOf(summary))}}` }
})

const typeUnknown = errorOf('NotFound', 'Entity type not found')

/** @param undetailed the words of `options` with which the types of attributes are not shown [NGSIv2 context 1.6] */
function typesRead(
  undetailed: readonly OptionWord[],
  respond: (types: readonly TypeSummary[], request: ApiRequest) => Promise<ApiResponse>,
): Unbound<Ngsi2Services> {
  return pathOperation('read', async ({ services, request, tenant }) => {
    const { paths, parameters, client } = request
    const options = optionsOf(parameters)
    const isDetailed = !undetailed.some((word) => options.has(word))
    const types = await services.broker.types(tenant, pathsOfRead(paths), client, isDetailed)
    return types.ok ? respond(types.value, request) : unavailable(types.error)
  })
}

/** The broker lists entities without a type last; responses show them first. */
function untypedFirst(types: readonly TypeSummary[]): readonly TypeSummary[] {
  const last = types.at(-1)
  return last?.type === '' ? [last, ...types.slice(0, -1)] : types
}

export function* typesText(types: readonly TypeSummary[]): Steps<string> {
  const texts = new LongText()
  for (const summary of types) {
    texts.push(`{"type":${quote(summary.type)},${yield* membersOf(summary)}}`)
    yield
  }
  return `[${texts.joined}]`
}

/** The expiration of an entity is not an attribute of its type. In steps: a type may have any number of attributes. */
function* membersOf({ attributes, attributeTypes, entities }: TypeSummary): Steps<string> {
  const members = new LongText()
  for (const [at, name] of attributes.entries()) {
    if (name === 'dateExpires') continue
    const types = (attributeTypes?.[at] ?? []).map(quote).join(',')
    members.push(`${quote(name)}:{"types":[${types}]}`)
    yield
  }
  return `"attrs":{${members.joined}},"count":${entities}`
}
