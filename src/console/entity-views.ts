import { type ApiRequest, type ApiResponse, type Prepared, type Resource, segment } from '../api/api.js'
import { json, shortForm } from '../api/response.js'
import type { Attribute, Entity, EntityId, EntityType, Tenant } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import type { BrowsedEntity, BrowseQuery } from '../lmdb/views/browse.js'
import { urlWithoutSecrets } from '../log/secrets.js'
import { unavailable } from '../ngsi2/errors.js'
import { sourcesOf } from '../registration/sources.js'
import { dateText, now } from '../time.js'
import type { ConsoleParts } from './console-parts.js'
import { cursorText, readCursor } from './entity-cursor.js'
import { GivenParameters } from './given-parameters.js'
import type { EntityList, PointList, ShownEntityRow, WholeAttribute, WholeEntities, WholeEntity } from './shapes.js'

const which = ['service', 'type', 'path', 'area', 'limit']
const mostShown = 1000
const mostPoints = 10_000

/** Entities of one tenant, page by page, one by one, and as points of a map [console: data]. */
export function entityViews(parts: ConsoleParts): readonly Resource[] {
  const polled = { anyCase: false, polled: true } as const
  return [
    {
      ...polled,
      pattern: '/admin/entities',
      operations: { GET: { use: 'read', prepare: (request) => listing(parts, request) } },
    },
    {
      ...polled,
      pattern: '/admin/entities/points',
      operations: { GET: { use: 'read', prepare: (request) => pointing(parts, request) } },
    },
    {
      ...polled,
      pattern: '/admin/entities/{id}',
      operations: { GET: { use: 'read', prepare: (request) => showing(parts, request) } },
    },
  ]
}

const noTenant = '' as Tenant
const world = { south: -90, north: 90, west: -180, east: 180 }

function listing({ broker }: ConsoleParts, request: ApiRequest): Prepared {
  const given = new GivenParameters(request, [...which, 'prefix', 'pattern', 'attribute', 'total', 'after'])
  const asked: BrowseQuery = {
    tenant: given.tenant() ?? noTenant,
    type: given.text('type') as EntityType | undefined,
    prefix: given.text('prefix'),
    pattern: given.pattern('pattern'),
    path: given.path(),
    attribute: given.text('attribute'),
    area: given.area(),
    limit: given.whole('limit', 50, 1, mostShown),
    counted: given.oneOf('total', ['on', 'off']) !== 'off',
    after: undefined,
  }
  const text = given.text('after')
  const after = text === undefined ? undefined : readCursor(text)
  if (text !== undefined && after === undefined)
    given.refuse('the URI parameter after is none that a page gave as next')
  return given.prepared(async () => {
    const page = await broker.view('entities', { ...asked, after }, request.client)
    if (!page.ok) return unavailable(page.error)
    const { entities, next, total } = page.value
    const list: EntityList = { entities: entities.map(rowShown), next: next && cursorText(next), total }
    return json(list)
  })
}

function rowShown({ path, created, modified, ...entity }: BrowsedEntity): ShownEntityRow {
  return { ...entity, servicePath: path, created: dateText(created), modified: dateText(modified) }
}

function pointing({ broker }: ConsoleParts, request: ApiRequest): Prepared {
  const given = new GivenParameters(request, which)
  const asked = {
    tenant: given.tenant() ?? noTenant,
    type: given.text('type') as EntityType | undefined,
    path: given.path(),
    area: given.area() ?? world,
    limit: given.whole('limit', mostPoints, 1, mostPoints),
  }
  return given.prepared(async () => {
    const found = await broker.view('points', asked, request.client)
    if (!found.ok) return unavailable(found.error)
    const list: PointList = found.value
    return json(list)
  })
}

/** Entities of one id that are shown whole. */
const mostWhole = 20

function showing(parts: ConsoleParts, request: ApiRequest): Prepared {
  const given = new GivenParameters(request, ['service', 'type', 'path'])
  const tenant = given.tenant() ?? noTenant
  const path = given.path()
  // An entity without type is asked for by an empty one.
  const type = request.parameters.get('type') === '' ? '' : given.text('type')
  const id = segment(request, 'id') as EntityId
  return given.prepared(async () => {
    const found = await parts.broker.entities(tenant, [path], id, type as EntityType | undefined, request.client)
    if (!found.ok) return unavailable(found.error)
    if (found.value.length === 0) return unknown
    const some = found.value.slice(0, mostWhole)
    const entities = await Promise.all(some.map((entity) => wholeEntity(parts, tenant, path, entity)))
    const whole: WholeEntities = { entities, more: found.value.length - some.length }
    return json(whole)
  })
}

const unknown: ApiResponse = shortForm(404, 'The requested entity has not been found. Check id, type, service and path')

/** Subscriptions and registrations that are named of an entity. */
const mostNamed = 100

async function wholeEntity(
  { broker }: ConsoleParts,
  tenant: Tenant,
  path: PathRange,
  entity: Entity,
): Promise<WholeEntity> {
  const about = await broker.subscriptions.search({ tenant, about: entity, offset: 0, limit: mostNamed })
  const lookup = { tenant, paths: [path], now: now(), use: 'query', api: 'ngsi2' } as const
  const sources = sourcesOf(broker.registry.index, lookup, entity).slice(0, mostNamed)
  const { id, type, path: servicePath, created, modified, attributes } = entity
  return {
    ...{ id, type, service: tenant, servicePath, created: dateText(created), modified: dateText(modified) },
    attributes: attributes.map(attributeShown),
    subscriptions: { count: about.count, ids: about.subscriptions.map(({ subscription }) => subscription.id) },
    registrations: sources.map(({ registration, context }) => ({
      ...{ id: registration.id, provider: urlWithoutSecrets(context.provider) },
    })),
  }
}

function attributeShown({
  name,
  instance,
  type,
  value,
  isLocation,
  metadata,
  created,
  modified,
}: Attribute): WholeAttribute {
  const dates = { created: dateText(created), modified: dateText(modified) }
  return { name, instance, type, value, isLocation, metadata, ...dates }
}
