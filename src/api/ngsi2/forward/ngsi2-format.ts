import type {
  ForwardPage,
  ParsedQueryResponse,
  ParsedUpdateResponse,
  ProviderFormat,
} from '../../../broker/providers/provider-format.js'
import type { ProviderFailure, ProviderResponse } from '../../../broker/providers/provider-request.js'
import type { QueryForward, ShownAttribute, ShownEntity } from '../../../broker/providers/query-plan.js'
import type { Share, UpdateForward } from '../../../broker/providers/update-plan.js'
import { type PartRoom, ValueRoom } from '../../../broker/providers/value-room.js'
import type { EntityId, EntityType, Metadata, Value } from '../../../model/context/entity.js'
import type { GivenAttribute } from '../../../model/context/update.js'
import { isDateType, isObject, quote, renderValue, shownType } from '../../../model/context/value.js'
import { err, ok, type Result } from '../../../result.js'
import { noSteps, type Steps } from '../../../slices.js'
import { readValue } from '../parse/attributes.js'
import { isTreeArray, isTreeObject, readPayload, type Tree, type TreeObject } from '../parse/tree.js'
import { metadataText } from '../render/entity-text.js'

/** Requests to providers in the form of NGSIv2 [NGSIv2 subscriptions 11.2, 11.3]. */
export const ngsi2Format: ProviderFormat = {
  query: (forward, page) => ({ path: 'op/query', parameters: pageText(page), body: queryForProvider(forward) }),
  readQuery: readQueryResponse,
  update: (forward) => ({ path: 'op/update', parameters: '', body: updateForProvider(forward) }),
  readUpdate: readUpdateResponse,
  correlator: (correlator, nth) => `${correlator}; cbfwd=${nth}`,
}

function pageText({ limit, offset }: ForwardPage): string {
  return `limit=${limit}&offset=${offset}&options=count`
}

/** `attrs` is empty for the whole entity; the type is absent where neither client nor registration names one. */
function queryForProvider({ entity: { id, type, everyId }, attributes }: QueryForward): string {
  const which = everyId ? '"idPattern":".*"' : `"id":${quote(id)}`
  const typed = type === '' ? '' : `,"type":${quote(type)}`
  return `{"entities":[{${which}${typed}}],"attrs":${JSON.stringify(attributes)}}`
}

/** A forwarded update always has the action `update`. */
function updateForProvider({ shares }: UpdateForward): string {
  return `{"actionType":"update","entities":[${shares.flatMap(entityTexts).join(',')}]}`
}

/** An entity has one attribute of a name, so several instances become as many entities. */
function entityTexts({ id, type, attributes }: Share): readonly string[] {
  const head = type === '' ? `"id":${quote(id)}` : `"id":${quote(id)},"type":${quote(type)}`
  const texts: string[] = []
  const instances = new Map<string, number>()
  for (const attribute of attributes) {
    const at = instances.get(attribute.name) ?? 0
    instances.set(attribute.name, at + 1)
    texts[at] = `${texts[at] ?? head},${quote(attribute.name)}:${attributeText(attribute)}`
  }
  return texts.map((text) => `{${text}}`)
}

/** An attribute that NGSIv1 gives without a value keeps its value at the provider; null would replace it. */
function attributeText({ type: given, value, instance, location, metadata }: GivenAttribute): string {
  const type = shownType({ type: given, value: value ?? null })
  const valued = value === undefined ? '' : `,"value":${valueText(value, type)}`
  const own = [
    ...(instance === '' ? [] : [{ name: 'ID', type: 'string', value: instance }]),
    ...(location === undefined ? [] : [{ name: 'location', type: 'string', value: location }]),
    ...metadata,
  ]
  return `{"type":${quote(type)}${valued},"metadata":${metadataText(own)}}`
}

/** Dates become texts again, also those in operators [NGSIv2 context 3.2]. */
function valueText(value: Value, type: string): string {
  if (!isDateType(type) || !isObject(value)) return renderValue(value, type)
  const members = Object.entries(value).map(([operator, date]) => `${quote(operator)}:${renderValue(date, type)}`)
  return `{${members.join(',')}}`
}

/** The status covers the whole request: all was done, or some of it was not found. */
function readUpdateResponse({ status }: ProviderResponse): Steps<Result<ParsedUpdateResponse, ProviderFailure>> {
  if (status >= 200 && status < 300) return noSteps(ok({ elements: [], status: done }))
  if (status === 404 || status === 422) return noSteps(ok({ elements: [], status: undefined }))
  return noSteps(err({ kind: 'responseRefusing', status }))
}

const done = { code: '200', reasonPhrase: 'OK' }

const notFound: ParsedQueryResponse = { elements: [], details: undefined, count: 0 }

/**
 * Parses the response of a provider to a query: normalized entities, with values, types and metadata as given [NGSIv2
 * subscriptions 11.2]. Providers are not trusted: malformed entities and attributes are left out.
 */
function* readQueryResponse({
  status,
  totalCount,
  body,
}: ProviderResponse): Steps<Result<ParsedQueryResponse, ProviderFailure>> {
  if (status === 404) return ok(notFound)
  if (status < 200 || status > 299) return err({ kind: 'responseRefusing', status })
  if (body.trim() === '') return err({ kind: 'responseEmpty' })
  const elements = yield* readEntities(body)
  if (elements === undefined) return err({ kind: 'responseUnreadable' })
  return ok({ elements, details: undefined, count: countIn(totalCount) })
}

/** A count that a number cannot hold counts as absent. */
function countIn(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}

function* readEntities(body: string): Steps<readonly ShownEntity[] | undefined> {
  const tree = yield* readPayload(body)
  if (!tree.ok || !isTreeArray(tree.value)) return undefined
  const entities: ShownEntity[] = []
  for (const item of tree.value) {
    const entity = isTreeObject(item) ? yield* readEntity(item) : undefined
    if (entity !== undefined) entities.push(entity)
    yield
  }
  return entities
}

/** Reads an entity; of repeated members the last one counts. */
function* readEntity({ members }: TreeObject): Steps<ShownEntity | undefined> {
  let [id, type] = ['', '']
  const attributes = new Map<string, ShownAttribute>()
  const room = new ValueRoom()
  for (const [name, member] of members) {
    if (name === 'id') id = textOf(member)
    else if (name === 'type') type = textOf(member)
    else if (name !== '' && isTreeObject(member)) {
      const attribute = yield* readAttributeOf(name, member, room)
      if (attribute !== undefined) attributes.set(name, attribute)
    }
    yield
  }
  if (id === '') return undefined
  const read = [...attributes.values()]
  return { id: id as EntityId, type: type as EntityType, attributes: read, hasTooManyValues: room.isExceeded }
}

function* readAttributeOf(name: string, tree: TreeObject, room: ValueRoom): Steps<ShownAttribute | undefined> {
  const read = yield* readTyped(tree, room.inValues)
  if (read === undefined) return undefined
  const given = tree.members.findLast(([key]) => key === 'metadata')?.[1]
  const metadata: Metadata[] = []
  for (const [element, body] of isTreeObject(given) ? given.members : []) {
    const typed = isTreeObject(body) ? yield* readTyped(body, room.inMetadata) : undefined
    if (typed !== undefined) metadata.push({ name: element, ...typed })
    yield
  }
  return { name, instance: '', ...read, metadata, isLocation: false }
}

interface Typed {
  readonly type: string
  readonly value: Value
}

/** A type and a value, both of which may be missing; undefined when the value is nested too deep, or there is no room for it. */
function* readTyped({ members }: TreeObject, room: PartRoom): Steps<Typed | undefined> {
  const last = (name: string): Tree | undefined => members.findLast(([key]) => key === name)?.[1]
  const given = last('value') ?? null
  if (!(yield* room.takes(given))) return undefined
  const read = yield* readValue(given)
  if (!read.ok) return undefined
  const { value } = read.value
  return { value, type: shownType({ type: textOf(last('type')), value }) }
}

function textOf(tree: Tree | undefined): string {
  return typeof tree === 'string' ? tree : ''
}
