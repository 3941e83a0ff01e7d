import type { EntityId, EntityType, ServicePath, Tenant } from '../context/entity.js'
import type { GivenAttribute, UpdateAction, UpdateElement, UpdateItem } from '../context/update.js'
import type { Broker, Unavailable } from '../coordinator/broker.js'
import type { StatusText } from '../exchange.js'
import { granted, type Outcome } from '../outcome.js'
import { checkElement } from './check-element.js'
import type { GivenElement } from './parse-update.js'
import { okStatus, statusOfRefusal } from './status.js'

/** An update as every operation of NGSIv1 that writes means it. */
export interface UpdateAsked {
  readonly tenant: Tenant
  readonly path: ServicePath
  readonly action: UpdateAction
  readonly elements: readonly GivenElement[]
  /** Whether an element without a type means only the entity without one [context 6.2]. */
  readonly untyped: boolean
  readonly autocast: boolean
}

/** What became of a context element, for one of the entities that it means. */
export interface ElementResponse {
  readonly id: EntityId
  readonly type: EntityType
  readonly isPattern: boolean
  readonly attributes: readonly GivenAttribute[]
  readonly status: StatusText
}

/**
 * Carries out an update: one response per element and entity in the order of the request, then those for attributes
 * that do not exist [context 6.2, 6.4]. Elements that can not be right are not sent to the broker [context 6.5].
 */
export async function carryOut(
  broker: Broker,
  asked: UpdateAsked,
): Promise<Outcome<readonly ElementResponse[], Unavailable>> {
  const refusals = asked.elements.map((element) => refusedResponse(element, asked))
  const sent = asked.elements.filter((_, at) => refusals[at] === undefined)
  const replies = sent.length === 0 ? granted([]) : await broker.update(sent.map((element) => toSend(element, asked)))
  if (!replies.ok) return replies
  const [inPlace, missing]: [ElementResponse[], ElementResponse[]] = [[], []]
  let answered = 0
  for (const [at, element] of asked.elements.entries()) {
    const refusal = refusals[at]
    if (refusal) {
      inPlace.push(refusal)
      continue
    }
    const reply = replies.value[answered]
    answered += 1
    if (reply === undefined) throw new Error('the broker has not answered every element of an update')
    for (const item of reply.items) inPlace.push(response(item, element, asked.action))
    for (const item of reply.missing) missing.push(response(item, element, asked.action))
  }
  return granted(missing.length === 0 ? inPlace : [...inPlace, ...missing])
}

function refusedResponse(element: GivenElement, { action, path }: UpdateAsked): ElementResponse | undefined {
  const refused = checkElement(element, action, path)
  if (refused === undefined) return undefined
  const status = statusOfRefusal(refused.refusal, { action, id: element.id, type: element.type })
  return { ...element, attributes: refused.shown, status }
}

function toSend(element: GivenElement, { tenant, path, action, untyped, autocast }: UpdateAsked): UpdateElement {
  const { id, type, attributes } = element
  // Every member is named: a spread would make a slow object of what every update sends.
  return {
    tenant,
    path,
    id,
    type: type !== '' || untyped ? type : undefined,
    action,
    attributes,
    autocast: autocast ? true : undefined,
  }
}

function response(item: UpdateItem, { attributes }: GivenElement, action: UpdateAction): ElementResponse {
  const { id, type, shown, refusal } = item
  return {
    id,
    type,
    isPattern: false,
    attributes: shown === undefined ? attributes : shown.flatMap((at) => attributes[at] ?? []),
    status: refusal === undefined ? okStatus : statusOfRefusal(refusal, { action, id, type }),
  }
}
