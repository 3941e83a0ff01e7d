import type { FilterMalformed } from '../../context/filter-parse.js'
import type { AreaMalformed } from '../../context/geo/area.js'
import type { PlaceMalformed } from '../../context/geo/place.js'
import type { PatternRefused } from '../../context/pattern.js'
import { err, ok, type Result } from '../../result.js'
import type { ParserRefusal } from './shape.js'

/** Why a payload is refused as a whole: what the parser or what the checks have found [context 10.3], [subscriptions 1.3]. */
export type PayloadRefusal = ParserRefusal | CheckRefusal

/** What the checks of a payload that could be read find. */
export type CheckRefusal =
  | { readonly kind: 'elementsMissing' }
  | { readonly kind: 'selectorsMissing' }
  | { readonly kind: 'tooMany'; readonly of: CountedThing; readonly number: number; readonly max: number }
  | { readonly kind: 'idEmpty' }
  | { readonly kind: 'isPatternUnknown'; readonly value: string }
  | PatternRefused
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

/** What a query or a subscription may name a number of. */
export type CountedThing =
  | 'entities'
  | 'attributes'
  | 'scopes'
  | 'condValues'
  | 'registered entities and attributes'
  /** Members and items of compound values. */
  | 'values'

/** Whether there are no more of something than are taken. */
export function atMost(
  max: number,
  of: CountedThing,
  given: readonly unknown[],
): Result<undefined, Extract<CheckRefusal, { kind: 'tooMany' }>> {
  return given.length <= max ? ok(undefined) : err({ kind: 'tooMany', of, number: given.length, max })
}

/** Whether the parser found it: then NGSIv1 answers in another shape than for a failed check [context 10.3]. */
export function isParserRefusal(refusal: PayloadRefusal): refusal is ParserRefusal {
  const { kind } = refusal
  return kind === 'jsonMalformed' || kind === 'fieldUnknown' || kind === 'charactersForbidden'
}
