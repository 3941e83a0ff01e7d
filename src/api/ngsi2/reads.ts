import { type ApiResponse, segment } from '../../broker/operations/api.js'
import type { Unbound } from '../../broker/operations/operation.js'
import type { ShownAttribute, ShownEntity } from '../../broker/providers/query-plan.js'
import type { Entity, EntityId, EntityType, Value } from '../../model/context/entity.js'
import { renderHeld } from '../../model/context/large/large-attribute.js'
import { LargeValue } from '../../model/context/large/large-value.js'
import type { Query } from '../../model/context/query.js'
import { pathsOfRead } from '../../model/context/scope-headers.js'
import { plainDate } from '../../model/context/value.js'
import { err, ok, type Result } from '../../result.js'
import { attributeUnknown, entityAmbiguous, entityUnknown, errorOf, unavailable } from './errors.js'
import { foundEverywhere, isAllHeldHere } from './forward/remote-entities.js'
import { type Ngsi2Call, type Ngsi2Services, pathOperation } from './operation.js'
import { representationOf } from './parameters.js'
import {
  attributeNamed,
  attributesText,
  attributeText,
  entityText,
  type NamesShown,
  type Representation,
  valueShown,
} from './render/entity-text.js'

/** `GET /v2/entities/{id}` [NGSIv2 context 8.3]. */
export const showEntity = entityRead(entityText)

/** `GET /v2/entities/{id}/attrs` [NGSIv2 context 8.3]. */
export const showAttributes = entityRead(attributesText)

function entityRead(render: (entity: ShownEntity, representation: Representation) => string): Unbound<Ngsi2Services> {
  /** Responses to reads without parameters, by the arrays of entities that they were rendered from. */
  const rendered = new WeakMap<readonly Entity[], string>()
  const cached = (call: Ngsi2Call): string | undefined => {
    const { services, request, tenant } = call
    if (request.parameters.size > 0 || !isAllHeldHere(call)) return undefined
    const id = segment(request, 'id') as EntityId
    const entities = services.broker.recentEntities(tenant, pathsOfRead(request.paths), id)
    const [entity, ...others] = entities ?? []
    if (entities === undefined || entity === undefined || others.length > 0) return undefined
    const text = rendered.get(entities) ?? render(entity, representationOf(request.parameters))
    rendered.set(entities, text)
    return text
  }
  return pathOperation('read', (call) => {
    const text = cached(call)
    if (text !== undefined) return { status: 200, body: text }
    const representation = representationOf(call.request.parameters)
    return respondWithEntity(call, representation.attributes, (entity) => ({
      status: 200,
      body: () => render(entity, representation),
    }))
  })
}

/**
 * Responds with these attributes of the single entity in the path, or with the reason why there is none [NGSIv2 context 2.1,
 * 8.3].
 */
async function respondWithEntity(
  call: Ngsi2Call,
  shown: NamesShown,
  respond: (entity: ShownEntity) => ApiResponse,
): Promise<ApiResponse> {
  const entity = await entityOf(call, shown)
  return entity.ok ? respond(entity.value) : entity.error
}

async function entityOf(call: Ngsi2Call, shown: NamesShown): Promise<Result<ShownEntity, ApiResponse>> {
  const { services, request, tenant } = call
  const id = segment(request, 'id') as EntityId
  const type = request.parameters.get('type') as EntityType | undefined
  const paths = pathsOfRead(request.paths)
  const held = await services.broker.entities(tenant, paths, id, type, request.client)
  if (!held.ok) return err(unavailable(held.error))
  if (isAllHeldHere(call)) return onlyOne(held.value)
  const query: Query = {
    ...{ tenant, paths, selectors: [{ id: { kind: 'exact', id }, type }], attributes: [], scopes: [], order: [] },
    ...{ offset: 0, limit: entitiesOfId, counted: true },
  }
  const page = { entities: held.value, count: held.value.length }
  const found = await foundEverywhere(call, query, page, shown)
  return found.ok ? onlyOne([...found.value.entities]) : err(unavailable(found.error))
}

/** The most entities of the id that providers are asked for; several make the response an error [NGSIv2 subscriptions 11.2]. */
const entitiesOfId = 20

function onlyOne([entity, ...others]: readonly ShownEntity[]): Result<ShownEntity, ApiResponse> {
  if (entity === undefined) return err(entityUnknown)
  return others.length === 0 ? ok(entity) : err(entityAmbiguous)
}

/** `GET /v2/entities/{id}/attrs/{name}` [NGSIv2 context 9.1]. */
export const showAttribute = attributeRead((attribute, { request }) => {
  const { form, metadata } = representationOf(request.parameters)
  return { status: 200, body: () => attributeText(attribute, form === 'keyValues' ? form : 'normalized', metadata) }
})

/** `GET /v2/entities/{id}/attrs/{name}/value` [NGSIv2 context 9.3]. */
export const showValue = attributeRead((attribute, { request }) =>
  valueResponse(attribute, request.headers.accept ?? '*/*'),
)

function attributeRead(respond: (attribute: ShownAttribute, call: Ngsi2Call) => ApiResponse): Unbound<Ngsi2Services> {
  return pathOperation('read', (call) => {
    const name = segment(call.request, 'name')
    return respondWithEntity(call, [name], (entity) => {
      const attribute = attributeNamed(entity, name)
      return attribute === undefined ? attributeUnknown : respond(attribute, call)
    })
  })
}

/** Compound values are JSON, with the media type that the client prefers; all others are plain text [NGSIv2 context 9.3]. */
function valueResponse(attribute: ShownAttribute, accept: string): ApiResponse {
  const value = valueShown(attribute)
  if (value instanceof LargeValue || (typeof value === 'object' && value !== null)) {
    return { status: 200, contentType: nameOfJson(accept), body: () => renderHeld(value, '') }
  }
  if (!accepted(accept).some(({ range }) => takesText.has(range))) return textOnly
  return { status: 200, contentType: 'text/plain', body: scalarText(value, attribute.type) }
}

const textOnly = errorOf('NotAcceptable', 'accepted MIME types: text/plain')

/** A text is between quotation marks, without escapes. */
function scalarText(value: Value, type: string): string {
  return typeof value === 'string' ? `"${value}"` : (plainDate(value, type) ?? JSON.stringify(value))
}

const takesText: ReadonlySet<string> = new Set(['*/*', 'text/*', 'text/plain'])
const takesJson: ReadonlySet<string> = new Set(['*/*', 'application/*', 'application/json'])

function nameOfJson(accept: string): 'application/json' | 'text/plain' {
  let best: { readonly name: 'application/json' | 'text/plain'; readonly quality: number } | undefined
  for (const { range, quality } of accepted(accept)) {
    if (!takesJson.has(range) && !takesText.has(range)) continue
    const name = takesJson.has(range) ? 'application/json' : 'text/plain'
    if (best === undefined || quality > best.quality) best = { name, quality }
  }
  return best?.name ?? 'application/json'
}

interface AcceptedRange {
  readonly range: string
  readonly quality: number
}

/** The ranges of an Accept header, whose syntax has been checked, without those of quality 0. */
function accepted(accept: string): readonly AcceptedRange[] {
  return accept
    .split(',')
    .map((item) => {
      const [range = '', quality = 'q=1'] = item.split(';', 2)
      return { range: range.trim().toLowerCase(), quality: Number(quality.split('=', 2)[1]) }
    })
    .filter(({ quality }) => quality > 0)
}
