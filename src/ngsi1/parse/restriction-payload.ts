import { hasForbidden } from '../../context/characters.js'
import type { Value } from '../../context/entity.js'
import type { FilterSide } from '../../context/filter.js'
import { parseFilter } from '../../context/filter-parse.js'
import { parseArea } from '../../context/geo/area.js'
import { parsePlace } from '../../context/geo/place.js'
import type { PatternsTogether } from '../../context/patterns-together.js'
import type { Scope } from '../../context/query.js'
import { isArray, isObject } from '../../context/value.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import type { Json } from './json.js'
import { atMost, type CheckRefusal } from './payload-refusal.js'
import { anything, hasLeaf, list, type ReadBy, record, storedValue, text } from './shape.js'

/** What restricts a query or a subscription. */
export const restriction = record({
  attributeExpression: text,
  scopes: list('scope', record({ type: text, value: anything })),
})

export type RestrictionDraft = ReadBy<typeof restriction>

/** Whether nothing is in a restriction that has to restrict; its expression is of an old version and ignored. */
export function isEmptyRestriction({ attributeExpression = '', scopes = [] }: RestrictionDraft): boolean {
  return scopes.length === 0 && attributeExpression === ''
}

const maxScopes = 100

/** The scopes of a restriction that mean something [context 7.4], [subscriptions 2.1.2]. */
export function* checkScopes(
  { scopes = [] }: RestrictionDraft,
  parse: ScopeParser,
): Steps<Result<readonly Scope[], CheckRefusal>> {
  const few = atMost(maxScopes, 'scopes', scopes)
  if (!few.ok) return few
  const checked: Scope[] = []
  for (const { type = '', value } of scopes) {
    if (type === '') return err({ kind: 'scopeTypeEmpty' })
    if (value === undefined || value.compound === '') return err({ kind: 'scopeValueEmpty' })
    const scope = parse(type, value.compound)
    if (!scope.ok) return scope
    if (scope.value) checked.push(scope.value)
    yield
  }
  return ok(checked)
}

/** Reads a scope that has a type and a value; nothing for one that restricts nothing. */
export type ScopeParser = (type: string, value: Json) => Result<Scope | undefined, CheckRefusal>

type Parsed = ReturnType<ScopeParser>

/**
 * Reads a scope of a query. All scopes must hold, so one that is not understood is refused: without it the response would
 * show too much. One of an unknown type is no scope [context 7.4].
 */
export function parseScope(type: string, value: Json, patterns: PatternsTogether): Parsed {
  const side = filterSides.get(type)
  if (side) return filterScope(type, value, side, patterns)
  if (hasLeaf(value, hasForbidden)) return err({ kind: 'scopeCharactersForbidden' })
  if (type === 'FIWARE::Location::NGSIv2') return placeScope(value)
  return scopeParsers.get(type)?.(type, value) ?? noScope
}

/** Reads a scope of a subscription, which knows areas and the existence of types, no filters [subscriptions 2.1.2]. */
export function parseSubscriptionScope(type: string, value: Json): Parsed {
  return (type === untypedOfSubscriptions ? untyped : scopeParsers.get(type))?.(type, value) ?? noScope
}

const noScope: Parsed = ok(undefined)

const filterSides: ReadonlyMap<string, FilterSide> = new Map([
  ['FIWARE::StringQuery', 'attributes'],
  ['FIWARE::StringQuery::Metadata', 'metadata'],
])

/** What subscriptions call `FIWARE::Filter::Not::Existence`, beside that name. */
const untypedOfSubscriptions = 'FIWARE::Filter::!::Existence'
const untyped: ScopeParser = (type, value) => existence(type, value, { kind: 'untyped' })

const scopeParsers: ReadonlyMap<string, ScopeParser> = new Map<string, ScopeParser>([
  ['FIWARE::Filter::Existence', (type, value) => existence(type, value, { kind: 'typed' })],
  ['FIWARE::Filter::Not::Existence', untyped],
  ['FIWARE::Location', areaScope],
  ['FIWARE_Location', areaScope],
])

function existence(type: string, value: Json, scope: Scope): Parsed {
  return value === 'entity::type' ? ok(scope) : err({ kind: 'scopeValueUnknown', type })
}

function areaScope(_type: string, value: Json): Parsed {
  const area = parseArea(storedValue(value))
  return area.ok ? ok({ kind: 'area', area: area.value }) : err({ kind: 'areaMalformed', why: area.error })
}

/** The members of what NGSIv2 calls an expression; what is of another kind than it should be is a word that nothing is called. */
function placeScope(value: Json): Parsed {
  const given = storedValue(value)
  const { georel, geometry, coords } = isObject(given) ? given : {}
  const place = parsePlace({
    georel: itemsOf(georel).map(wordOf),
    geometry: [wordOf(geometry)],
    coords: itemsOf(coords).map((pair) => itemsOf(pair).map(wordOf)),
  })
  return place.ok ? ok({ kind: 'place', place: place.value }) : err({ kind: 'placeMalformed', why: place.error })
}

function itemsOf(value: Value | undefined): readonly Value[] {
  return value !== undefined && isArray(value) ? value : []
}

/** Numbers may be texts [NGSIv2 context 14.5]. */
function wordOf(value: Value | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function filterScope(type: string, value: Json, side: FilterSide, patterns: PatternsTogether): Parsed {
  if (typeof value !== 'string') return err({ kind: 'scopeValueUnknown', type })
  const filter = parseFilter(value, side, 'ngsi1', patterns)
  if (!filter.ok) return err({ kind: 'filterMalformed', why: filter.error })
  return ok({ kind: 'filter', filter: filter.value })
}
