import type { Scope } from '../../context/query.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import type { CheckRefusal } from './payload-refusal.js'
import type { ScopeParser } from './scope-payload.js'
import { atMost } from './selectors-payload.js'
import { anything, list, type ReadBy, record, text } from './shape.js'

/** What restricts a query or a subscription. */
export const restriction = record({
  attributeExpression: text,
  scopes: list('scope', record({ type: text, value: anything })),
})

export type RestrictionDraft = ReadBy<typeof restriction>

/** Whether nothing is in a restriction that has to restrict; its expression is of an old version and ignored. */
export function isEmptyRestriction({ attributeExpression = '', scopes = [] }: RestrictionDraft): boolean {
  return scopes.length === 0 && attributeExpression === ''
}

const maxScopes = 100

/** The scopes of a restriction that mean something [context 7.4], [subscriptions 2.1.2]. */
export function* checkScopes(
  { scopes = [] }: RestrictionDraft,
  parse: ScopeParser,
): Steps<Result<readonly Scope[], CheckRefusal>> {
  const few = atMost(maxScopes, 'scopes', scopes)
  if (!few.ok) return few
  const checked: Scope[] = []
  for (const { type = '', value } of scopes) {
    if (type === '') return err({ kind: 'scopeTypeEmpty' })
    if (value === undefined || value.compound === '') return err({ kind: 'scopeValueEmpty' })
    const scope = parse(type, value.compound)
    if (!scope.ok) return scope
    if (scope.value) checked.push(scope.value)
    yield
  }
  return ok(checked)
}
