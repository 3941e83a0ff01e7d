import { granted, type Outcome, refused } from '../outcome.js'
import type { Filter, FilterSide } from './filter.js'

/** Why a filter can not be understood; each API has its words [context 7.4.2]. */
export type FilterMalformed =
  | { readonly kind: 'filterEmpty' }
  | { readonly kind: 'statementEmpty' }
  | { readonly kind: 'leftSideEmpty' }
  | { readonly kind: 'rightSideEmpty' }
  | { readonly kind: 'listItemEmpty' }
  | { readonly kind: 'rangeItemEmpty' }
  | { readonly kind: 'rangeOrdered' }
  | { readonly kind: 'listOrdered' }
  | { readonly kind: 'rangeMixed' }
  | { readonly kind: 'listMixed' }
  | { readonly kind: 'quoteOpen' }
  | { readonly kind: 'charactersForbidden' }
  | { readonly kind: 'patternMalformed'; readonly pattern: string }
  | { readonly kind: 'metadataUnnamed' }
  | { readonly kind: 'statementsTooMany' }

/** Stands in for the parser of string filters. */
export function parseFilter(text: string, on: FilterSide): Outcome<Filter, FilterMalformed> {
  return text.startsWith('==') ? refused({ kind: 'leftSideEmpty' }) : granted({ on, statements: [text] })
}
