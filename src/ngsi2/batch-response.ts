import type { ApiResponse } from '../api.js'
import { refused } from './ngsi2-errors.js'
import type { EntityGiven } from './parse/given-entity.js'
import { beginnings, namesText, type WriteOutcome } from './write-outcome.js'

/** An entity of a batch with what became of it. */
export interface BatchItem {
  readonly entity: Pick<EntityGiven, 'id' | 'type'>
  readonly outcome: WriteOutcome
}

/** One response to all items: the first one that failed otherwise decides, else those that are missing or there already [NGSIv2 context 11.1]. */
export function batchResponse(items: readonly BatchItem[], success: ApiResponse): ApiResponse {
  for (const { outcome } of items) if (outcome.kind === 'refused') return outcome.response
  const failed = items.filter(({ outcome }) => outcome.kind !== 'done')
  if (failed.length === 0) return success
  const description = failed.map(partOf).join(', ')
  const isOf = (kind: WriteOutcome['kind']) => (item: BatchItem) => item.outcome.kind === kind
  if (items.every(isOf('entityUnknown'))) return refused('NotFound', description)
  const isDone = items.some(({ outcome }) => outcome.kind === 'done' || ('isPartial' in outcome && outcome.isPartial))
  return refused(isDone ? 'PartialUpdate' : 'Unprocessable', description)
}

/** What is said of an item that failed; the first one of the request begins the description. */
function partOf({ entity: { id, type }, outcome }: BatchItem, at: number): string {
  const shown = type === undefined ? id : `${id}/${type}`
  if (outcome.kind === 'entityUnknown') {
    return at === 0 ? `${beginnings.missing}${shown} - [entity itself]` : `${shown} [entity itself]`
  }
  if (outcome.kind !== 'missing' && outcome.kind !== 'existing') return ''
  return `${at === 0 ? beginnings[outcome.kind] : ''}${shown} - ${namesText(outcome.names)}`
}
