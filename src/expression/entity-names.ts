import type { Value } from '../context/entity.js'
import type { ExpressionScope } from './expression-scope.js'

/** An entity as an expression sees it: values as clients do, dates as texts. */
export interface EntityInScope {
  readonly id: string
  readonly type: string
  /** The tenant, the path and the token of the request: the empty text without them. */
  readonly service: string
  readonly servicePath: string
  readonly authToken: string
  /** Each name once. */
  readonly attributes: readonly NamedAttribute[]
}

interface NamedAttribute {
  readonly name: string
  readonly value: Value
  /** Also what is built in: `previousValue`, `actionType`, `dateCreated`, `dateModified`. */
  readonly metadata: readonly { readonly name: string; readonly value: Value }[]
}

/** The name of the metadata of all attributes, an object of objects, which no attribute hides. */
export const metadataName = 'metadata'

/**
 * Looks up the names that expressions can use on an entity. An attribute hides `service`, `servicePath` and `authToken`,
 * but neither `id`, `type` nor `metadata` [NGSIv2 subscriptions 6.3].
 */
export function namesOf(entity: EntityInScope): ExpressionScope['lookUp'] {
  const { id, type, service, servicePath, authToken, attributes } = entity
  const names = new Map<string, Value>(Object.entries({ service, servicePath, authToken }))
  for (const { name, value } of attributes) names.set(name, value)
  names.set('id', id).set('type', type)
  let metadata: Value | undefined
  return (name) => {
    if (name !== metadataName) return names.get(name)
    metadata ??= metadataOf(attributes)
    return metadata
  }
}

function metadataOf(attributes: readonly NamedAttribute[]): Value {
  return Object.fromEntries(
    attributes.map(({ name, metadata }) => [
      name,
      Object.fromEntries(metadata.map((element) => [element.name, element.value])),
    ]),
  )
}
