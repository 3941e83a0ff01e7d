import { type ApiRequest, type ApiResponse, type Operation, segment } from '../api/api.js'
import type { TypeSummary } from '../broker/broker.js'
import type { Tenant } from '../context/entity.js'
import type { Query } from '../context/query.js'
import { pathsOfRead } from '../context/scope-headers.js'
import { quote } from '../context/value.js'
import { err, ok } from '../result.js'
import { inSlices, LongText, listText, Slices, type Steps } from '../slices.js'
import { type EntityQuery, orderOf, queryOf } from './entity-query.js'
import { badInput, refused, unavailable } from './errors.js'
import { foundEverywhere } from './forward/remote-entities.js'
import { type Ngsi2Services, pathRead, withTenant } from './operation.js'
import { listed, optionsOf, pageOf, representationOf } from './parameters.js'
import { parseQueryPayload } from './parse/query-body.js'
import { entityText, type Representation } from './render/entity-text.js'

/** `GET /v2/entities` [NGSIv2 context 8.1]. */
export function listEntities(services: Ngsi2Services): Operation {
  return pathRead(services, (request, tenant) => {
    const what = queryOf(request.parameters)
    if (!what.ok) return badInput(what.error)
    return respondWithList(services, request, tenant, what.value, representationOf(request.parameters))
  })
}

/** `POST /v2/op/query` [NGSIv2 context 11.2]. */
export function queryEntities(services: Ngsi2Services): Operation {
  return {
    use: 'read',
    prepare: (request) => {
      const payload = parseQueryPayload(request.body)
      if (!payload.ok) return err(payload.error)
      const { query, shown, metadata } = payload.value
      return ok(() =>
        withTenant(services, request, (_, tenant) => {
          const representation = { ...representationOf(request.parameters, shown), metadata }
          return respondWithList(services, request, tenant, query, representation)
        }),
      )
    },
  }
}

async function respondWithList(
  services: Ngsi2Services,
  request: ApiRequest,
  tenant: Tenant,
  what: EntityQuery,
  representation: Representation,
): Promise<ApiResponse> {
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
  const everywhere = await foundEverywhere(services, request, query, found.value, shown)
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
export function listEntityTypes(services: Ngsi2Services): Operation {
  return typesRead(services, async (types, { parameters }) => {
    const { offset, limit, counted } = pageOf(parameters)
    const shown = untypedFirst(types).slice(offset, offset + limit)
    const namesOnly = optionsOf(parameters).has('values')
    const body = await inSlices(namesOnly ? listText(shown, ({ type }) => quote(type)) : typesText(shown))
    return listed(body, counted ? types.length : undefined)
  })
}

/** `GET /v2/types/{type}` [NGSIv2 context 13]. */
export function showEntityType(services: Ngsi2Services): Operation {
  return typesRead(services, async (types, request) => {
    const name = segment(request, 'type')
    const summary = types.find(({ type }) => type === name)
    return summary === undefined ? typeUnknown : { status: 200, body: `{${await inSlices(membersOf(summary))}}` }
  })
}

const typeUnknown = refused('NotFound', 'Entity type not found')

function typesRead(
  services: Ngsi2Services,
  respond: (types: readonly TypeSummary[], request: ApiRequest) => Promise<ApiResponse>,
): Operation {
  return pathRead(services, async (request, tenant) => {
    const { paths, parameters, client } = request
    const options = optionsOf(parameters)
    const isDetailed = !options.has('noAttrDetail') && !options.has('values')
    const types = await services.broker.types(tenant, pathsOfRead(paths), client, isDetailed)
    return types.ok ? respond(types.value, request) : unavailable(types.error)
  })
}

/** The broker lists entities without a type last; responses show them first. */
function untypedFirst(types: readonly TypeSummary[]): readonly TypeSummary[] {
  const last = types.at(-1)
  return last?.type === '' ? [last, ...types.slice(0, -1)] : types
}

/** A list of types, in steps. */
export function* typesText(types: readonly TypeSummary[]): Steps<string> {
  const texts = new LongText()
  for (const summary of types) {
    texts.push(`{"type":${quote(summary.type)},${yield* membersOf(summary)}}`)
    yield
  }
  return `[${texts.joined}]`
}

/** The expiration of an entity is no attribute of its type. In steps: a type may have any number of attributes. */
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
