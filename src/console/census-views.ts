import type { ApiRequest, ApiResponse, Resource } from '../api/api.js'
import { json } from '../api/response.js'
import { inRange, type PathRange } from '../context/query.js'
import type { Census, CensusRow } from '../lmdb/views/census.js'
import { unavailable } from '../ngsi2/errors.js'
import type { Result } from '../result.js'
import type { ConsoleParts } from './console-parts.js'
import { GivenParameters } from './given-parameters.js'
import type { ShownType, TenantList, TypeList } from './shapes.js'

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
