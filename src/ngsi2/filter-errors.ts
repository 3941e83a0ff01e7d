import type { FilterSide, Ordering } from '../context/filter.js'
import type { FilterMalformed } from '../context/filter-parse.js'
import type { PatternRefused } from '../context/pattern.js'
import { detailsOfTooCostly } from '../context/patterns-together.js'

type MistakeBy = { readonly [Kind in FilterMalformed['kind']]: Extract<FilterMalformed, { kind: Kind }> }
type Wording = { readonly [Kind in keyof MistakeBy]: (mistake: MistakeBy[Kind], side: FilterSide) => string }

/** What is wrong with `q`, or with `mq`, which filters by metadata [NGSIv2 context 10.2, 10.3]. */
export function filterMistake<Kind extends keyof MistakeBy>(mistake: MistakeBy[Kind], side: FilterSide): string {
  // A mistake's kind is the key of its own text.
  return (wording[mistake.kind] as Wording[Kind])(mistake, side)
}

/** What is wrong with a pattern of ids or types. */
export function patternMistake(refused: PatternRefused, name: string): string {
  return refused.kind === 'patternMalformed' ? `Invalid regex for entity ${name}` : detailsOfTooCostly(refused.pattern)
}

const orderings: { readonly [By in Ordering]: string } = {
  '>': 'GreaterThan',
  '>=': 'GreaterThanOrEqual',
  '<': 'LessThan',
  '<=': 'LessThanOrEqual',
}

const wording: Wording = {
  filterEmpty: () => 'empty q',
  filterBlank: () => 'empty q-item (only whitespace)',
  statementEmpty: () => 'empty q-item',
  statementBlank: () => 'empty q-item (only whitespace)',
  leftSideEmpty: () => 'empty left-hand-side in q-item',
  rightSideEmpty: () => 'empty right-hand-side in q-item',
  listItemEmpty: () => 'empty item in list',
  rangeItemEmpty: () => 'empty item in range',
  rangeOrdered: () => 'ranges only valid for equal and not equal ops',
  listOrdered: () => 'lists only valid for equal and not equal ops',
  rangeMixed: () => 'invalid range: types mixed',
  rangeUnordered: ({ end }) => `invalid data type for /range-${end}/`,
  listMixed: () => 'invalid JSON value type in list',
  valueUnordered: ({ by, value }) => {
    return `values of type /${value === null ? 'Null' : 'Bool'}/ not supported for operator /${orderings[by]}/`
  },
  quoteOpen: () => 'non-terminated forced string',
  quoteInside: () => 'quote in forced string',
  quoteInName: () => 'forbidden characters in String Filter',
  charactersForbidden: ({ in: where }, side) => {
    if (where === 'value') return 'forbidden characters in String Filter'
    return `invalid character found in URI param /${side === 'metadata' ? 'mq' : 'q'}/`
  },
  patternMalformed: ({ pattern }) => `error compiling filter regex: '${pattern}'`,
  patternTooCostly: ({ pattern }) => detailsOfTooCostly(pattern),
  metadataUnnamed: ({ unary }) => metadataMissing(unary),
  metadataNameEmpty: ({ unary }) => metadataMissing(unary),
  attributeUnnamed: () => 'no attribute name - not valid for metadata filters',
  statementsTooMany: () => 'too many q-items',
  filterTooLong: () => 'q too long',
}

function metadataMissing(unary: boolean): string {
  return unary ? 'no metadata in right-hand-side of q-item' : 'no metadata name - not valid for metadata filters'
}
