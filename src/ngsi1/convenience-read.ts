import type { Attribute, Entity, EntityId, Tenant } from '../context/entity.js'
import { compareEntities } from '../context/order.js'
import type { Unavailable } from '../coordinator/broker.js'
import type { Answer, Asked, Operation, StatusText } from '../exchange.js'
import { granted, type Outcome, refused } from '../outcome.js'
import { statusAnswer, unavailableAnswer } from './answers.js'
import { query } from './context.js'
import { checkSegments, segment, type TypesMeant, typesMeant } from './convenience.js'
import { type Environment, forTenant } from './environment.js'
import { asksObject, orderAsked, pageAsked } from './parameters.js'
import { type Format, renderElement, renderEntity, renderItem, renderStatus, renderStored } from './render.js'
import { okStatus, statusOf } from './status.js'
import { pathsOfRead } from './tenant.js'

/** A convenience operation that reads: one row of a table [context 8.3 to 8.6]. */
export interface ReadRow {
  readonly read: (environment: Environment, asked: Asked, tenant: Tenant, types: TypesMeant) => Promise<Answer>
  /** The answer to a type that contradicts the path [context 8.1]. */
  readonly contradicted: (asked: Asked, status: StatusText) => Answer
}

/** The operation of a row. */
export function readOperation(environment: Environment, { read, contradicted }: ReadRow): Operation {
  return {
    use: 'read',
    prepare: (asked) => {
      const wrong = checkSegments(asked, environment.options.strictNgsiv1Ids)
      if (wrong) return refused(wrong)
      return granted(() =>
        forTenant(environment, asked, (tenant) => {
          const types = typesMeant(asked)
          return types.ok ? read(environment, asked, tenant, types.value) : contradicted(asked, types.refusal)
        }),
      )
    },
  }
}

/** GET of every entity [context 8.3]. */
export const allEntities = listRow(() => statusOf(404), false)

/** GET of the entities of a type [context 8.6]. */
export const entitiesOfType = listRow(
  (asked) => statusOf(404, `entityId::type /${segment(asked, 'type')}/ non-existent`),
  false,
)

/** GET of one attribute of the entities of a type [context 8.6]. */
export const attributeOfType = listRow(() => statusOf(404, 'entityId::type/attribute::name pair not found'), true)

/** GET of the entities of an id, of any type or of the one asked for [context 8.3]. */
export const entitiesOfId: ReadRow = {
  read: (environment, asked, tenant, types) =>
    ofId(environment, asked, tenant, types, (entities) => {
      const { counted, ...page } = pageAsked(asked.parameters)
      const shown = entities.slice(page.offset, page.offset + page.limit)
      if (shown.length === 0) {
        const status = counted && entities.length > 0 ? pastEnd(entities, page.offset) : entityUnknown(asked)
        return noEntity(asked, types.type ?? '', ',"contextElements":[]', status)
      }
      const format = formatAsked(asked)
      return { status: 200, body: () => renderEntities(shown, foundStatus(entities, counted), format) }
    }),
  // There is no type in the path that could be contradicted.
  contradicted: (_, status) => statusAnswer('statusCode', status),
}

/** GET of the entity of a type and id [context 8.3]. */
export const entityOfTypeAndId: ReadRow = {
  read: (environment, asked, tenant, types) =>
    ofId(environment, asked, tenant, types, (entities) => {
      const { counted, offset } = pageAsked(asked.parameters)
      const entity = entities[offset]
      if (entity === undefined) {
        const status = counted && entities.length > 0 ? pastEnd(entities, offset) : entityUnknown(asked)
        return noEntity(asked, segment(asked, 'type'), '', status)
      }
      const format = formatAsked(asked)
      return { status: 200, body: () => renderOneEntity(entity, foundStatus(entities, counted), format) }
    }),
  contradicted: (asked, status) => noEntity(asked, segment(asked, 'type'), '', status),
}

/** GET of an attribute by the id of its entity [context 8.4]. */
export const attributeOfId = attributeRow(entityUnknown)

/** GET of an attribute by type and id of its entity [context 8.4]. */
export const attributeOfTypeAndId = attributeRow((asked) =>
  statusOf(404, `Entity-Attribute pair: /${segment(asked, 'id')}-${segment(asked, 'name')}/`),
)

/** GET of an instance of an attribute by type and id of its entity [context 8.5]. */
export const instanceOfTypeAndId = attributeRow((asked) => {
  const triplet = `${segment(asked, 'id')}-${segment(asked, 'name')}-${segment(asked, 'metaID')}`
  return statusOf(404, `Entity-Attribute-MetaID triplet: /${triplet}/`)
})

/** A list of entities is a query for every id. */
function listRow(notFound: (asked: Asked) => StatusText, named: boolean): ReadRow {
  return {
    read: (environment, asked, tenant, { type, scopes }) => {
      const attributes = named ? [segment(asked, 'name')] : []
      const what = { selectors: [{ id: { kind: 'any' }, type }], attributes, scopes } as const
      return query(environment, asked, tenant, what, notFound(asked))
    },
    contradicted: (_, status) => statusAnswer('errorCode', status),
  }
}

/** All instances of an attribute, or the one that the path names, in the first entity that has it. */
function attributeRow(notFound: (asked: Asked) => StatusText): ReadRow {
  return {
    read: (environment, asked, tenant, types) =>
      ofId(environment, asked, tenant, types, (entities) => {
        const attributes = firstWith(entities, segment(asked, 'name'), asked.segments['metaID'])
        if (attributes.length === 0) return statusAnswer('statusCode', notFound(asked))
        const format = formatAsked(asked)
        return { status: 200, body: () => renderItem(renderStored(attributes, format), okStatus) }
      }),
    contradicted: (_, status) => statusAnswer('statusCode', status),
  }
}

async function ofId(
  environment: Environment,
  asked: Asked,
  tenant: Tenant,
  types: TypesMeant,
  answer: (entities: readonly Entity[]) => Answer,
): Promise<Answer> {
  const found = await meantEntities(environment, asked, tenant, types)
  return found.ok ? answer(found.value) : unavailableAnswer(found.refusal)
}

/** The entities of the id in the path, in the order asked for. */
async function meantEntities(
  { broker }: Environment,
  asked: Asked,
  tenant: Tenant,
  { type, scopes }: TypesMeant,
): Promise<Outcome<readonly Entity[], Unavailable>> {
  const id = segment(asked, 'id') as EntityId
  const found = await broker.entities(tenant, pathsOfRead(asked.paths), id, type)
  if (!found.ok) return found
  const meant = found.value.filter((entity) => scopes.every(({ kind }) => (kind === 'typed') === (entity.type !== '')))
  const order = orderAsked(asked.parameters)
  return granted(order.length === 0 ? meant : meant.toSorted(compareEntities(order)))
}

function firstWith(entities: readonly Entity[], name: string, instance: string | undefined): readonly Attribute[] {
  const isMeant = (attribute: Attribute) =>
    attribute.name === name && (instance === undefined || attribute.instance === instance)
  return entities.find(({ attributes }) => attributes.some(isMeant))?.attributes.filter(isMeant) ?? []
}

function formatAsked({ parameters }: Asked): Format {
  return { asObject: asksObject(parameters) }
}

function foundStatus({ length }: readonly Entity[], counted: boolean): StatusText {
  return counted ? statusOf(200, `Count: ${length}`) : okStatus
}

function pastEnd({ length }: readonly Entity[], offset: number): StatusText {
  return statusOf(404, `Number of matching entities: ${length}. Offset is ${offset}`)
}

function entityUnknown(asked: Asked): StatusText {
  return statusOf(404, `Entity id: /${segment(asked, 'id')}/`)
}

function noEntity(asked: Asked, type: string, elements: string, status: StatusText): Answer {
  const element = renderElement({ type, isPattern: false, id: segment(asked, 'id') }, '')
  return { status: 200, body: `{"contextElement":${element}${elements},"statusCode":${renderStatus(status)}}` }
}

/** The first entity stands alone, too: that is where clients of Orion look [context 8.3]. */
function renderEntities(entities: readonly Entity[], status: StatusText, format: Format): string {
  const [first = '', ...others] = entities.map((entity) => renderEntity(entity, [], format))
  const all = [first, ...others].join(',')
  return `{"contextElement":${first},"contextElements":[${all}],"statusCode":${renderStatus(status)}}`
}

function renderOneEntity(entity: Entity, status: StatusText, format: Format): string {
  return `{"contextElement":${renderEntity(entity, [], format)},"statusCode":${renderStatus(status)}}`
}
