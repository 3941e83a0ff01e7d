import type { EntityId, EntityType } from '../../context/entity.js'
import { compilePatterns } from '../../context/pattern.js'
import type { Selector } from '../../context/query.js'
import { err, ok, type Result } from '../../result.js'
import type { CheckRefusal, CountedThing } from './payload-refusal.js'
import { identifier, list, type ReadBy, record, text } from './shape.js'
import { parseIsPattern } from './update-payload.js'

/** The entities that a query or a subscription means. An id may be a pattern, so `-strictNgsiv1Ids` does not look at it. */
export const selectors = list('entity', record({ id: text, type: identifier, isPattern: text }))

/** As many as results of a read: more entities are asked for in several requests. */
const maxSelectors = 1000

type Drafts = ReadBy<typeof selectors>

/** Checks which entities are meant: there has to be one at least [context 7.1, 10.3], [subscriptions 2.1.1]. */
export function checkSelectors(drafts: Drafts = []): Result<readonly Selector[], CheckRefusal> {
  if (drafts.length === 0) return err({ kind: 'selectorsMissing' })
  const few = atMost(maxSelectors, 'entities', drafts)
  if (!few.ok) return few
  const checked: Selector[] = []
  for (const draft of drafts) {
    const selector = checkSelector(draft)
    if (!selector.ok) return selector
    checked.push(selector.value)
  }
  const patterns = checked.flatMap(({ id }) => (id.kind === 'pattern' ? [id.pattern] : []))
  return compilePatterns(patterns).ok ? ok(checked) : err({ kind: 'patternMalformed' })
}

/** Whether there are no more of something than are taken. */
export function atMost(
  max: number,
  of: CountedThing,
  given: readonly unknown[],
): Result<undefined, Extract<CheckRefusal, { kind: 'tooMany' }>> {
  return given.length <= max ? ok(undefined) : err({ kind: 'tooMany', of, number: given.length, max })
}

function checkSelector({ id = '', type = '', isPattern = '' }: Drafts[number]): Result<Selector, CheckRefusal> {
  if (id === '') return err({ kind: 'idEmpty' })
  const flag = parseIsPattern(isPattern)
  if (!flag.ok) return flag
  return ok({
    id: flag.value ? patternOf(id) : { kind: 'exact', id: id as EntityId },
    type: type === '' ? undefined : (type as EntityType),
  })
}

/** The pattern that clients write for every id asks for nothing, which is counted from an index. */
function patternOf(pattern: string): Selector['id'] {
  return pattern === '.*' ? { kind: 'any' } : { kind: 'pattern', pattern }
}
