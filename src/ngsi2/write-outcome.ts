import type { ApiResponse } from '../api.js'
import { maxAttributes, maxMetadata, metadataOf } from '../context/entity-size.js'
import type { GivenAttribute, UpdateReply } from '../context/update.js'
import { entityUnknown, refused } from './ngsi2-errors.js'
import { wordExcess, wordRefusal } from './update-refusals.js'

/** What became of an update of one entity. */
export type WriteOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'entityUnknown' }
  /** These attributes, in the order of the payload, do not exist, or do, and were left alone; the others were done. */
  | { readonly kind: 'missing' | 'existing'; readonly names: readonly string[]; readonly isPartial: boolean }
  /** Nothing was done. */
  | { readonly kind: 'refused'; readonly response: ApiResponse }

const done: WriteOutcome = { kind: 'done' }

/** What the reply to an update of one entity says [NGSIv2 context 8.5]. */
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
      return { kind: 'refused', response: wordRefusal(refusal) }
  }
}

/** The names of the attributes at these positions of the request, of all of them without positions. */
function namesAt(attributes: readonly GivenAttribute[], shown: readonly number[] | undefined): readonly string[] {
  const meant = shown === undefined ? attributes : shown.flatMap((at) => attributes[at] ?? [])
  return meant.map(({ name }) => name)
}

/** The response to attributes that are more than any entity may have: they are not even sent. */
export function tooMuch(attributes: readonly GivenAttribute[]): ApiResponse | undefined {
  if (attributes.length > maxAttributes) return wordExcess('attributes', maxAttributes)
  return metadataOf(attributes) > maxMetadata ? wordExcess('metadata', maxMetadata) : undefined
}

/** The names of attributes as errors list them. */
export function namesText(names: readonly string[]): string {
  return `[ ${names.join(', ')} ]`
}

/** What begins the description of what is missing, and of what is there already [NGSIv2 context 8.5, 11.1]. */
export const beginnings = {
  missing: 'do not exist: ',
  existing: 'one or more of the attributes in the request already exist: ',
} as const

/** The response to an update of one entity that its path names; `shown` is the entity as errors name it [NGSIv2 context 8.5]. */
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
      return refused(isPartial ? 'PartialUpdate' : 'Unprocessable', description)
    }
  }
}
