import type { ApiRequest, ApiResponse, Operation } from '../api.js'
import type { Tenant } from '../context/entity.js'
import type { Query } from '../context/query.js'
import { pathsOfRead } from '../context/service-path.js'
import { err, ok } from '../result.js'
import { LongText, Slices } from '../slices.js'
import { parseQueryPayload } from './batch-query-payload.js'
import { pathRead, withTenant } from './checked-operation.js'
import { type EntityQuery, orderOf, queryOf } from './entity-query.js'
import { foundEverywhere } from './forward/remote-entities.js'
import { badInput, unavailable } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { entityText, type Representation } from './render/entity-text.js'
import { pageOf, representationOf } from './uri-parameters.js'

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
  // What nobody sees needs no order.
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
  const headers = count === undefined ? undefined : { 'Fiware-Total-Count': String(count) }
  return { status: 200, body: `[${texts.joined}]`, ...(headers && { headers }) }
}
