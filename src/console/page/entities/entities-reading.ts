import {
  Misread,
  type Reader,
  readFlag,
  readList,
  readMap,
  readMembers,
  readNumber,
  readOptional,
  readText,
} from '../raw.js'
import type { Known } from '../resource.js'

const anything: Reader<unknown> = (raw) => raw

const readPair: Reader<readonly [number, number]> = (raw) => {
  const [first, second, ...more] = readList(readNumber)(raw)
  if (first === undefined || second === undefined || more.length > 0) throw new Misread('no pair of numbers')
  return [first, second]
}

const readRow = readMembers({
  id: readText,
  type: readText,
  servicePath: readText,
  created: readText,
  modified: readText,
  attributes: readNumber,
  names: readList(readText),
  location: readOptional(readPair),
})
export type EntityInList = ReturnType<typeof readRow>

/** A page of `GET /admin/entities`. */
export const readEntityPage = readMembers({
  entities: readList(readRow),
  next: readOptional(readText),
})

/** `GET /admin/types`. */
export const readTypes = readMembers({
  count: readNumber,
  entities: readNumber,
  types: readList(
    readMembers({
      servicePath: readText,
      type: readText,
      entities: readNumber,
      attributes: readMap(readNumber),
      attributeNames: readNumber,
    }),
  ),
})
export type ListedTypes = ReturnType<typeof readTypes>
export type TypeInList = ListedTypes['types'][number]

/** What is asked for the types; the tenant is always named: without it all of them would be meant. */
export function typesPath(service: string, path: string | undefined): string {
  const query = new URLSearchParams({ service, limit: '1000', ...(path !== undefined && { path }) })
  return `/admin/types?${query}`
}

/** How many entities are of a type, or have an attribute, by the counts of all types; nothing if these do not tell it. */
export function countedEntities(
  { count, types }: ListedTypes,
  type: string | undefined,
  attribute: string | undefined,
): number | undefined {
  if (count > types.length) return undefined
  const ofType = types.filter((each) => type === undefined || each.type === type)
  if (attribute === undefined) return ofType.reduce((sum, { entities }) => sum + entities, 0)
  const isWhole = ofType.every(({ attributes, attributeNames }) => attributes.size === attributeNames)
  return isWhole ? ofType.reduce((sum, { attributes }) => sum + (attributes.get(attribute) ?? 0), 0) : undefined
}

/** `GET /admin/tenants`. */
export const readTenants = readMembers({
  count: readNumber,
  tenants: readList(readMembers({ service: readText, entities: readNumber })),
})

/** `GET /admin/entities/points`. */
export const readPoints = readMembers({ points: readList(readNumber), beyond: readNumber })

/** What the map shows. */
export interface PlacesShown {
  readonly known: Known<ReturnType<typeof readPoints>>
}

const readAttribute = readMembers({
  name: readText,
  instance: readText,
  type: readText,
  value: anything,
  isLocation: readFlag,
  metadata: readList(readMembers({ name: readText, type: readText, value: anything })),
  created: readText,
  modified: readText,
})
export type AttributeInFull = ReturnType<typeof readAttribute>

const readWhole = readMembers({
  id: readText,
  type: readText,
  service: readText,
  servicePath: readText,
  created: readText,
  modified: readText,
  attributes: readList(readAttribute),
  subscriptions: readMembers({ count: readNumber, ids: readList(readText) }),
  registrations: readList(readMembers({ id: readText, provider: readText })),
})
export type EntityInFull = ReturnType<typeof readWhole>

/** `GET /admin/entities/{id}`. */
export const readWholeEntities = readMembers({ entities: readList(readWhole), more: readNumber })
