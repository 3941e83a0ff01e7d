import type { Broker, Unavailable } from '../../broker/front-end/broker.js'
import type { Client, StatusText } from '../../broker/operations/api.js'
import type { EntityId, EntityType, ServicePath, Tenant } from '../../model/context/entity.js'
import type {
  GivenAttribute,
  Origin,
  UpdateAction,
  UpdateElement,
  UpdateItem,
  UpdateReply,
} from '../../model/context/update.js'
import { ok, type Result } from '../../result.js'
import { mapInSlices } from '../../slices.js'
import { checkElement } from './parse/check-element.js'
import type { GivenElement } from './parse/update-payload.js'
import { okStatus, statusOf, statusOfRefusal } from './render/status.js'

/** The update that every writing operation of NGSIv1 is translated into. */
export interface UpdateRequest extends UpdateFlags {
  readonly tenant: Tenant
  readonly path: ServicePath
  readonly action: UpdateAction
  readonly elements: readonly GivenElement[]
  readonly origin: Origin
}

/** The parameters of an update beside its payload. */
export interface UpdateFlags {
  /** Whether an element means only the entity without a type [context 6.2]. */
  readonly untyped: boolean
  readonly autocast: boolean
}

/** The outcome of a context element for one of its entities. */
export interface ElementResponse {
  readonly id: EntityId
  readonly type: EntityType
  readonly isPattern: boolean
  readonly attributes: readonly GivenAttribute[]
  readonly status: StatusText
}

/**
 * Carries out an update here; gives the outcome of each element, in order. Elements that are wrong whatever is stored are not
 * sent to the broker [context 6.2, 6.5].
 */
export async function resultsOf(
  broker: Broker,
  update: UpdateRequest,
  client: Client,
): Promise<Result<readonly ElementResult[], Unavailable>> {
  const checked = mapInSlices(update.elements, (element) => responseOfRefused(element, update))
  const refusals = checked instanceof Promise ? await checked : checked
  const meant = update.elements.filter((_, at) => refusals[at] === undefined)
  const mapped = mapInSlices(meant, (element) => toSend(element, update))
  const sent = mapped instanceof Promise ? await mapped : mapped
  const replies = sent.length === 0 ? ok([]) : await broker.update(sent, client)
  if (!replies.ok) return replies
  const left = replies.value.values()
  return ok(refusals.map((refusal) => refusal ?? left.next().value))
}

/** The outcome of an element: refused before it was sent, or the broker's reply. */
export type ElementResult = ElementResponse | UpdateReply | undefined

/** The responses to one element. */
export interface ElementResponses {
  /** One per entity, at the position of the element. */
  readonly inPlace: readonly ElementResponse[]
  /** For what is missing, which follows the responses to all elements [context 6.4]. */
  readonly missing: readonly ElementResponse[]
}

export function responsesTo(
  element: GivenElement,
  { items, missing }: UpdateReply,
  action: UpdateAction,
): ElementResponses {
  const respond = (item: UpdateItem) => responseOf(item, element, action)
  return { inPlace: items.map(respond), missing: missing.map(respond) }
}

/**
 * The responses to elements: one per entity in the order of the request, then those for missing ones. In slices where there are
 * many.
 */
export async function manyResponsesOf(
  elements: readonly GivenElement[],
  results: readonly ElementResult[],
  action: UpdateAction,
): Promise<readonly ElementResponse[]> {
  const responses = new Responses(action)
  await mapInSlices(elements, (element, at) => responses.add(element, results[at]))
  return responses.all
}

class Responses {
  readonly #action: UpdateAction
  readonly #inPlace: ElementResponse[] = []
  readonly #missing: ElementResponse[] = []

  constructor(action: UpdateAction) {
    this.#action = action
  }

  add(element: GivenElement, result: ElementResult): void {
    if (result === undefined) throw new Error('the broker has not answered every element of an update')
    if ('status' in result) this.#inPlace.push(result)
    else {
      const { inPlace, missing } = responsesTo(element, result, this.#action)
      for (const response of inPlace) this.#inPlace.push(response)
      for (const response of missing) this.#missing.push(response)
    }
  }

  get all(): readonly ElementResponse[] {
    return this.#missing.length === 0 ? this.#inPlace : [...this.#inPlace, ...this.#missing]
  }
}

/**
 * The response to an element that is refused whatever is stored; undefined for other elements [context 6.2, 6.5 rows 1 to 5].
 */
export function responseOfRefused(
  element: GivenElement,
  { action, path, untyped }: Pick<UpdateRequest, 'action' | 'path' | 'untyped'>,
): ElementResponse | undefined {
  const { id, type } = element
  const found = checkElement(element, action, path)
  if (found !== undefined) {
    return { ...element, attributes: found.shown, status: statusOfRefusal(found.refusal, { action, id, type }) }
  }
  if (!untyped || type === '' || creating.has(action)) return undefined
  // Only an entity without a type is meant, and the element names one.
  return { ...element, status: statusOf(404, id) }
}

/** The actions that create the entity of the type given where none is meant [context 6.2]. */
const creating: ReadonlySet<UpdateAction> = new Set(['APPEND', 'APPEND_STRICT'])

export function toSend(
  element: GivenElement,
  { tenant, path, action, untyped, autocast, origin }: Omit<UpdateRequest, 'elements'>,
): UpdateElement {
  const { id, type, attributes } = element
  // All members are written out: a spread would be slow, and every update passes here.
  return {
    tenant,
    path,
    id,
    type: type !== '' || untyped ? type : undefined,
    action,
    attributes,
    autocast: autocast ? true : undefined,
    origin,
  }
}

export function responseOf(item: UpdateItem, element: GivenElement, action: UpdateAction): ElementResponse {
  const { id, type, refusal } = item
  return {
    id,
    type,
    isPattern: false,
    attributes: attributesOf(item, element),
    status: refusal === undefined ? okStatus : statusOfRefusal(refusal, { action, id, type }),
  }
}

/** The attributes of an element that an item is about. */
export function attributesOf({ shown }: UpdateItem, { attributes }: GivenElement): readonly GivenAttribute[] {
  return shown === undefined ? attributes : shown.flatMap((at) => attributes[at] ?? [])
}
