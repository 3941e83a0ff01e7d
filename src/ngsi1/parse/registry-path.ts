import type { ApiRequest, StatusText } from '../../api.js'
import type { EntityId, EntityType } from '../../context/entity.js'
import { ok, type Result } from '../../result.js'
import { typesMeant } from '../convenience.js'

/** What the path of a convenience operation of the registry names [subscriptions 7.6]. */
export interface NamedByPath {
  readonly id: EntityId | undefined
  readonly type: EntityType | undefined
  readonly attribute: string | undefined
}

/** Reads the path; where it names type and id, URI parameters may not contradict the type [subscriptions 7.6]. */
export function namedByPath(asked: ApiRequest): Result<NamedByPath, StatusText> {
  const { id, type, name: attribute } = asked.segments
  if (id !== undefined && type !== undefined) {
    const types = typesMeant(asked)
    if (!types.ok) return types
  }
  return ok({ id: id as EntityId | undefined, type: type as EntityType | undefined, attribute })
}
