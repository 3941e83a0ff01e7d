import type { ApiResponse } from '../../../broker/operations/api.js'
import {
  excessiveLimit,
  freeValues,
  isDecimal,
  pageGiven,
  wrongOffset,
  wrongOptions,
} from '../../../broker/operations/parameters.js'
import { type EntityType, hasForbidden } from '../../../model/context/entity.js'
import { maxOrderKeys, type OrderKey, parseOrder } from '../../../model/context/order.js'
import type { Scope } from '../../../model/context/query.js'
import { badRequest } from '../render/status.js'

type Parameters = ReadonlyMap<string, string>

/** Checks the URI parameters that have rules, on every path of NGSIv1, known or not [context 1.5, 10.2]. */
export function checkParameters(parameters: Parameters): ApiResponse | undefined {
  if (hasForbiddenParameter(parameters)) return badRequest('invalid character in URI parameter')
  const wrong =
    wrongLimit(givenParameter(parameters, 'limit')) ??
    wrongOffset(parameters.get('offset')) ??
    wrongDetails(givenParameter(parameters, 'details')) ??
    wrongOptions(parameters.get('options')) ?? // They have no effect here, but have to be words of NGSIv2 [context 1.6].
    wrongOrder(givenParameter(parameters, 'orderBy'))
  return wrong === undefined ? undefined : badRequest(wrong)
}

/** Whether a name or value holds a character that URI parameters must not have [context 10.2]. */
function hasForbiddenParameter(parameters: Parameters): boolean {
  for (const [name, value] of parameters) {
    if (hasForbidden(name) || (!freeValues.has(name) && hasForbidden(value))) return true
  }
  return false
}

/** A parameter's value; an empty one counts as absent [context 1.6]. */
function givenParameter(parameters: Parameters, name: string): string | undefined {
  return parameters.get(name) || undefined
}

/** The requested page, from checked parameters [context 7.6]. */
export interface RequestedPage {
  readonly offset: number
  readonly limit: number
  readonly counted: boolean
}

export function requestedPage(parameters: Parameters): RequestedPage {
  return { ...pageGiven(parameters), counted: givenParameter(parameters, 'details')?.toLowerCase() === 'on' }
}

/** The requested order, empty for that of creation [context 7.7]. */
export function requestedOrder(parameters: Parameters): readonly OrderKey[] {
  const order = givenParameter(parameters, 'orderBy')
  return order === undefined ? [] : parseOrder(order)
}

/** The type in `entity::type` [context 8.1]. */
export function requestedType(parameters: Parameters): EntityType | undefined {
  return givenParameter(parameters, 'entity::type') as EntityType | undefined
}

/** The conditions of `exist` and `!exist` on the type [context 8.1]. */
export function requestedExistence(parameters: Parameters): readonly Scope[] {
  const scopes: Scope[] = []
  if (givenParameter(parameters, 'exist') === 'entity::type') scopes.push({ kind: 'typed' })
  if (requestsUntyped(parameters)) scopes.push({ kind: 'untyped' })
  return scopes
}

/** Whether only entities without a type are meant [context 6.2, 8.1]. */
export function requestsUntyped(parameters: Parameters): boolean {
  return givenParameter(parameters, '!exist') === 'entity::type'
}

/** Whether attributes are answered as an object, keyed by name [context 7.8]. */
export function requestsObject(parameters: Parameters): boolean {
  return (
    givenParameter(parameters, 'attributesFormat') === 'object' ||
    givenParameter(parameters, 'attributeFormat') === 'object'
  )
}

/** Whether types are answered without their attributes [context 9]. */
export function requestsCollapsed(parameters: Parameters): boolean {
  return givenParameter(parameters, 'collapse') === 'true'
}

function wrongLimit(limit: string | undefined): string | undefined {
  if (limit === undefined) return undefined
  if (!isDecimal(limit)) return `Bad pagination limit: /${limit}/ [must be a decimal number]`
  if (Number(limit) === 0) return `Bad pagination limit: /${limit}/ [a value of ZERO is unacceptable]`
  return excessiveLimit(limit)
}

function wrongDetails(details: string | undefined): string | undefined {
  if (details === undefined || /^(?:on|off)$/i.test(details)) return undefined
  return `Bad value for /details/: /${details}/ [accepted: /on/, /ON/, /off/, /OFF/. Default is /off/]`
}

function wrongOrder(order: string | undefined): string | undefined {
  const keys = order?.split(',', maxOrderKeys + 1).length ?? 0
  return keys > maxOrderKeys ? `Bad value for /orderBy/: too many names [max: ${maxOrderKeys}]` : undefined
}
