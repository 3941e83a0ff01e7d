import { filterTexts, textOf, type Wording } from '../../broker/operations/wording.js'
import type { EntityId, EntityType } from '../../model/context/entity.js'
import type { FilterSide, Ordering } from '../../model/context/filter.js'
import { type FilterMalformed, parseFilter } from '../../model/context/filter-parse.js'
import { detailsOfPlace, type PlaceWords, parsePlace } from '../../model/context/geo/place.js'
import type { Point } from '../../model/context/geo/shape.js'
import { maxOrderKeys, type OrderKey, parseOrder, withBuiltins } from '../../model/context/order.js'
import { detailsOfTooCostly, type PatternRefusal, PatternsTogether } from '../../model/context/pattern.js'
import { idMeant, type Query, type Scope, type Selector } from '../../model/context/query.js'
import { err, ok, type Result } from '../../result.js'
import { listOf } from './parameters.js'

type Parameters = ReadonlyMap<string, string>

export type EntityQuery = Pick<Query, 'selectors' | 'attributes' | 'scopes'>

/** The criteria of `GET /v2/entities`; refuses the first wrong one with its text [NGSIv2 context 1.4, 8.1]. */
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

/** The order in `orderBy`, otherwise that of creation; refuses with the text of the mistake [NGSIv2 context 7.6]. */
export function orderOf(
  parameters: Parameters,
  { scopes }: Pick<EntityQuery, 'scopes'>,
): Result<readonly OrderKey[], string> {
  const keys = parseOrder(parameters.get('orderBy') ?? '')
  if (new Set(keys.map(({ by }) => by)).size < keys.length) return err('duplicate orderBy token detected')
  if (keys.length > maxOrderKeys) return err(`too many orderBy tokens [max: ${maxOrderKeys}]`)
  return ok(withBuiltins(keys, centreOf(scopes)))
}

/** The point from which distances are measured. */
function centreOf(scopes: readonly Scope[]): Point | undefined {
  for (const scope of scopes) if (scope.kind === 'place' && scope.place.relation === 'near') return scope.place.centre
  return undefined
}

/** Up to this many types are looked up one by one; more are a condition on all entities. */
const lookedUpTypes = 100

/** Lists of ids and types mean each id with each type. Where ids are looked up, the types are a condition of their own. */
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

/** The names of a list, each once, without empty ones. */
function namesIn(parameters: Parameters, name: string): readonly string[] {
  return [...new Set(listOf(parameters, name))].filter((item) => item !== '')
}

/** The three parts of a geographical query as given. */
export interface PlaceTexts {
  readonly georel?: string | undefined
  readonly geometry?: string | undefined
  readonly coords?: string | undefined
}

type PlaceScope = Result<Scope | undefined, string>

/** The place in the URI parameters, if any; refuses with the text of the mistake [NGSIv2 context 10.4]. */
export function placeOfParameters({ georel, geometry, coords }: PlaceTexts): PlaceScope {
  if (geometry === undefined) {
    if (coords !== undefined) return unpaired('coords', 'geometry')
    return georel === undefined ? ok(undefined) : unpaired('georel', 'geometry')
  }
  if (coords === undefined) return unpaired('geometry', 'coords')
  return placeScope('Invalid query: ', georel, geometry, coords)
}

/** The place of an expression, which has all three parts or none; refuses with the text of the mistake [NGSIv2 context 10.4]. */
export function placeOfExpression({ georel, geometry, coords }: PlaceTexts): PlaceScope {
  if (georel === undefined && geometry === undefined && coords === undefined) return ok(undefined)
  if (georel === undefined || geometry === undefined || coords === undefined) {
    return err('partial geo expression: geometry, georel and coords have to be provided together')
  }
  return placeScope('error parsing geo-query fields: ', georel, geometry, coords)
}

function unpaired(given: string, missing: string): PlaceScope {
  return err(`Invalid query: URI param /${given}/ used without /${missing}/`)
}

function placeScope(before: string, georel: string | undefined, geometry: string, coords: string): PlaceScope {
  const place = parsePlace(wordsOf(georel, geometry, coords))
  return place.ok ? ok({ kind: 'place', place: place.value }) : err(`${before}${detailsOfPlace(place.error)}`)
}

/** Semicolons separate the words of `georel` and `geometry`, and the points of `coords`. */
function wordsOf(georel: string | undefined, geometry: string, coords: string): PlaceWords {
  return {
    georel: georel?.split(';'),
    geometry: geometry.split(';'),
    coords: coords.split(';').map((pair) => pair.split(',')),
  }
}

/** The text of a mistake in `q`, or in `mq`, which filters by metadata [NGSIv2 context 10.2, 10.3]. */
function filterMistake(mistake: FilterMalformed, side: FilterSide): string {
  return textOf(wording, mistake, side)
}

/** The text of a mistake in a pattern of ids or types. */
export function patternMistake(error: PatternRefusal, name: string): string {
  return error.kind === 'patternMalformed' ? `Invalid regex for entity ${name}` : detailsOfTooCostly(error.pattern)
}

const orderings: { readonly [By in Ordering]: string } = {
  '>': 'GreaterThan',
  '>=': 'GreaterThanOrEqual',
  '<': 'LessThan',
  '<=': 'LessThanOrEqual',
}

const wording: Wording<FilterMalformed, string, [side: FilterSide]> = {
  ...filterTexts,
  filterBlank: () => 'empty q-item (only whitespace)',
  statementBlank: () => 'empty q-item (only whitespace)',
  rangeUnordered: ({ end }) => `invalid data type for /range-${end}/`,
  valueUnordered: ({ by, value }) => {
    return `values of type /${value === null ? 'Null' : 'Bool'}/ not supported for operator /${orderings[by]}/`
  },
  quoteInside: () => 'quote in forced string',
  charactersForbidden: ({ in: where }, side) => {
    if (where === 'value') return 'forbidden characters in String Filter'
    return `invalid character found in URI param /${side === 'metadata' ? 'mq' : 'q'}/`
  },
  metadataUnnamed: ({ unary }) => metadataMissing(unary),
  metadataNameEmpty: ({ unary }) => metadataMissing(unary),
  attributeUnnamed: () => 'no attribute name - not valid for metadata filters',
}

function metadataMissing(unary: boolean): string {
  return unary ? 'no metadata in right-hand-side of q-item' : 'no metadata name - not valid for metadata filters'
}
