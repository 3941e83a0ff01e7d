import { type ApiRequest, type ApiResponse, type Prepared, type Resource, segment } from '../api/api.js'
import { json, shortForm } from '../api/response.js'
import type { Attribute, Entity, EntityId, EntityType, Tenant } from '../context/entity.js'
import { inRange, type PathRange } from '../context/query.js'
import type { BrowsedEntity, BrowseQuery, Cursor } from '../lmdb/views/browse.js'
import type { Census, CensusRow } from '../lmdb/views/census.js'
import { walkedIndexes } from '../lmdb/views/walk.js'
import { urlWithoutSecrets } from '../log/secrets.js'
import { unavailable } from '../ngsi2/errors.js'
import { sourcesOf } from '../registration/sources.js'
import type { Result } from '../result.js'
import { dateText, now } from '../time.js'
import type {
  EntityList,
  PointList,
  ShownEntityRow,
  ShownType,
  TenantList,
  TypeList,
  WholeAttribute,
  WholeEntities,
  WholeEntity,
} from './shapes.js'
import type { ConsoleParts } from './views.js'
import { GivenParameters } from './views.js'

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

/** How many parts the position in each index has, and of which kind. */
const parts = {
  sequence: ['number'],
  id: ['string', 'string', 'string'],
  cell: ['number', 'number', 'number'],
} as const

/** A cursor as it goes to a client and comes back. */
function cursorText({ index, position }: Cursor): string {
  return Buffer.from(JSON.stringify([index, ...position])).toString('base64url')
}

/** The cursor that a client has sent; nothing when it is none. */
function readCursor(text: string): Cursor | undefined {
  const read = parsed(Buffer.from(text, 'base64url').toString())
  if (!Array.isArray(read)) return undefined
  const [name, ...rest] = read.map((part: unknown) => part)
  const index = walkedIndexes.find((each) => each === name)
  if (index === undefined || rest.length !== parts[index].length) return undefined
  const position = rest.filter((part, at) => typeof part === parts[index][at] && isKeyPart(part))
  return position.length === rest.length ? { index, position: position.filter(isKeyPart) } : undefined
}

function isKeyPart(part: unknown): part is string | number {
  return typeof part === 'string' ? part.length <= longest_characters : Number.isSafeInteger(part)
}

/** No longer id or type is stored; longer keys LMDB does not take. */
const longest_characters = 256

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Tenants and types, from the counts that are kept with each update [console: data]. */
export function censusViews(parts: Pick<ConsoleParts, 'broker'>): readonly Resource[] {
  const polled = { anyCase: false, polled: true } as const
  return [
    {
      ...polled,
      pattern: '/admin/tenants',
      operations: {
        GET: {
          use: 'read',
          prepare: (request) => {
            const given = new GivenParameters(request, ['limit', 'offset'])
            const offset = given.whole('offset', 0, 0, 10_000_000)
            const limit = given.whole('limit', 100, 1, mostRows)
            return given.prepared(async () => {
              const census = await parts.broker.view('census', { tenant: undefined }, request.client)
              return census.ok ? json(tenantsOf(census.value, offset, limit)) : unavailable(census.error)
            })
          },
        },
      },
    },
    {
      ...polled,
      pattern: '/admin/types',
      operations: { GET: { use: 'read', prepare: (request) => types(parts, request) } },
    },
  ]
}

const mostRows = 1000

function types(
  { broker }: Pick<ConsoleParts, 'broker'>,
  request: ApiRequest,
): Result<() => Promise<ApiResponse>, ApiResponse> {
  const given = new GivenParameters(request, ['service', 'path', 'text', 'limit', 'offset'])
  const tenant = given.tenant()
  const path = given.path()
  const text = given.folded('text')
  const offset = given.whole('offset', 0, 0, 10_000_000)
  const limit = given.whole('limit', 100, 1, mostRows)
  return given.prepared(async () => {
    const census = await broker.view('census', { tenant }, request.client)
    return census.ok ? json(typesOf(census.value, path, text, offset, limit)) : unavailable(census.error)
  })
}

function tenantsOf({ rows }: Census, offset: number, limit: number): TenantList {
  const byTenant = new Map<string, { entities: number; readonly types: Set<string>; readonly paths: Set<string> }>()
  for (const { tenant, path, type, entities } of rows) {
    const of = byTenant.get(tenant) ?? { entities: 0, types: new Set(), paths: new Set() }
    byTenant.set(tenant, of)
    of.entities += entities
    of.types.add(type)
    of.paths.add(path)
  }
  const all = [...byTenant].map(([service, { entities, types: ofTenant, paths }]) => ({
    ...{ service, entities, types: ofTenant.size, servicePaths: paths.size },
  }))
  all.sort((a, b) => b.entities - a.entities)
  return { count: all.length, tenants: all.slice(offset, offset + limit) }
}

function typesOf({ rows }: Census, path: PathRange, text: string | undefined, offset: number, limit: number): TypeList {
  const fitting = rows.filter(
    (row) => inRange(row.path, path) && (text === undefined || row.type.toLowerCase().includes(text)),
  )
  fitting.sort((a, b) => b.entities - a.entities)
  const entities = fitting.reduce((sum, row) => sum + row.entities, 0)
  return { count: fitting.length, entities, types: fitting.slice(offset, offset + limit).map(typeShown) }
}

function typeShown({ tenant, path, type, entities, attributes, names }: CensusRow): ShownType {
  const byName = Object.fromEntries(attributes)
  return { service: tenant, servicePath: path, type, entities, attributes: byName, attributeNames: names }
}
