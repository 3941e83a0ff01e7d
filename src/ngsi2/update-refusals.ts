import type { ApiResponse } from '../api.js'
import type { Excess } from '../context/entity-size.js'
import type { ShapeMalformed } from '../context/geo/shape-parse.js'
import type { ElementFailure, ShapeMoment, UnmetTerms, UpdateRefusal } from '../context/update.js'
import { shortForm } from '../short-form.js'
import { attributeUnknown, badInput, entityAmbiguous, entityUnknown, refused, unavailable } from './ngsi2-errors.js'
import { dateMalformed, valueForbidden } from './parse/given-attributes.js'

type Wording<Refusal extends { readonly kind: string }> = {
  readonly [Kind in Refusal['kind']]: (refusal: Extract<Refusal, { kind: Kind }>) => ApiResponse
}

/** The response to an update that was refused for what is stored [NGSIv2 context 1.2, 3.5, 8.2, 12.3]. */
export function wordRefusal<Kind extends UpdateRefusal['kind']>(
  refusal: Extract<UpdateRefusal, { kind: Kind }>,
): ApiResponse {
  // A refusal's kind is the key of its own text, here and below.
  return (wording[refusal.kind as Kind] as (of: typeof refusal) => ApiResponse)(refusal)
}

function wordUnmet<Kind extends UnmetTerms['kind']>(why: Extract<UnmetTerms, { kind: Kind }>): ApiResponse {
  return (unmet[why.kind as Kind] as (of: typeof why) => ApiResponse)(why)
}

const tooManyLocations = refused(
  'NoResourcesAvailable',
  'You cannot use more than one geo location attribute when creating an entity. Use ignoreType metadata if you want to add additional informative locations.',
)

const wording: Wording<UpdateRefusal> = {
  termsUnmet: ({ why }) => wordUnmet(why),
  entityUnknown: () => entityUnknown,
  attributeUnknown: () => attributeUnknown,
  attributesMissing: () => attributeUnknown,
  attributesExist: ({ names }) =>
    refused('Unprocessable', `one or more of the attributes in the request already exist: [ ${names.join(', ')} ]`),
  instancesMixed: ({ name }) => onlyNgsi1('instancesMixed', name),
  coordinatesMalformed: ({ value, when }) =>
    badInput(
      `error parsing location attribute${when === 'newAttribute' ? ' for new attribute' : ''}: geo coordinates format error [see Orion user manual]: ${value}`,
    ),
  coordinateSystemUnknown: ({ name }) => onlyNgsi1('coordinateSystemUnknown', name),
  locationTwice: () => tooManyLocations,
  entityTooLarge: ({ what, max }) => wordExcess(what, max),
  typesTooMany: ({ max }) => refused('Unprocessable', `number of types of one id exceeds the max supported: ${max}`),
  unavailable: ({ why }) => failures[why],
}

function onlyNgsi1(kind: string, name: string): never {
  throw new Error(`an update of NGSIv2 cannot be refused for ${kind}: ${name}`)
}

const unmet: Wording<UnmetTerms> = {
  entityExists: () => refused('Unprocessable', 'Already Exists'),
  entityAmbiguous: () => entityAmbiguous,
  operatorUnfit: ({ operator, name }) =>
    refused('InternalServerError', `update operator ${operator} cannot be applied to attribute ${name}`),
  dateMalformed: () => dateMalformed,
  valueForbidden: () => valueForbidden,
  shapeMalformed: ({ why, when }) => badInput(shapeText(why, when)),
  locationsTooMany: () => tooManyLocations,
}

/** What is wrong with a shape, and where; of GeoJSON that is none it is said nowhere [NGSIv2 context 3.5]. */
function shapeText(why: ShapeMalformed, when: ShapeMoment): string {
  if (why.kind === 'geoJsonNoObject') return 'geo:json needs an object or null as value'
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

const excesses: { readonly [What in Excess]: string } = {
  size: 'size of the entity',
  sizes: 'size of all entities of the id together',
  attributes: 'attributes of the entity',
  values: 'values of the entity',
  metadata: 'metadata of the entity',
}

/** The response to an update that would make an entity larger than it may be. */
export function wordExcess(what: Excess, max: number): ApiResponse {
  return refused('Unprocessable', `${excesses[what]} would exceed the max supported: ${max}`)
}

/** Of an element that could not be stored while others of its request were [management 11.9]. */
const failures: { readonly [Why in ElementFailure]: ApiResponse } = {
  storageFull: unavailable({ kind: 'storageFull' }),
  recordTooLarge: unavailable({ kind: 'recordTooLarge' }),
  partitionLost: unavailable({ kind: 'partitionLost' }),
  outcomeUnknown: unavailable({ kind: 'outcomeUnknown' }),
  fault: shortForm(500, 'internal error'),
}
