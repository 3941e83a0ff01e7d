import type { EntityId, EntityType } from '../../context/entity.js'
import { PatternsTogether } from '../../context/patterns-together.js'
import type { Scope, Selector } from '../../context/query.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import { atMost, type CheckRefusal, type PayloadRefusal } from './payload-refusal.js'
import {
  checkScopes,
  isEmptyRestriction,
  parseScope,
  type RestrictionDraft,
  restriction,
} from './restriction-payload.js'
import { identifier, list, parseBody, type ReadBy, record, text } from './shape.js'
import { parseIsPattern } from './update-payload.js'

/** The entities that a query or a subscription means. An id may be a pattern, so `-strictNgsiv1Ids` does not look at it. */
export const selectors = list('entity', record({ id: text, type: identifier, isPattern: text }))

/** As many as results of a read: more entities are asked for in several requests. */
const maxSelectors = 1000

type SelectorDrafts = ReadBy<typeof selectors>

/**
 * Checks which entities are meant: there has to be one at least [context 7.1, 10.3], [subscriptions 2.1.1]. In steps, as
 * some patterns take milliseconds to compile.
 */
export function* checkSelectors(
  drafts: SelectorDrafts = [],
  patterns = new PatternsTogether(),
): Steps<Result<readonly Selector[], CheckRefusal>> {
  if (drafts.length === 0) return err({ kind: 'selectorsMissing' })
  const few = atMost(maxSelectors, 'entities', drafts)
  if (!few.ok) return few
  const checked: Selector[] = []
  for (const draft of drafts) {
    const selector = checkSelector(draft)
    if (!selector.ok) return selector
    checked.push(selector.value)
  }
  for (const { id } of checked) {
    if (id.kind !== 'pattern') continue
    const pattern = patterns.check(id.pattern)
    if (!pattern.ok) return pattern
    yield
  }
  return ok(checked)
}

function checkSelector({ id = '', type = '', isPattern = '' }: SelectorDrafts[number]): Result<Selector, CheckRefusal> {
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

/** What queryContext asks for [context 7.1]. */
export interface QueryPayload {
  readonly selectors: readonly Selector[]
  /** Empty for all. */
  readonly attributes: readonly string[]
  readonly scopes: readonly Scope[]
}

/** The payload of queryContext. */
export const queryShape = record({ entities: selectors, attributes: list('attribute', identifier), restriction })

/** Each is compared with the attributes of every result. */
const maxAttributes = 1000

/** Reads and checks the payload of queryContext [context 7.1, 10.3]. */
export function* parseQuery(body: string, strictIds: boolean): Steps<Result<QueryPayload, PayloadRefusal>> {
  const read = yield* parseBody(body, queryShape, strictIds)
  if (!read.ok) return read
  const { entities, attributes = [], restriction } = read.value
  const patterns = new PatternsTogether()
  const meant = yield* checkSelectors(entities, patterns)
  if (!meant.ok) return meant
  const few = atMost(maxAttributes, 'attributes', attributes)
  if (!few.ok) return few
  if (attributes.includes('')) return err({ kind: 'nameEmpty' })
  const scopes = restriction === undefined ? ok([]) : yield* checkRestriction(restriction, patterns)
  if (!scopes.ok) return scopes
  return ok({ selectors: meant.value, attributes: namesShown(attributes), scopes: scopes.value })
}

/** Names of the attributes to show, none for all, which `*` means, too [context 7.3]. */
export function namesShown(names: readonly string[]): readonly string[] {
  return names.includes('*') ? [] : names
}

/** A restriction must restrict; its expression only has to be there [context 7.4]. */
function* checkRestriction(
  restriction: RestrictionDraft,
  patterns: PatternsTogether,
): Steps<Result<readonly Scope[], CheckRefusal>> {
  if (isEmptyRestriction(restriction)) return err({ kind: 'restrictionEmpty' })
  if (restriction.attributeExpression === '') return err({ kind: 'expressionEmpty' })
  return yield* checkScopes(restriction, (type, value) => parseScope(type, value, patterns))
}
