import { filterTexts, textOf, type Wording } from '../../../broker/operations/wording.js'
import type { FilterMalformed } from '../../../model/context/filter-parse.js'
import type { AreaMalformed } from '../../../model/context/geo/area.js'
import { detailsOfPlace, type PlaceMalformed } from '../../../model/context/geo/place.js'
import { detailsOfTooCostly, type PatternRefusal } from '../../../model/context/pattern.js'
import type { Log } from '../../../observe/log/log.js'
import { traceArea } from '../../../observe/log/trace.js'
import { err, ok, type Result } from '../../../result.js'
import type { Steps } from '../../../slices.js'
import type { ParserRefusal } from './shape.js'

/** Why a payload as a whole is refused, by the parser or by the checks [context 10.3], [subscriptions 1.3]. */
export type PayloadRefusal = ParserRefusal | CheckRefusal

/** A mistake that the checks find in a parsed payload. */
export type CheckRefusal =
  | { readonly kind: 'elementsMissing' }
  | { readonly kind: 'selectorsMissing' }
  | { readonly kind: 'tooMany'; readonly of: CountedThing; readonly number: number; readonly max: number }
  | { readonly kind: 'idEmpty' }
  | { readonly kind: 'isPatternUnknown'; readonly value: string }
  | PatternRefusal
  | { readonly kind: 'nameEmpty' }
  | { readonly kind: 'nameMissing'; readonly of: NamedThing }
  | { readonly kind: 'tooLong'; readonly of: NamedThing; readonly part: 'name' | 'type'; readonly bytes: number }
  | { readonly kind: 'metadataValueMissing' }
  | { readonly kind: 'keyTwice'; readonly key: string; readonly path: string }
  | { readonly kind: 'restrictionEmpty' }
  | { readonly kind: 'expressionEmpty' }
  | { readonly kind: 'scopeTypeEmpty' }
  | { readonly kind: 'scopeValueEmpty' }
  | { readonly kind: 'scopeCharactersForbidden' }
  | { readonly kind: 'scopeValueUnknown'; readonly type: string }
  | { readonly kind: 'areaMalformed'; readonly why: AreaMalformed }
  | { readonly kind: 'placeMalformed'; readonly why: PlaceMalformed }
  | { readonly kind: 'filterMalformed'; readonly why: FilterMalformed }
  | { readonly kind: 'actionEmpty' }
  | { readonly kind: 'actionUnknown'; readonly value: string }
  | { readonly kind: 'shownNameEmpty' }
  | { readonly kind: 'referenceEmpty' }
  | { readonly kind: 'referenceMalformed' }
  | { readonly kind: 'durationMalformed' }
  | { readonly kind: 'throttlingMalformed' }
  | { readonly kind: 'conditionTypeEmpty' }
  | { readonly kind: 'conditionTypeUnknown'; readonly value: string }
  | { readonly kind: 'triggerEmpty' }
  | { readonly kind: 'intervalMalformed'; readonly value: string }
  /** The text of [subscriptions 1.4]. */
  | { readonly kind: 'givenIdMalformed'; readonly why: string }
  | { readonly kind: 'registrationsMissing' }
  | { readonly kind: 'patternRegistered' }
  | { readonly kind: 'registeredNameMissing' }
  | { readonly kind: 'isDomainUnknown'; readonly value: string }
  | { readonly kind: 'providerMissing' }

export type NamedThing = 'attribute' | 'metadata'

type CountedThing =
  | 'entities'
  | 'attributes'
  | 'scopes'
  | 'condValues'
  | 'registered entities and attributes'
  /** Members and items of compound values. */
  | 'values'

/** Refuses more than a limit of something. */
export function atMost(
  max: number,
  of: CountedThing,
  given: readonly unknown[],
): Result<undefined, Extract<CheckRefusal, { kind: 'tooMany' }>> {
  return given.length <= max ? ok(undefined) : err({ kind: 'tooMany', of, number: given.length, max })
}

/** Whether the parser found it: NGSIv1 then responds in another shape than for a failed check [context 10.3]. */
export function isParserRefusal(refusal: PayloadRefusal): refusal is ParserRefusal {
  const { kind } = refusal
  return kind === 'jsonMalformed' || kind === 'fieldUnknown' || kind === 'charactersForbidden'
}

/** The details of the status of a refused payload; its code is always 400 [context 10.3], [subscriptions 2.1.1]. */
export function detailsOfPayload(refusal: PayloadRefusal): string {
  return textOf(payloadWording, refusal)
}

const payloadWording: Wording<PayloadRefusal, string> = {
  jsonMalformed: () => 'JSON Parse Error',
  fieldUnknown: ({ path }) => `JSON Parse Error: unknown field: ${path}`,
  charactersForbidden: () => 'Illegal value for JSON field',
  elementsMissing: () => 'No context elements',
  selectorsMissing: () => 'No entities',
  tooMany: ({ of, number, max }) => `number of ${of}: ${number}, max number supported: ${max}`,
  idEmpty: () => 'empty entityId:id',
  isPatternUnknown: ({ value }) => `invalid isPattern value for entity: /${value}/`,
  patternMalformed: () => 'invalid regex for entity id pattern',
  patternTooCostly: ({ pattern }) => detailsOfTooCostly(pattern),
  nameEmpty: () => 'Empty attribute name',
  nameMissing: ({ of }) => `missing ${of} name`,
  tooLong: ({ of, part, bytes }) => `${of} ${part} length: ${bytes}, max length supported: 256`,
  metadataValueMissing: () => 'missing metadata value',
  keyTwice: ({ key, path }) => `compound value error: duplicated tag-name: /${key}/ in path: ${path}`,
  restrictionEmpty: () => 'empty restriction',
  expressionEmpty: () => 'Empty attribute expression',
  scopeTypeEmpty: () => 'Empty type in restriction scope',
  scopeValueEmpty: () => 'Empty value in restriction scope',
  scopeCharactersForbidden: () => 'illegal chars in scope',
  scopeValueUnknown: ({ type }) => `invalid value in restriction scope: ${type}`,
  areaMalformed: ({ why }) => textOf(areaWording, why),
  placeMalformed: ({ why }) => `Query not supported: ${placeDetails(why)}`,
  filterMalformed: ({ why }) => textOf(filterWording, why),
  actionEmpty: () => 'empty update action type',
  actionUnknown: ({ value }) => `invalid update action type: /${value}/`,
  shownNameEmpty: () => 'empty string',
  referenceEmpty: () => 'Empty Reference',
  referenceMalformed: () => 'Invalid URL',
  durationMalformed: () => 'syntax error in duration string',
  throttlingMalformed: () => 'syntax error in throttling string',
  conditionTypeEmpty: () => 'empty type for NotifyCondition',
  conditionTypeUnknown: ({ value }) => `invalid notify condition type: /${value}/`,
  triggerEmpty: () => 'empty condValue name',
  intervalMalformed: ({ value }) => `invalid time interval in notify condition: /${value}/`,
  givenIdMalformed: ({ why }) => why,
  registrationsMissing: () => 'Empty Context Registration List',
  patternRegistered: () => 'isPattern set to true for registrations is currently not supported',
  registeredNameMissing: () => 'missing name for registration attribute',
  isDomainUnknown: ({ value }) => `invalid isDomain value for registration attribute: /${value}/`,
  providerMissing: () => 'no providing application',
}

/** [context 7.4.1] */
const areaWording: Wording<AreaMalformed, string> = {
  shapeUnknown: () => 'invalid area: a circle or a polygon is expected',
  radiusMissing: () => 'Missing radius for circle area',
  radiusZero: () => 'Radius zero for a circle area',
  radiusMalformed: () => 'invalid value for radius',
  coordinateMissing: ({ shape, coordinate }) =>
    shape === 'circle' ? `Missing ${coordinate} for circle center` : `missing ${coordinate} value for polygon vertex`,
  coordinateMalformed: ({ coordinate }) => `invalid value for ${coordinate}`,
  invertedMalformed: ({ shape, value }) => `bad string for ${shape}/inverted: /${value}/`,
  verticesTooFew: () => 'too few vertices for a polygon',
  verticesTooMany: () => 'too many vertices for a polygon',
}

/** Two of the mistakes have older texts in NGSIv1 [NGSIv2 context 14.5]. */
function placeDetails(why: PlaceMalformed): string {
  if (why.kind === 'polygonPointsTooFew') return 'not enough vertices for a polygon'
  if (why.kind === 'pointsUnsuited' && why.geometry === 'line') return 'not enough points for a line'
  return detailsOfPlace(why)
}

/** [context 7.4.2] */
const filterWording: Wording<FilterMalformed, string> = {
  ...filterTexts,
  filterBlank: filterTexts.filterEmpty,
  statementBlank: filterTexts.statementEmpty,
  rangeUnordered: filterTexts.rangeMixed,
  valueUnordered: () => 'values of this type have no order',
  quoteInside: filterTexts.quoteInName,
  charactersForbidden: filterTexts.quoteInName,
  metadataUnnamed: () => 'no metadata name - not valid for metadata filters',
  metadataNameEmpty: filterTexts.leftSideEmpty,
  attributeUnnamed: filterTexts.leftSideEmpty,
}

const areas = ['parse', 'parse.check', 'parse.dump'] as const

export function isParseTraced(log: Log | undefined): boolean {
  return areas.some((area) => log?.traces[traceArea[area]] === 1)
}

/** Parses a payload; traces the time, the failed check, and the parsed payload. */
export function* parseTraced<Payload, Refusal extends PayloadRefusal>(
  log: Log | undefined,
  body: string,
  parse: Steps<Result<Payload, Refusal>>,
): Steps<Result<Payload, Refusal>> {
  if (!isParseTraced(log)) return yield* parse
  const since = process.hrtime.bigint()
  const result = yield* parse
  const duration_ns = String(process.hrtime.bigint() - since)
  const bytes = Buffer.byteLength(body)
  log?.trace('parse', `${bytes} bytes read`, { bytes, duration_ns })
  if (!result.ok) log?.trace('parse.check', detailsOfPayload(result.error))
  else if (log?.traces[traceArea['parse.dump']] === 1) log.trace('parse.dump', dumpOf(result.value))
  return result
}

/** As JSON: inside the quotation marks of a text the log finds the secrets of any URL. */
function dumpOf(payload: unknown): string {
  return String(JSON.stringify(payload, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)))
}
