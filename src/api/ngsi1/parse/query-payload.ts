import { type EntityId, type EntityType, hasForbidden, type Value } from '../../../model/context/entity.js'
import type { FilterSide } from '../../../model/context/filter.js'
import { parseFilter } from '../../../model/context/filter-parse.js'
import { parseArea } from '../../../model/context/geo/area.js'
import { parsePlace } from '../../../model/context/geo/place.js'
import { PatternsTogether } from '../../../model/context/pattern.js'
import { idMeant, type Scope, type Selector } from '../../../model/context/query.js'
import { isArray, isObject } from '../../../model/context/value.js'
import { err, ok, type Result } from '../../../result.js'
import { atOnce, type Steps } from '../../../slices.js'
import { atMost, type CheckRefusal, type PayloadRefusal } from './payload-errors.js'
import {
  anything,
  hasLeaf,
  identifier,
  type Json,
  list,
  parseBody,
  type ReadBy,
  record,
  storedValue,
  text,
} from './shape.js'
import { parseIsPattern } from './update-payload.js'

const selector = record({ id: text, type: identifier, isPattern: text })

/** The entities of a query or a subscription. `-strictNgsiv1Ids` checks an id, but not a pattern [context 4.1]. */
export const selectors = list('entity', {
  *steps(json, path, walk) {
    const draft = yield* selector.steps(json, path, walk)
    const isPattern = parseIsPattern(draft.isPattern ?? '')
    if (!(isPattern.ok && isPattern.value)) identifier.read(draft.id ?? '', `${path}/id`, walk)
    return draft
  },
  fits: selector.fits,
})

/** The limit of results of a read: more entities need several requests. */
const maxSelectors = 1000

type SelectorDrafts = ReadBy<typeof selectors>

/**
 * Checks the selectors; there has to be at least one [context 7.1, 10.3], [subscriptions 2.1.1]. In steps, as some patterns take
 * milliseconds to compile.
 */
export function* checkSelectors(
  drafts: SelectorDrafts = [],
  patterns = new PatternsTogether(),
): Steps<Result<readonly Selector[], CheckRefusal>> {
  if (drafts.length === 0) return err({ kind: 'selectorsMissing' })
  const few = atMost(maxSelectors, 'entities', drafts)
  if (!few.ok) return few
  const checked: Selector[] = []
  for (const draft of drafts) {
    const selector = checkSelector(draft)
    if (!selector.ok) return selector
    checked.push(selector.value)
  }
  for (const { id } of checked) {
    if (id.kind !== 'pattern') continue
    const pattern = patterns.check(id.pattern)
    if (!pattern.ok) return pattern
    yield
  }
  return ok(checked)
}

function checkSelector({ id = '', type = '', isPattern = '' }: SelectorDrafts[number]): Result<Selector, CheckRefusal> {
  if (id === '') return err({ kind: 'idEmpty' })
  const flag = parseIsPattern(isPattern)
  if (!flag.ok) return flag
  return ok({
    id: flag.value ? idMeant(id) : { kind: 'exact', id: id as EntityId },
    type: type === '' ? undefined : (type as EntityType),
  })
}

/** The payload of queryContext [context 7.1]. */
export interface QueryPayload {
  readonly selectors: readonly Selector[]
  /** Empty for all. */
  readonly attributes: readonly string[]
  readonly scopes: readonly Scope[]
}

export const restriction = record({
  attributeExpression: text,
  scopes: list('scope', record({ type: text, value: anything })),
})

/** The payload of queryContext. */
export const queryShape = record({ entities: selectors, attributes: list('attribute', identifier), restriction })

/** Each is compared with the attributes of every result. */
const maxAttributes = 1000

/** Reads and checks the payload of queryContext [context 7.1, 10.3]. */
export function* parseQuery(body: string, strictIds: boolean): Steps<Result<QueryPayload, PayloadRefusal>> {
  const read = yield* parseBody(body, queryShape, strictIds)
  if (!read.ok) return read
  const { entities, attributes = [], restriction } = read.value
  const patterns = new PatternsTogether()
  const meant = yield* checkSelectors(entities, patterns)
  if (!meant.ok) return meant
  const few = atMost(maxAttributes, 'attributes', attributes)
  if (!few.ok) return few
  if (attributes.includes('')) return err({ kind: 'nameEmpty' })
  const scopes = restriction === undefined ? ok([]) : yield* checkRestriction(restriction, patterns)
  if (!scopes.ok) return scopes
  return ok({ selectors: meant.value, attributes: namesShown(attributes), scopes: scopes.value })
}

/** Names of the attributes to show, empty for all, which `*` means, too [context 7.3]. */
export function namesShown(names: readonly string[]): readonly string[] {
  return names.includes('*') ? [] : names
}

/** A restriction must restrict; of its expression only the presence counts [context 7.4]. */
function* checkRestriction(
  restriction: RestrictionDraft,
  patterns: PatternsTogether,
): Steps<Result<readonly Scope[], CheckRefusal>> {
  if (isEmptyRestriction(restriction)) return err({ kind: 'restrictionEmpty' })
  if (restriction.attributeExpression === '') return err({ kind: 'expressionEmpty' })
  return yield* checkScopes(restriction, (type, value) => parseScope(type, value, patterns))
}

type RestrictionDraft = ReadBy<typeof restriction>

/** Whether a restriction, which has to restrict, is empty; its expression is of an old version and ignored. */
export function isEmptyRestriction({ attributeExpression = '', scopes = [] }: RestrictionDraft): boolean {
  return scopes.length === 0 && attributeExpression === ''
}

const maxScopes = 100

/** The scopes of a restriction that have an effect [context 7.4], [subscriptions 2.1.2]. */
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

/** Parses a scope by its type and value; undefined for one that restricts nothing. */
type ScopeParser = (type: string, value: Json) => Result<Scope | undefined, CheckRefusal>

type Parsed = ReturnType<ScopeParser>

/**
 * Parses a scope of a query. All scopes must hold, so a malformed one is refused: without it the response would show too much. A
 * scope of an unknown type is ignored [context 7.4].
 */
function parseScope(type: string, value: Json, patterns: PatternsTogether): Parsed {
  const side = filterSides.get(type)
  if (side) return filterScope(type, value, side, patterns)
  if (hasLeaf(value, hasForbidden)) return err({ kind: 'scopeCharactersForbidden' })
  if (type === 'FIWARE::Location::NGSIv2') return placeScope(value)
  return scopeParsers.get(type)?.(type, value) ?? noScope
}

/**
 * Parses a scope of a subscription: areas and the existence of types. A scope of another type or value is ignored, but a circle or
 * polygon has to be right [subscriptions 2.1.2].
 */
export function parseSubscriptionScope(type: string, value: Json): Parsed {
  const scope = scopeParsers.get(type)?.(type, value) ?? noScope
  return scope.ok || !isUnknownValue(scope.error) ? scope : noScope
}

/** Whether a scope was refused for what it gives, not for a mistake in it. */
function isUnknownValue(refusal: CheckRefusal): boolean {
  if (refusal.kind === 'areaMalformed') return refusal.why.kind === 'shapeUnknown'
  return refusal.kind === 'scopeValueUnknown'
}

const noScope: Parsed = ok(undefined)

const filterSides: ReadonlyMap<string, FilterSide> = new Map([
  ['FIWARE::StringQuery', 'attributes'],
  ['FIWARE::StringQuery::Metadata', 'metadata'],
])

const untyped: ScopeParser = (type, value) => existence(type, value, { kind: 'untyped' })

const scopeParsers: ReadonlyMap<string, ScopeParser> = new Map<string, ScopeParser>([
  ['FIWARE::Filter::Existence', (type, value) => existence(type, value, { kind: 'typed' })],
  // Queries are documented with the first name, subscriptions with the second one: either is taken wherever scopes are.
  ['FIWARE::Filter::Not::Existence', untyped],
  ['FIWARE::Filter::!::Existence', untyped],
  ['FIWARE::Location', areaScope],
  ['FIWARE_Location', areaScope],
])

function existence(type: string, value: Json, scope: Scope): Parsed {
  return value === 'entity::type' ? ok(scope) : err({ kind: 'scopeValueUnknown', type })
}

function areaScope(_type: string, value: Json): Parsed {
  const area = parseArea(atOnce(storedValue(value)))
  return area.ok ? ok({ kind: 'area', area: area.value }) : err({ kind: 'areaMalformed', why: area.error })
}

/** The members of an NGSIv2 expression; a member of the wrong kind becomes a word that matches nothing. */
function placeScope(value: Json): Parsed {
  const given = atOnce(storedValue(value))
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
