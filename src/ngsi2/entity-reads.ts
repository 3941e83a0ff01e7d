import { type ApiRequest, type ApiResponse, type Operation, segment } from '../api.js'
import type { Entity, EntityId, EntityType, Tenant } from '../context/entity.js'
import type { Query } from '../context/query.js'
import { pathsOfRead } from '../context/service-path.js'
import type { ShownEntity } from '../providers/merge-responses.js'
import { err, ok, type Result } from '../result.js'
import { pathRead } from './checked-operation.js'
import { foundEverywhere, isAllHeldHere } from './forward/remote-entities.js'
import { entityAmbiguous, entityUnknown, unavailable } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { attributesText, entityText, type Representation } from './render/entity-text.js'
import type { NamesShown } from './render/shown.js'
import { representationOf } from './uri-parameters.js'

/** `GET /v2/entities/{id}` [NGSIv2 context 8.3]. */
export function showEntity(services: Ngsi2Services): Operation {
  return entityRead(services, entityText)
}

/** `GET /v2/entities/{id}/attrs` [NGSIv2 context 8.3]. */
export function showAttributes(services: Ngsi2Services): Operation {
  return entityRead(services, attributesText)
}

function entityRead(
  services: Ngsi2Services,
  render: (entity: ShownEntity, representation: Representation) => string,
): Operation {
  /** Responses to reads without parameters, by the arrays of entities that they were rendered from. */
  const rendered = new WeakMap<readonly Entity[], string>()
  const atHand = (request: ApiRequest, tenant: Tenant): string | undefined => {
    if (request.parameters.size > 0 || !isAllHeldHere(services, tenant)) return undefined
    const entities = recentOf(services, request, tenant)
    const [entity, ...others] = entities ?? []
    if (entities === undefined || entity === undefined || others.length > 0) return undefined
    const text = rendered.get(entities) ?? render(entity, representationOf(request.parameters))
    rendered.set(entities, text)
    return text
  }
  return pathRead(services, (request, tenant) => {
    const text = atHand(request, tenant)
    if (text !== undefined) return { status: 200, body: text }
    const representation = representationOf(request.parameters)
    return respondWithEntity(services, request, tenant, representation.attributes, (entity) => ({
      status: 200,
      body: () => render(entity, representation),
    }))
  })
}

/**
 * Finds the one entity that the path means, of which these attributes are shown, and responds with it, or with why there is
 * none [NGSIv2 context 2.1, 8.3].
 */
export async function respondWithEntity(
  services: Ngsi2Services,
  request: ApiRequest,
  tenant: Tenant,
  shown: NamesShown,
  respond: (entity: ShownEntity) => ApiResponse,
): Promise<ApiResponse> {
  const entity = await entityOf(services, request, tenant, shown)
  return entity.ok ? respond(entity.value) : entity.error
}

async function entityOf(
  services: Ngsi2Services,
  request: ApiRequest,
  tenant: Tenant,
  shown: NamesShown,
): Promise<Result<ShownEntity, ApiResponse>> {
  const { broker } = services
  const id = segment(request, 'id') as EntityId
  const type = request.parameters.get('type') as EntityType | undefined
  const paths = pathsOfRead(request.paths)
  const held = await broker.entities(tenant, paths, id, type, request.client)
  if (!held.ok) return err(unavailable(held.error))
  if (isAllHeldHere(services, tenant)) return onlyOne(held.value)
  const query: Query = {
    ...{ tenant, paths, selectors: [{ id: { kind: 'exact', id }, type }], attributes: [], scopes: [], order: [] },
    ...{ offset: 0, limit: entitiesOfId, counted: true },
  }
  const page = { entities: held.value, count: held.value.length }
  const found = await foundEverywhere(services, request, query, page, shown)
  return found.ok ? onlyOne([...found.value.entities]) : err(unavailable(found.error))
}

/** Of how many entities of the id providers are asked, of which there may be only one [NGSIv2 subscriptions 11.2]. */
const entitiesOfId = 20

function onlyOne([entity, ...others]: readonly ShownEntity[]): Result<ShownEntity, ApiResponse> {
  if (entity === undefined) return err(entityUnknown)
  return others.length === 0 ? ok(entity) : err(entityAmbiguous)
}

function recentOf({ broker }: Ngsi2Services, request: ApiRequest, tenant: Tenant): readonly Entity[] | undefined {
  return broker.recentEntities(tenant, pathsOfRead(request.paths), segment(request, 'id') as EntityId)
}
