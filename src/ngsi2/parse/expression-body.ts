import { PatternsTogether } from '../../context/patterns-together.js'
import type { Scope } from '../../context/query.js'
import type { Result } from '../../result.js'
import type { ExpressionTexts, FiringCondition } from '../../subscription/terms.js'
import { filterScope } from '../entity-query.js'
import { placeScope } from '../place-scope.js'
import { type Given, type GivenObject, isGivenObject, member, refuse } from './checked.js'

/** Reads the expression of a condition [NGSIv2 subscriptions 2.2]; its patterns are checked with the others of the request. */
export function readExpression(
  given: Given,
  patterns = new PatternsTogether(),
): Pick<FiringCondition, 'expression' | 'scopes'> {
  if (given === undefined) return { expression: {}, scopes: [] }
  if (!isGivenObject(given)) refuse('expression is not an object')
  if (Object.keys(given).length === 0) refuse('expression is empty')
  const [q, mq] = [readText(given, 'q'), readText(given, 'mq')]
  const scopes: Scope[] = []
  if (q !== undefined) scopes.push(accepted(filterScope(q, 'attributes', patterns)))
  if (mq !== undefined) scopes.push(accepted(filterScope(mq, 'metadata', patterns)))
  const place = readPlace(given)
  if (place !== undefined) {
    const scope = placeScope(place)
    scopes.push(scope.ok ? scope.value : refuse(`error parsing geo-query fields: ${scope.error}`))
  }
  const expression = { ...(q !== undefined && { q }), ...(mq !== undefined && { mq }), ...place }
  return { expression, scopes }
}

function accepted(scope: Result<Scope, string>): Scope {
  return scope.ok ? scope.value : refuse(scope.error)
}

/** All three parts of it, or none. */
function readPlace(given: GivenObject): Required<Pick<ExpressionTexts, 'georel' | 'geometry' | 'coords'>> | undefined {
  const geometry = readText(given, 'geometry')
  const coords = readText(given, 'coords')
  const georel = readText(given, 'georel')
  if (geometry === undefined && coords === undefined && georel === undefined) return undefined
  if (geometry === undefined || coords === undefined || georel === undefined) {
    refuse('partial geo expression: geometry, georel and coords have to be provided together')
  }
  return { georel, geometry, coords }
}

function readText(given: GivenObject, name: string): string | undefined {
  const text = member(given, name)
  if (text === undefined) return undefined
  if (typeof text !== 'string') refuse(`${name} is not a string`)
  if (text === '') refuse(`${name} is empty`)
  return text
}
