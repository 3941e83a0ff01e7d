import { filterTexts, type Wording, worded } from '../../api/wording.js'
import type { FilterMalformed } from '../../context/filter-parse.js'
import type { AreaMalformed } from '../../context/geo/area.js'
import type { PlaceMalformed } from '../../context/geo/place.js'
import { detailsOfPlace } from '../../context/geo/place-errors.js'
import { detailsOfTooCostly } from '../../context/patterns-together.js'
import type { PayloadRefusal } from '../parse/payload-refusal.js'

/** The details of the status of a payload that is refused; its code is always 400 [context 10.3], [subscriptions 2.1.1]. */
export function detailsOfPayload(refusal: PayloadRefusal): string {
  return worded(payloadWording, refusal)
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
  areaMalformed: ({ why }) => worded(areaWording, why),
  placeMalformed: ({ why }) => `Query not supported: ${placeDetails(why)}`,
  filterMalformed: ({ why }) => worded(filterWording, why),
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
  coordinateMissing: ({ shape, coordinate }) =>
    shape === 'circle' ? `Missing ${coordinate} for circle center` : `missing ${coordinate} value for polygon vertex`,
  coordinateMalformed: ({ coordinate }) => `invalid value for ${coordinate}`,
  invertedMalformed: ({ shape, value }) => `bad string for ${shape}/inverted: /${value}/`,
  verticesTooFew: () => 'too few vertices for a polygon',
  verticesTooMany: () => 'too many vertices for a polygon',
}

/** Two of the mistakes have older names in NGSIv1 [NGSIv2 context 14.5]. */
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
