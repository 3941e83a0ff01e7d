import type { Scope, Selector } from '../../context/query.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import type { CheckRefusal, PayloadRefusal } from './payload-refusal.js'
import { checkScopes, isEmptyRestriction, type RestrictionDraft, restriction } from './restriction-payload.js'
import { parseScope } from './scope-payload.js'
import { atMost, checkSelectors, selectors } from './selectors-payload.js'
import { identifier, list, readBody, record } from './shape.js'

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
  const read = yield* readBody(body, queryShape, strictIds)
  if (!read.ok) return read
  const { entities, attributes = [], restriction } = read.value
  const meant = checkSelectors(entities)
  if (!meant.ok) return meant
  const few = atMost(maxAttributes, 'attributes', attributes)
  if (!few.ok) return few
  if (attributes.includes('')) return err({ kind: 'nameEmpty' })
  const scopes = restriction === undefined ? ok([]) : yield* checkRestriction(restriction)
  if (!scopes.ok) return scopes
  return ok({ selectors: meant.value, attributes: namesShown(attributes), scopes: scopes.value })
}

/** Names of the attributes to show, none for all, which `*` means, too [context 7.3]. */
export function namesShown(names: readonly string[]): readonly string[] {
  return names.includes('*') ? [] : names
}

/** A restriction must restrict; its expression only has to be there [context 7.4]. */
function* checkRestriction(restriction: RestrictionDraft): Steps<Result<readonly Scope[], CheckRefusal>> {
  if (isEmptyRestriction(restriction)) return err({ kind: 'restrictionEmpty' })
  if (restriction.attributeExpression === '') return err({ kind: 'expressionEmpty' })
  return yield* checkScopes(restriction, parseScope)
}
