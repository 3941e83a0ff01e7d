import type { ApiResponse } from '../../broker/operations/api.js'
import { shortForm } from '../../broker/operations/response.js'
import { excessText, textOf, type Wording } from '../../broker/operations/wording.js'
import { type Excess, maxAttributes, maxMetadata, metadataOf } from '../../model/context/entity-size.js'
import type { ShapeMalformed } from '../../model/context/geo/shape-parse.js'
import type {
  ElementFailure,
  GivenAttribute,
  ShapeMoment,
  UnmetTerms,
  UpdateRefusal,
  UpdateReply,
} from '../../model/context/update.js'
import { attributeUnknown, badInput, entityAmbiguous, entityUnknown, errorOf, unavailable } from './errors.js'
import { dateMalformed, geoJsonMissing, valueForbidden } from './parse/attributes.js'
import type { EntityGiven } from './parse/entities.js'

export type WriteOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'entityUnknown' }
  /**
   * These attributes, in the order of the payload, do not exist, or exist and were left alone; `isPartial` when others were
   * updated.
   */
  | { readonly kind: 'missing' | 'existing'; readonly names: readonly string[]; readonly isPartial: boolean }
  /** Nothing was done. */
  | { readonly kind: 'refused'; readonly response: ApiResponse }

const done: WriteOutcome = { kind: 'done' }

/** The outcome of an update of one entity, by the reply of its partition [NGSIv2 context 8.5]. */
export function writeOutcome(attributes: readonly GivenAttribute[], { items, missing }: UpdateReply): WriteOutcome {
  const [first, second] = items
  const refusal = first?.refusal
  if (refusal === undefined) {
    const [left] = missing
    if (left) return { kind: 'missing', names: namesAt(attributes, left.shown), isPartial: true }
    if (second?.refusal?.kind !== 'attributesExist') return done
    return { kind: 'existing', names: second.refusal.names, isPartial: true }
  }
  switch (refusal.kind) {
    case 'entityUnknown':
      return { kind: 'entityUnknown' }
    case 'attributeUnknown':
      return { kind: 'missing', names: attributes.map(({ name }) => name), isPartial: false }
    case 'attributesExist':
      return { kind: 'existing', names: refusal.names, isPartial: false }
    default:
      return { kind: 'refused', response: refusalResponse(refusal) }
  }
}

/** The names of the attributes at these positions; all names without positions. */
function namesAt(attributes: readonly GivenAttribute[], shown: readonly number[] | undefined): readonly string[] {
  const meant = shown === undefined ? attributes : shown.flatMap((at) => attributes[at] ?? [])
  return meant.map(({ name }) => name)
}

/** The response to more attributes or metadata than an entity may have; such an update is not sent. */
export function tooMuch(attributes: readonly GivenAttribute[]): ApiResponse | undefined {
  if (attributes.length > maxAttributes) return excessResponse('attributes', maxAttributes)
  return metadataOf(attributes) > maxMetadata ? excessResponse('metadata', maxMetadata) : undefined
}

function namesText(names: readonly string[]): string {
  return `[ ${names.join(', ')} ]`
}

/** The beginning of the description of missing attributes, and that of existing ones [NGSIv2 context 8.5, 11.1]. */
const beginnings = {
  missing: 'do not exist: ',
  existing: 'one or more of the attributes in the request already exist: ',
} as const

/** The response to an update of the entity in the path; `shown` is the entity in error texts [NGSIv2 context 8.5]. */
export function respondTo(outcome: WriteOutcome, shown: string, success: ApiResponse): ApiResponse {
  switch (outcome.kind) {
    case 'done':
      return success
    case 'entityUnknown':
      return entityUnknown
    case 'refused':
      return outcome.response
    default: {
      const { kind, names, isPartial } = outcome
      const description = `${beginnings[kind]}${shown} - ${namesText(names)}`
      return errorOf(isPartial ? 'PartialUpdate' : 'Unprocessable', description)
    }
  }
}

export interface BatchItem {
  readonly entity: Pick<EntityGiven, 'id' | 'type'>
  readonly outcome: WriteOutcome
}

/**
 * One response for all items: that of the first refused one, otherwise one that lists missing and existing attributes [NGSIv2
 * context 11.1].
 */
export function batchResponse(items: readonly BatchItem[], success: ApiResponse): ApiResponse {
  for (const { outcome } of items) if (outcome.kind === 'refused') return outcome.response
  const failed = items.filter(({ outcome }) => outcome.kind !== 'done')
  if (failed.length === 0) return success
  const description = failed.map(partOf).join(', ')
  const isOf = (kind: WriteOutcome['kind']) => (item: BatchItem) => item.outcome.kind === kind
  if (items.every(isOf('entityUnknown'))) return errorOf('NotFound', description)
  const isDone = items.some(({ outcome }) => outcome.kind === 'done' || ('isPartial' in outcome && outcome.isPartial))
  return errorOf(isDone ? 'PartialUpdate' : 'Unprocessable', description)
}

/** The description of a failed item; the first one has the beginning. */
function partOf({ entity: { id, type }, outcome }: BatchItem, at: number): string {
  const shown = type === undefined ? id : `${id}/${type}`
  if (outcome.kind === 'entityUnknown') {
    return at === 0 ? `${beginnings.missing}${shown} - [entity itself]` : `${shown} [entity itself]`
  }
  if (outcome.kind !== 'missing' && outcome.kind !== 'existing') return ''
  return `${at === 0 ? beginnings[outcome.kind] : ''}${shown} - ${namesText(outcome.names)}`
}

/** The response to an update that was refused because of what is stored [NGSIv2 context 1.2, 3.5, 8.2, 12.3]. */
function refusalResponse(refusal: UpdateRefusal): ApiResponse {
  return textOf(wording, refusal)
}

const tooManyLocations = errorOf(
  'NoResourcesAvailable',
  'You cannot use more than one geo location attribute when creating an entity. Use ignoreType metadata if you want to add additional informative locations.',
)

const wording: Wording<UpdateRefusal, ApiResponse> = {
  termsUnmet: ({ why }) => textOf(unmet, why),
  entityUnknown: () => entityUnknown,
  attributeUnknown: () => attributeUnknown,
  attributesMissing: () => attributeUnknown,
  attributesExist: ({ names }) =>
    errorOf('Unprocessable', `one or more of the attributes in the request already exist: [ ${names.join(', ')} ]`),
  instancesMixed: ({ name }) => onlyNgsi1('instancesMixed', name),
  coordinatesMalformed: ({ value, when }) =>
    badInput(
      `error parsing location attribute${when === 'newAttribute' ? ' for new attribute' : ''}: geo coordinates format error [see Orion user manual]: ${value}`,
    ),
  coordinateSystemUnknown: ({ name }) => onlyNgsi1('coordinateSystemUnknown', name),
  locationTwice: () => tooManyLocations,
  entityTooLarge: ({ what, max }) => excessResponse(what, max),
  typesTooMany: ({ max }) => errorOf('Unprocessable', `number of types of one id exceeds the max supported: ${max}`),
  unavailable: ({ why }) => failures[why],
}

function onlyNgsi1(kind: string, name: string): never {
  throw new Error(`an update of NGSIv2 cannot be refused for ${kind}: ${name}`)
}

const unmet: Wording<UnmetTerms, ApiResponse> = {
  entityExists: () => errorOf('Unprocessable', 'Already Exists'),
  entityAmbiguous: () => entityAmbiguous,
  operatorUnfit: ({ operator, name }) =>
    errorOf('InternalServerError', `update operator ${operator} cannot be applied to attribute ${name}`),
  dateMalformed: () => dateMalformed,
  valueForbidden: () => valueForbidden,
  shapeMalformed: ({ why, when }) => (why.kind === 'geoJsonNoObject' ? geoJsonMissing : badInput(shapeText(why, when))),
  locationsTooMany: () => tooManyLocations,
}

/** The mistake in a shape and its place; malformed GeoJSON is reported without the place [NGSIv2 context 3.5]. */
function shapeText(why: Exclude<ShapeMalformed, { readonly kind: 'geoJsonNoObject' }>, when: ShapeMoment): string {
  if (why.kind === 'geoJsonMalformed') return 'Wrong GeoJson'
  return `error parsing location attribute${places[when]}: ${shapeCause(why)}`
}

const places: { readonly [When in ShapeMoment]: string } = {
  newAttribute: ' for new attribute',
  existingAttribute: ' for existing attribute',
  other: '',
}

type ShapeCause = Exclude<ShapeMalformed, { readonly kind: 'geoJsonNoObject' | 'geoJsonMalformed' }>

function shapeCause(why: ShapeCause): string {
  if (why.kind === 'pointMalformed') return `geo coordinates format error [see Orion user manual]: ${why.text}`
  if (why.kind === 'pointsTooMany') return `more than ${why.max} coordinates`
  return shapeCauses[why.kind]
}

const shapeCauses: {
  readonly [Kind in Exclude<ShapeCause['kind'], 'pointMalformed' | 'pointsTooMany'>]: string
} = {
  noArray: 'geo:line, geo:box and geo:polygon needs array of strings as value',
  itemNoText: 'geo:line, geo:box and geo:polygon needs array of strings but some element is not a string',
  linePointsTooFew: 'geo:line uses at least 2 coordinates',
  boxPointsNotTwo: 'geo:box uses exactly 2 coordinates',
  boxFlat: 'geo:box coordinates are not defining an actual box',
  polygonPointsTooFew: 'geo:polygon uses at least 4 coordinates',
  polygonOpen: 'geo:polygon first and last coordinates must match',
  geometryMissing: 'geometry in Feature not found',
  geometryNoObject: 'geometry in Feature is not an object',
  featuresMissing: 'features field not found in FeatureCollection',
  featuresNoArray: 'features in FeatureCollection is not an array',
  featuresNone: 'features in FeatureCollection has 0 items',
  featuresTooMany: 'features in FeatureCollection has more than 1 item',
}

/** The response to an update that would make an entity exceed a limit. */
function excessResponse(what: Excess, max: number): ApiResponse {
  return errorOf('Unprocessable', excessText(what, max))
}

/** The responses to an element that was not stored while others of its request were [management 11.9]. */
const failures: { readonly [Why in ElementFailure]: ApiResponse } = {
  storageFull: unavailable({ kind: 'storageFull' }),
  recordTooLarge: unavailable({ kind: 'recordTooLarge' }),
  partitionLost: unavailable({ kind: 'partitionLost' }),
  outcomeUnknown: unavailable({ kind: 'outcomeUnknown' }),
  fault: shortForm(500, 'internal error'),
}
