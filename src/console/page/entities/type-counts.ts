import type { TypeList } from '../../shapes.js'

/** What is asked for the types; the tenant is always named: without it all of them would be meant. */
export function typesPath(service: string, path: string | undefined): string {
  const query = new URLSearchParams({ service, limit: '1000', ...(path !== undefined && { path }) })
  return `/admin/types?${query}`
}

/** How many entities are of a type, or have an attribute, by the counts of all types; nothing if these do not tell it. */
export function countedEntities(
  { count, types }: TypeList,
  type: string | undefined,
  attribute: string | undefined,
): number | undefined {
  if (count > types.length) return undefined
  const ofType = types.filter((each) => type === undefined || each.type === type)
  if (attribute === undefined) return ofType.reduce((sum, { entities }) => sum + entities, 0)
  const isWhole = ofType.every(({ attributes, attributeNames }) => Object.keys(attributes).length === attributeNames)
  return isWhole ? ofType.reduce((sum, { attributes }) => sum + (attributes[attribute] ?? 0), 0) : undefined
}
