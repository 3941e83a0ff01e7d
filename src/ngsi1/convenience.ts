import type { ApiRequest, ApiResponse, StatusText } from '../api.js'
import type { EntityType } from '../context/entity.js'
import type { Scope } from '../context/query.js'
import { err, ok, type Result } from '../result.js'
import { asksUntyped, requestedExistence, requestedType } from './parse/parameters.js'
import { hasForbiddenInId } from './parse/text-rules.js'
import { badRequest } from './render/responses.js'
import { statusOf } from './render/status.js'

/** Which types a convenience operation means [context 8.1]. */
export interface TypesMeant {
  /** Nothing for any. */
  readonly type: EntityType | undefined
  /** What is asked of the type of the entities besides. */
  readonly scopes: readonly Scope[]
}

/** Reads the type from path and parameters, which may not contradict each other [context 8.1]. */
export function typesMeant({ segments, parameters }: ApiRequest): Result<TypesMeant, StatusText> {
  const inPath = segments['type'] as EntityType | undefined
  const asked = requestedType(parameters)
  if (inPath === undefined) return ok({ type: asked, scopes: requestedExistence(parameters) })
  if (asked !== undefined && asked !== inPath) return err(statusOf(400, 'non-matching entity::types in URL'))
  if (asksUntyped(parameters)) return err(statusOf(400, 'entity::type cannot be empty for this request'))
  return ok({ type: inPath, scopes: [] })
}

/** The text that stands for a placeholder of the resource's pattern; asking for one that it lacks is a fault. */
export function segment({ segments }: ApiRequest, name: string): string {
  const text = segments[name]
  if (text === undefined) throw new Error(`the path has no segment ${name}`)
  return text
}

/** The answer to ids, names and types in the path that `-strictNgsiv1Ids` forbids [context 4.1]. */
export function checkSegments({ segments }: ApiRequest, strictIds: boolean): ApiResponse | undefined {
  if (!strictIds) return undefined
  const isForbidden = (name: string) => name !== 'metaID' && hasForbiddenInId(segments[name] ?? '')
  return Object.keys(segments).some(isForbidden) ? badRequest('invalid character in URI') : undefined
}
