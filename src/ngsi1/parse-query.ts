import type { EntityId, EntityType } from '../context/entity.js'
import { compilePatterns } from '../context/pattern.js'
import type { Scope, Selector } from '../context/query.js'
import { granted, type Outcome, refused } from '../outcome.js'
import { parseScope } from './parse-scope.js'
import { parseIsPattern } from './parse-update.js'
import type { CheckRefusal, PayloadRefusal } from './payload-refusal.js'
import { anything, identifier, list, readBody, record, text } from './shape.js'

/** What queryContext asks for [context 7.1]. */
export interface QueryPayload {
  readonly selectors: readonly Selector[]
  /** Empty for all. */
  readonly attributes: readonly string[]
  readonly scopes: readonly Scope[]
}

/** The payload of queryContext. An id may be a pattern, so `-strictNgsiv1Ids` does not look at it. */
export const queryShape = record({
  entities: list('entity', record({ id: text, type: identifier, isPattern: text })),
  attributes: list('attribute', identifier),
  restriction: record({
    attributeExpression: text,
    scopes: list('scope', record({ type: text, value: anything })),
  }),
})

type Drafts = NonNullable<ReturnType<typeof queryShape.read>>

/** Reads and checks the payload of queryContext [context 7.1, 10.3]. */
export function parseQuery(body: string, strictIds: boolean): Outcome<QueryPayload, PayloadRefusal> {
  const read = readBody(body, queryShape, strictIds)
  if (!read.ok) return read
  const { entities = [], attributes = [], restriction } = read.value
  if (entities.length === 0) return refused({ kind: 'selectorsMissing' })
  const selectors: Selector[] = []
  for (const draft of entities) {
    const selector = checkSelector(draft)
    if (!selector.ok) return selector
    selectors.push(selector.value)
  }
  const patterns = selectors.flatMap(({ id }) => (id.kind === 'pattern' ? [id.pattern] : []))
  if (!compilePatterns(patterns).ok) return refused({ kind: 'patternMalformed' })
  if (attributes.includes('')) return refused({ kind: 'nameEmpty' })
  const scopes = checkRestriction(restriction)
  if (!scopes.ok) return scopes
  return granted({ selectors, attributes: attributes.includes('*') ? [] : attributes, scopes: scopes.value })
}

function checkSelector(draft: NonNullable<Drafts['entities']>[number]): Outcome<Selector, CheckRefusal> {
  const { id = '', type = '', isPattern = '' } = draft
  if (id === '') return refused({ kind: 'idEmpty' })
  const flag = parseIsPattern(isPattern)
  if (!flag.ok) return flag
  return granted({
    id: flag.value ? patternOf(id) : { kind: 'exact', id: id as EntityId },
    type: type === '' ? undefined : (type as EntityType),
  })
}

/** The pattern that clients write for every id asks for nothing, which is counted from an index. */
function patternOf(pattern: string): Selector['id'] {
  return pattern === '.*' ? { kind: 'any' } : { kind: 'pattern', pattern }
}

/** A restriction must restrict; its expression is of an old version and only has to be there [context 7.4]. */
function checkRestriction(restriction: Drafts['restriction']): Outcome<readonly Scope[], CheckRefusal> {
  if (restriction === undefined) return granted([])
  const { attributeExpression, scopes = [] } = restriction
  if (scopes.length === 0 && (attributeExpression ?? '') === '') return refused({ kind: 'restrictionEmpty' })
  if (attributeExpression === '') return refused({ kind: 'expressionEmpty' })
  const checked: Scope[] = []
  for (const { type = '', value } of scopes) {
    const scope = parseScope(type, value?.compound)
    if (!scope.ok) return scope
    if (scope.value) checked.push(scope.value)
  }
  return granted(checked)
}
