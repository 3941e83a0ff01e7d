import {
  type ApiRequest,
  type ApiResponse,
  type Prepared,
  type Resource,
  segment,
} from '../../broker/operations/api.js'
import { json, shortForm } from '../../broker/operations/response.js'
import type { Attribute, Entity, EntityId, EntityType, Tenant } from '../../model/context/entity.js'
import { inRange, type PathRange } from '../../model/context/query.js'
import { type RegisteredSource, sourcesOf } from '../../model/registration/sources.js'
import { urlWithoutSecrets } from '../../observe/log/secrets.js'
import { inSlices, type Steps } from '../../slices.js'
import type { BrowsedEntity, BrowseQuery, Cursor } from '../../storage/store/views/browse.js'
import type { Census, CensusRow } from '../../storage/store/views/census.js'
import { walkedIndexes } from '../../storage/store/views/walk.js'
import { dateText, now } from '../../time.js'
import { jsonIn } from '../../unchecked-json.js'
import { unavailable } from '../ngsi2/errors.js'
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
import { type ConsoleParts, GivenParameters, type Slice, view } from './views.js'

const which = ['service', 'type', 'path', 'area', 'limit']
const mostPoints = 10_000

/** Entities of one tenant: pages of a list, one id, points of a map [console: data]. */
export function entityViews(parts: ConsoleParts): readonly Resource[] {
  return [
    view('/admin/entities', (request) => listing(parts, request)),
    view('/admin/entities/points', (request) => pointing(parts, request)),
    view('/admin/entities/{id}', (request) => showing(parts, request)),
  ]
}

/** Tenants and types, from counts that each update maintains [console: data]. */
export function censusViews(parts: Pick<ConsoleParts, 'broker'>): readonly Resource[] {
  return [
    view('/admin/tenants', (request) => tenants(parts, request)),
    view('/admin/types', (request) => types(parts, request)),
  ]
}

const noTenant = '' as Tenant
const world = { south: -90, north: 90, west: -180, east: 180 }

function listing({ broker }: ConsoleParts, request: ApiRequest): Prepared {
  const given = new GivenParameters(request, [...which, 'prefix', 'pattern', 'attribute', 'total', 'after'])
  const query: BrowseQuery = {
    tenant: given.tenant() ?? noTenant,
    type: given.text('type') as EntityType | undefined,
    prefix: given.text('prefix'),
    pattern: given.pattern('pattern'),
    path: given.path(),
    attribute: given.text('attribute'),
    area: given.area(),
    limit: given.limit(50),
    counted: given.oneOf('total', ['on', 'off']) !== 'off',
    after: undefined,
  }
  const text = given.text('after')
  const after = text === undefined ? undefined : readCursor(text)
  if (text !== undefined && after === undefined)
    given.refuse('the URI parameter after is none that a page gave as next')
  return given.prepared(async () => {
    const page = await broker.view('entities', { ...query, after }, request.client)
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
  const query = {
    tenant: given.tenant() ?? noTenant,
    type: given.text('type') as EntityType | undefined,
    path: given.path(),
    area: given.area() ?? world,
    limit: given.whole('limit', mostPoints, 1, mostPoints),
  }
  return given.prepared(async () => {
    const found = await broker.view('points', query, request.client)
    if (!found.ok) return unavailable(found.error)
    const list: PointList = found.value
    return json(list)
  })
}

/** At most this many entities of one id are shown whole. */
const mostWhole = 20

function showing(parts: ConsoleParts, request: ApiRequest): Prepared {
  const given = new GivenParameters(request, ['service', 'type', 'path'])
  const tenant = given.tenant() ?? noTenant
  const path = given.path()
  // An empty type selects entities without type.
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

/** At most this many subscriptions and registrations are named for an entity. */
const mostNamed = 100

async function wholeEntity(
  { broker }: ConsoleParts,
  tenant: Tenant,
  path: PathRange,
  entity: Entity,
): Promise<WholeEntity> {
  const about = await broker.subscriptions.search({ tenant, about: entity, offset: 0, limit: mostNamed })
  const lookup = { tenant, paths: [path], now: now(), use: 'query', api: 'ngsi2' } as const
  const sources = await inSlices(firstNamed(sourcesOf(broker.registry.index, lookup, entity)))
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

function* firstNamed(sources: Iterable<RegisteredSource | undefined>): Steps<readonly RegisteredSource[]> {
  const first: RegisteredSource[] = []
  for (const source of sources) {
    if (source !== undefined) first.push(source)
    if (first.length === mostNamed) break
    yield
  }
  return first
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

function tenants({ broker }: Pick<ConsoleParts, 'broker'>, request: ApiRequest): Prepared {
  const given = new GivenParameters(request, ['limit', 'offset'])
  const slice = given.slice()
  return given.prepared(async () => {
    const census = await broker.view('census', { tenant: undefined }, request.client)
    return census.ok ? json(tenantsOf(census.value, slice)) : unavailable(census.error)
  })
}

function types({ broker }: Pick<ConsoleParts, 'broker'>, request: ApiRequest): Prepared {
  const given = new GivenParameters(request, ['service', 'path', 'text', 'limit', 'offset'])
  const tenant = given.tenant()
  const path = given.path()
  const text = given.folded('text')
  const slice = given.slice()
  return given.prepared(async () => {
    const census = await broker.view('census', { tenant }, request.client)
    return census.ok ? json(typesOf(census.value, path, text, slice)) : unavailable(census.error)
  })
}

function tenantsOf({ rows }: Census, { offset, limit }: Slice): TenantList {
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

function typesOf({ rows }: Census, path: PathRange, text: string | undefined, { offset, limit }: Slice): TypeList {
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

/** The types of the parts of a position, by index. */
const positionParts = {
  sequence: ['number'],
  id: ['string', 'string', 'string'],
  cell: ['number', 'number', 'number'],
} as const

/** The text of a cursor that a client sends back for the next page. */
function cursorText({ index, position }: Cursor): string {
  return Buffer.from(JSON.stringify([index, ...position])).toString('base64url')
}

/** Parses a cursor of a client; undefined when it is malformed. */
function readCursor(text: string): Cursor | undefined {
  const read = jsonIn(Buffer.from(text, 'base64url').toString())
  if (!Array.isArray(read)) return undefined
  const [name, ...rest] = read.map((part: unknown) => part)
  const index = walkedIndexes.find((each) => each === name)
  if (index === undefined || rest.length !== positionParts[index].length) return undefined
  const position = rest.filter((part, at) => typeof part === positionParts[index][at] && isKeyPart(part))
  return position.length === rest.length ? { index, position: position.filter(isKeyPart) } : undefined
}

function isKeyPart(part: unknown): part is string | number {
  return typeof part === 'string' ? part.length <= longest_characters : Number.isSafeInteger(part)
}

/** Limit of ids and types, and of what a key of LMDB holds. */
const longest_characters = 256
