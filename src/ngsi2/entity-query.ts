import type { EntityId, EntityType } from '../context/entity.js'
import type { FilterSide } from '../context/filter.js'
import { parseFilter } from '../context/filter-parse.js'
import type { Point } from '../context/geo/point.js'
import { maxOrderKeys, type OrderKey, parseOrder, withBuiltins } from '../context/order.js'
import { PatternsTogether } from '../context/patterns-together.js'
import type { Query, Scope, Selector } from '../context/query.js'
import { err, ok, type Result } from '../result.js'
import { filterMistake, patternMistake } from './filter-errors.js'
import { placeOfParameters } from './place-query.js'
import { listOf } from './uri-parameters.js'

type Parameters = ReadonlyMap<string, string>

/** Which entities a read asks for, and in which order. */
export type EntityQuery = Pick<Query, 'selectors' | 'attributes' | 'scopes'>

/** Which entities `GET /v2/entities` means; refuses the first wrong criterion with its text [NGSIv2 context 1.4, 8.1]. */
export function queryOf(parameters: Parameters): Result<EntityQuery, string> {
  if (parameters.has('id') && parameters.has('idPattern')) return err('Incompatible parameters: id, IdPattern')
  if (parameters.has('type') && parameters.has('typePattern')) return err('Incompatible parameters: type, typePattern')
  const patterns = new PatternsTogether()
  for (const name of ['idPattern', 'typePattern'] as const) {
    const pattern = patterns.check(parameters.get(name) ?? '')
    if (!pattern.ok) return err(patternMistake(pattern.error, name))
  }
  const { selectors, types } = selectorsOf(parameters)
  const scopes: Scope[] = types === undefined ? [] : [{ kind: 'types', types }]
  const place = placeOfParameters({
    georel: parameters.get('georel'),
    geometry: parameters.get('geometry'),
    coords: parameters.get('coords'),
  })
  if (!place.ok) return place
  if (place.value !== undefined) scopes.push(place.value)
  for (const side of ['attributes', 'metadata'] as const) {
    const text = parameters.get(side === 'attributes' ? 'q' : 'mq')
    const filter = text === undefined ? undefined : filterScope(text, side, patterns)
    if (filter?.ok === false) return filter
    if (filter !== undefined) scopes.push(filter.value)
  }
  return ok({ selectors, attributes: [], scopes })
}

/** The filter of `q` or `mq`; refuses with the text of the mistake [NGSIv2 context 10.2, 10.3]. */
export function filterScope(text: string, side: FilterSide, patterns: PatternsTogether): Result<Scope, string> {
  const filter = parseFilter(text, side, 'ngsi2', patterns)
  return filter.ok ? ok({ kind: 'filter', filter: filter.value }) : err(filterMistake(filter.error, side))
}

/** The order that `orderBy` asks for, that of creation without it; refuses with the text of the mistake [NGSIv2 context 7.6]. */
export function orderOf(
  parameters: Parameters,
  { scopes }: Pick<EntityQuery, 'scopes'>,
): Result<readonly OrderKey[], string> {
  const keys = parseOrder(parameters.get('orderBy') ?? '')
  if (new Set(keys.map(({ by }) => by)).size < keys.length) return err('duplicate orderBy token detected')
  if (keys.length > maxOrderKeys) return err(`too many orderBy tokens [max: ${maxOrderKeys}]`)
  return ok(withBuiltins(keys, centreOf(scopes)))
}

/** From where distances are measured. */
function centreOf(scopes: readonly Scope[]): Point | undefined {
  for (const scope of scopes) if (scope.kind === 'place' && scope.place.relation === 'near') return scope.place.centre
  return undefined
}

/** The pattern that clients write for all ids asks for nothing, which is counted from an index. */
export function idMeant(pattern: string): Selector['id'] {
  return pattern === '.*' ? { kind: 'any' } : { kind: 'pattern', pattern }
}

/** More types are compared with what the ids find, instead of being looked up one by one. */
const lookedUpTypes = 100

/** Lists of ids and types mean each id with each type: the types are a condition of their own where ids are looked up. */
function selectorsOf(parameters: Parameters): {
  readonly selectors: readonly Selector[]
  readonly types: readonly EntityType[] | undefined
} {
  const ids = idsOf(parameters)
  const typePattern = parameters.get('typePattern')
  if (typePattern !== undefined && typePattern !== '.*') {
    return { selectors: ids.map((id) => ({ id, type: undefined, typePattern })), types: undefined }
  }
  const untyped = ids.map((id) => ({ id, type: undefined }))
  if (!parameters.has('type')) return { selectors: untyped, types: undefined }
  const types = namesIn(parameters, 'type') as readonly EntityType[]
  const [single, ...others] = types
  if (single !== undefined && others.length === 0) {
    return { selectors: ids.map((id) => ({ id, type: single })), types: undefined }
  }
  const [any] = ids
  const areLookedUp = !parameters.has('id') && any !== undefined && types.length <= lookedUpTypes
  if (!areLookedUp || types.length === 0) return { selectors: untyped, types }
  return { selectors: types.map((type) => ({ id: any, type })), types: undefined }
}

function idsOf(parameters: Parameters): readonly Selector['id'][] {
  if (parameters.has('id')) {
    return namesIn(parameters, 'id').map((id) => ({ kind: 'exact', id: id as EntityId }))
  }
  return [idMeant(parameters.get('idPattern') ?? '.*')]
}

/** The names of a list, each once; an empty one is none. */
function namesIn(parameters: Parameters, name: string): readonly string[] {
  return [...new Set(listOf(parameters, name))].filter((item) => item !== '')
}
