import {
  type EntityId,
  type EntityType,
  excessiveLength,
  hasForbiddenInIdentifier,
} from '../../../model/context/entity.js'
import { PatternsTogether } from '../../../model/context/pattern.js'
import type { Scope, Selector } from '../../../model/context/query.js'
import type { FiringCondition } from '../../../model/subscription/terms.js'
import { filterScope, patternMistake, placeOfExpression } from '../entity-query.js'
import { accepted, type Given, type GivenObject, isGivenObject, member, refuse } from './tree.js'

/** The limit of entities and of names in a query. */
const mostItems = 1000

/** A list of a subscription within the limit: each notification is compared with it, or made from it. */
export function limitedList(given: Given, name: string): Given {
  if (Array.isArray(given) && given.length > mostItems) refuse(`too many items in /${name}/ [max: ${mostItems}]`)
  return given
}

/** Reads a list of names, such as `attrs`; empty without the member [NGSIv2 subscriptions 2.4]. */
export function readNames(given: Given, name: string): readonly string[] {
  if (given === undefined) return []
  if (!Array.isArray(given)) refuse(`the field /${name}/ must be a JSON array`)
  const names = new Set<string>()
  for (const item of given) {
    if (typeof item !== 'string') refuse(`only JSON Strings allowed in string vector /${name}/`)
    if (item === '') refuse(`empty string found in string vector /${name}/`)
    if (hasForbiddenInIdentifier(item)) refuse('forbidden characters in attribute name')
    if (names.has(item)) refuse(`duplicated item /${item}/ in array`)
    names.add(item)
  }
  return [...names]
}

/**
 * Reads the entities of a subscription or a registration [NGSIv2 subscriptions 2.3]; their patterns count among those of the
 * request.
 */
export function readSelectors(given: Given, patterns = new PatternsTogether()): readonly Selector[] {
  if (!Array.isArray(given)) refuse('/entities/ is not an array')
  const seen = new Set<string>()
  const selectors: Selector[] = []
  for (const item of given) {
    if (!isGivenObject(item)) refuse('/entities/ vector item is not an object')
    const selector = readSelector(item, patterns)
    const key = JSON.stringify(selector)
    if (!seen.has(key)) selectors.push(selector)
    seen.add(key)
  }
  return selectors
}

function readSelector(given: GivenObject, patterns: PatternsTogether): Selector {
  const [id, idPattern] = [member(given, 'id'), member(given, 'idPattern')]
  const [type, typePattern] = [member(given, 'type'), member(given, 'typePattern')]
  if (id === undefined && idPattern === undefined) {
    refuse('/entities/ vector item does not have /id/ nor /idPattern/')
  }
  if (id !== undefined && idPattern !== undefined) refuse('/entities/ vector item has both /id/ and /idPattern/')
  if (type !== undefined && typePattern !== undefined) {
    refuse('/entities/ element has both /type/ and /typePattern/')
  }
  const meant: Selector['id'] =
    id !== undefined
      ? { kind: 'exact', id: readId(id) }
      : { kind: 'pattern', pattern: readPattern(idPattern, 'idPattern', patterns) }
  const ofType = type === undefined ? undefined : readType(type)
  const ofPattern = typePattern === undefined ? undefined : readPattern(typePattern, 'typePattern', patterns)
  return { id: meant, type: ofType, ...(ofPattern !== undefined && { typePattern: ofPattern }) }
}

function readId(given: Given): EntityId {
  if (typeof given !== 'string') refuse('/entities/ vector item /id/ is not a string')
  if (given === '') refuse('/entities/ element id is empty')
  if (hasForbiddenInIdentifier(given)) refuse('forbidden characters in /entities/ vector item /id/')
  if (excessiveLength(given) !== undefined) refuse('max id length exceeded in /entities/ vector item /id/')
  return given as EntityId
}

function readType(given: Given): EntityType {
  if (typeof given !== 'string') refuse('/entities/ vector item type is not a string')
  if (hasForbiddenInIdentifier(given)) refuse('forbidden characters in /entities/ vector item /type/')
  if (excessiveLength(given) !== undefined) refuse('max type length exceeded in /entities/ vector item /type/')
  if (given === '') refuse('entity type length: 0, min length supported: 1')
  return given as EntityType
}

function readPattern(given: Given, name: 'idPattern' | 'typePattern', patterns: PatternsTogether): string {
  if (typeof given !== 'string') refuse(`/entities/ vector item /${name}/ is not a string`)
  if (given === '') refuse(`/entities/ vector item /${name}/ is empty`)
  const pattern = patterns.check(given)
  if (!pattern.ok) refuse(patternMistake(pattern.error, name))
  return given
}

/** Reads the expression of a condition [NGSIv2 subscriptions 2.2]; its patterns count among those of the request. */
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
  const [geometry, coords] = [readText(given, 'geometry'), readText(given, 'coords')]
  const georel = readText(given, 'georel')
  const place = accepted(placeOfExpression({ georel, geometry, coords }))
  if (place !== undefined) scopes.push(place)
  const texts = { q, mq, georel, geometry, coords }
  const expression = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined))
  return { expression, scopes }
}

function readText(given: GivenObject, name: string): string | undefined {
  const text = member(given, name)
  if (text === undefined) return undefined
  if (typeof text !== 'string') refuse(`${name} is not a string`)
  if (text === '') refuse(`${name} is empty`)
  return text
}
