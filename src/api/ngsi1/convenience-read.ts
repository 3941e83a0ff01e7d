import type { Unavailable } from '../../broker/front-end/broker.js'
import { type ApiRequest, type ApiResponse, type StatusText, segment } from '../../broker/operations/api.js'
import type { Unbound } from '../../broker/operations/operation.js'
import { defaultLimit } from '../../broker/operations/parameters.js'
import type { ShownAttribute, ShownEntity } from '../../broker/providers/query-plan.js'
import type { Entity, EntityId } from '../../model/context/entity.js'
import { compileQuery } from '../../model/context/match.js'
import { compareEntities } from '../../model/context/order.js'
import type { Page, Query } from '../../model/context/query.js'
import { pathsOfRead } from '../../model/context/scope-headers.js'
import type { Result } from '../../result.js'
import { query } from './context-operations.js'
import { type FoundEntities, withProviders } from './forward/query-forwarding.js'
import { type Ngsi1Call, type Ngsi1Services, pathOperation, type TypesMeant, typesMeant } from './operation.js'
import { requestedOrder, requestedPage, requestsObject } from './parse/parameters.js'
import {
  type AttributeFormat,
  renderElement,
  renderEntity,
  renderItem,
  renderStatus,
  renderStored,
} from './render/elements.js'
import {
  errorsOf,
  foundStatus,
  okStatus,
  reporting,
  statusOf,
  statusResponse,
  unavailableResponse,
} from './render/status.js'

/** A convenience operation that reads [context 8.3 to 8.6]. */
interface ReadRow {
  readonly read: (call: Ngsi1Call, types: TypesMeant) => Promise<ApiResponse>
  /** The text of an earlier equal response; undefined without one, or when the response has to be made anew. */
  readonly cached?: (call: Ngsi1Call) => string | undefined
  /** The response to a type that contradicts the path [context 8.1]. */
  readonly contradicted: (request: ApiRequest, status: StatusText) => ApiResponse
}

function readOperation({ read, cached, contradicted }: ReadRow): Unbound<Ngsi1Services> {
  return pathOperation('read', (call) => {
    const body = cached?.(call)
    if (body !== undefined) return { status: 200, body }
    const types = typesMeant(call.request)
    return types.ok ? read(call, types.value) : contradicted(call.request, types.error)
  })
}

/** GET of every entity [context 8.3]. */
export const allEntities = listRead(() => statusOf(404), false)

/** GET of the entities of a type [context 8.6]. */
export const entitiesOfType = listRead(
  (request) => statusOf(404, `entityId::type /${segment(request, 'type')}/ non-existent`),
  false,
)

/** GET of one attribute of the entities of a type [context 8.6]. */
export const attributeOfType = listRead(() => statusOf(404, 'entityId::type/attribute::name pair not found'), true)

/** GET of the entities of an id, of any type or of the one asked for [context 8.3]. */
export const entitiesOfId = readOperation({
  read: (call, types) =>
    ofId(call, types, async (held) => {
      const { request } = call
      const { counted, offset, limit } = requestedPage(request.parameters)
      const found = await held.page([], offset, limit)
      if (!found.ok) return unavailableResponse(found.error)
      const { entities, details } = found.value
      const none = entities.length === 0
      if (none)
        return noEntity(request, types.type ?? '', ',"contextElements":[]', nothingOf(request, held.count, details))
      const format = requestedFormat(request)
      return { status: 200, body: () => renderEntities([...entities], foundStatus(held.count, counted), format) }
    }),
  cached: cachedOfId,
  // Without a type in the path, a parameter cannot contradict it.
  contradicted: (_, status) => statusResponse('statusCode', status),
})

/** GET of the entity of a type and id [context 8.3]. */
export const entityOfTypeAndId = readOperation({
  read: (call, types) =>
    ofId(call, types, async (held) => {
      const { request } = call
      const { counted, offset } = requestedPage(request.parameters)
      const found = await held.page([], offset, 1)
      if (!found.ok) return unavailableResponse(found.error)
      const [entity] = found.value.entities
      if (entity === undefined) {
        return noEntity(request, segment(request, 'type'), '', nothingOf(request, held.count, found.value.details))
      }
      const format = requestedFormat(request)
      return { status: 200, body: () => renderOneEntity(entity, foundStatus(held.count, counted), format) }
    }),
  contradicted: (request, status) => noEntity(request, segment(request, 'type'), '', status),
})

/** GET of an attribute by the id of its entity [context 8.4]. */
export const attributeOfId = attributeRead(entityUnknown)

/** GET of an attribute by type and id of its entity [context 8.4]. */
export const attributeOfTypeAndId = attributeRead((request) =>
  statusOf(404, `Entity-Attribute pair: /${segment(request, 'id')}-${segment(request, 'name')}/`),
)

/** GET of an instance of an attribute by type and id of its entity [context 8.5]. */
export const instanceOfTypeAndId = attributeRead((request) => {
  const triplet = `${segment(request, 'id')}-${segment(request, 'name')}-${segment(request, 'metaID')}`
  return statusOf(404, `Entity-Attribute-MetaID triplet: /${triplet}/`)
})

/** Responses to GET of the entities of an id, by the arrays of entities that they were rendered from. */
const renderedResponses = new WeakMap<readonly Entity[], string>()

/**
 * The cached response to GET of the entities of an id without parameters. Most are read again and again, and the response stays
 * the same as long as the entities do. Not for entities that providers may hold: providers have to be asked each time.
 */
function cachedOfId({ services: { broker, forwarding }, request, tenant }: Ngsi1Call): string | undefined {
  const isHeldHere = forwarding === undefined || broker.registry.index.isEmpty(tenant)
  if (request.parameters.size > 0 || !isHeldHere) return undefined
  const entities = broker.recentEntities(tenant, pathsOfRead(request.paths), segment(request, 'id') as EntityId)
  if (entities === undefined || entities.length === 0) return undefined
  if (entities.length > defaultLimit) return undefined
  const rendered = renderedResponses.get(entities)
  if (rendered !== undefined) return rendered
  const body = renderEntities(entities, okStatus, { asObject: false })
  renderedResponses.set(entities, body)
  return body
}

/** A list of entities is a query for every id. */
function listRead(notFound: (request: ApiRequest) => StatusText, named: boolean): Unbound<Ngsi1Services> {
  return readOperation({
    read: (call, { type, scopes }) => {
      const { request } = call
      const attributes = named ? [segment(request, 'name')] : []
      const what = { selectors: [{ id: { kind: 'any' }, type }], attributes, scopes } as const
      return query(call, what, notFound(request))
    },
    contradicted: (_, status) => statusResponse('errorCode', status),
  })
}

/**
 * All instances of an attribute, or the one that the path names, in the first entity that has it. `offset` and `details` count
 * the entities that have it [context 1.6].
 */
function attributeRead(notFound: (request: ApiRequest) => StatusText): Unbound<Ngsi1Services> {
  return readOperation({
    read: (call, types) =>
      ofId(call, types, async (held) => {
        const { request } = call
        const name = segment(request, 'name')
        const { metaID } = request.segments
        const { counted, offset } = requestedPage(request.parameters)
        const here = instancesIn(held.entities, name, metaID)
        const found = offset < here.length ? undefined : await held.page([name], 0, Number.POSITIVE_INFINITY)
        if (found?.ok === false) return unavailableResponse(found.error)
        const all = found === undefined ? here : instancesIn([...found.value.entities], name, metaID)
        const attributes = all[offset]
        if (attributes === undefined) {
          const status = nothingOf(request, all.length, found?.value.details, notFound(request))
          return statusResponse('statusCode', status)
        }
        const format = requestedFormat(request)
        return {
          status: 200,
          body: () => renderItem(renderStored(attributes, format), foundStatus(all.length, counted)),
        }
      }),
    contradicted: (_, status) => statusResponse('statusCode', status),
  })
}

/** The entities of the id in the path that are held here, in the order asked for. */
interface HeldOfId {
  readonly entities: readonly Entity[]
  readonly count: number
  /** A page of them, completed by providers [subscriptions 8.2]. */
  readonly page: (
    attributes: readonly string[],
    offset: number,
    limit: number,
  ) => Promise<Result<FoundEntities, Unavailable>>
}

async function ofId(
  call: Ngsi1Call,
  { type, scopes }: TypesMeant,
  respond: (held: HeldOfId) => Promise<ApiResponse>,
): Promise<ApiResponse> {
  const { services, request, tenant } = call
  const [id, paths] = [segment(request, 'id') as EntityId, pathsOfRead(request.paths)]
  const held = await services.broker.entities(tenant, paths, id, type, request.client)
  if (!held.ok) return unavailableResponse(held.error)
  const meant = held.value.filter((entity) => scopes.every(({ kind }) => (kind === 'typed') === (entity.type !== '')))
  const order = requestedOrder(request.parameters)
  const entities = order.length === 0 ? meant : meant.toSorted(compareEntities(order))
  return respond({
    entities,
    count: entities.length,
    page: (attributes, offset, limit) => {
      const selectors = [{ id: { kind: 'exact', id }, type }] as const
      const query = { tenant, paths, selectors, attributes, scopes, order, offset, limit, counted: true }
      return withProviders(call, query, pageOf(entities, query))
    },
  })
}

/** A page leaves out entities that have none of the named attributes. */
function pageOf(entities: readonly Entity[], query: Query): Page {
  const results = query.attributes.length === 0 ? entities : entities.filter(compileQuery(query))
  return { entities: results.slice(query.offset, query.offset + query.limit), count: results.length }
}

/** The instances of an attribute that are meant, by entity; without those that have none. */
function instancesIn(
  entities: readonly ShownEntity[],
  name: string,
  instance: string | undefined,
): readonly (readonly ShownAttribute[])[] {
  const isMeant = (attribute: ShownAttribute) =>
    attribute.name === name && (instance === undefined || attribute.instance === instance)
  return entities.map(({ attributes }) => attributes.filter(isMeant)).filter(({ length }) => length > 0)
}

function requestedFormat({ parameters }: ApiRequest): AttributeFormat {
  return { asObject: requestsObject(parameters) }
}

/** The status of a page without entities; `notFound` is the one where no provider has failed and nothing is to be counted. */
function nothingOf(
  request: ApiRequest,
  count: number,
  details: string | undefined,
  notFound = entityUnknown(request),
): StatusText {
  if (details !== undefined) return statusOf(404, details)
  const { counted, offset } = requestedPage(request.parameters)
  if (!counted || count === 0) return notFound
  return statusOf(404, `Number of matching entities: ${count}. Offset is ${offset}`)
}

function entityUnknown(request: ApiRequest): StatusText {
  return statusOf(404, `Entity id: /${segment(request, 'id')}/`)
}

function noEntity(request: ApiRequest, type: string, elements: string, status: StatusText): ApiResponse {
  const element = renderElement({ type, isPattern: false, id: segment(request, 'id') }, '')
  const body = `{"contextElement":${element}${elements},"statusCode":${renderStatus(status)}}`
  return reporting({ status: 200, body }, errorsOf([{ status }]))
}

/** The response repeats the first entity outside the list: clients of Orion look there [context 8.3]. */
function renderEntities(entities: readonly ShownEntity[], status: StatusText, format: AttributeFormat): string {
  const [first = '', ...others] = entities.map((entity) => renderEntity(entity, [], format))
  const all = [first, ...others].join(',')
  return `{"contextElement":${first},"contextElements":[${all}],"statusCode":${renderStatus(status)}}`
}

function renderOneEntity(entity: ShownEntity, status: StatusText, format: AttributeFormat): string {
  return `{"contextElement":${renderEntity(entity, [], format)},"statusCode":${renderStatus(status)}}`
}
