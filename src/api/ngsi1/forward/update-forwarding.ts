import type { Unavailable } from '../../../broker/front-end/broker.js'
import type { StatusText } from '../../../broker/operations/api.js'
import { forwarderOf } from '../../../broker/providers/forwarder.js'
import type { ResponseEntity } from '../../../broker/providers/provider-format.js'
import type { ProviderFailure } from '../../../broker/providers/provider-request.js'
import { entityKey } from '../../../broker/providers/query-plan.js'
import {
  type ForwardedUpdate,
  type ShareOutcome,
  type ShareResult,
  updateAtProviders,
} from '../../../broker/providers/remote-update.js'
import type { Lacking, Share, Sharing } from '../../../broker/providers/update-plan.js'
import type { EntityId, EntityType } from '../../../model/context/entity.js'
import type { GivenAttribute, UpdateItem } from '../../../model/context/update.js'
import { err, ok, type Result } from '../../../result.js'
import { mapInSlices } from '../../../slices.js'
import {
  attributesOf,
  type ElementResponse,
  type ElementResult,
  responseOf,
  type UpdateRequest,
} from '../element-results.js'
import type { Ngsi1Call } from '../operation.js'
import type { GivenElement } from '../parse/update-payload.js'
import { isOk, okStatus, statusOf } from '../render/status.js'
import { invalidResponse } from './query-forwarding.js'

/** Nothing of an update could be done, neither here nor at a provider: the one status of the whole. */
export interface NothingDone {
  readonly kind: 'nothingDone'
  readonly status: StatusText
  readonly headers: Readonly<Record<string, string>>
}

/** An update that was carried out, here or at providers. */
export interface CarriedOut {
  readonly responses: readonly ElementResponse[]
  /** Headers of the response; absent where nothing was passed on. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Forwards what an update has left undone here, and joins the outcomes; undefined when no registration covers any of it
 * [subscriptions 8.3].
 */
export async function fillGaps(
  call: Ngsi1Call,
  update: UpdateRequest,
  results: readonly ElementResult[],
): Promise<Result<CarriedOut, Unavailable | NothingDone> | undefined> {
  const forwarder = forwarderOf(call)
  if (forwarder === undefined) return undefined
  const gaps = await gapsOf(update, results)
  const somethingDone = results.some(mayBeDone)
  const forwarded = await updateAtProviders(forwarder, { ...update, api: 'ngsi1', lacking: gaps, somethingDone })
  if (!forwarded?.ok) return forwarded
  const { sharings, passed, outcomes, headers } = forwarded.value
  const failure = somethingDone ? undefined : onlyFailure(passed)
  if (failure) return err({ kind: 'nothingDone', status: statusOfFailure(failure), headers })
  const responses = joined(update, results, sharedGaps(gaps, sharings), outcomes)
  return responses.length === 0
    ? err({ kind: 'nothingDone', status: statusOf(404), headers })
    : ok({ responses, headers })
}

/** Whether something of an element was done here, or has failed in a way that its own response reports. */
function mayBeDone(result: ElementResult): boolean {
  if (result === undefined || !('items' in result)) return false
  return result.items.some(({ refusal }) => refusal === undefined || refusal.kind === 'unavailable')
}

function onlyFailure([first, ...others]: readonly ForwardedUpdate[]): ProviderFailure | undefined {
  return first === undefined || others.length > 0 || first.response.ok ? undefined : first.response.error
}

/** The part of an update of an entity that was not done because it is not held here. */
interface Gap extends Lacking {
  readonly item: UpdateItem
  /** What was done here; undefined for nothing. */
  readonly done: readonly GivenAttribute[] | undefined
}

/** The gaps of an update that was carried out here. */
async function gapsOf(
  { elements, untyped }: UpdateRequest,
  results: readonly ElementResult[],
): Promise<readonly Gap[]> {
  const gaps = await mapInSlices(elements, (element, at) => {
    const result = results[at]
    if (result === undefined || 'status' in result) return []
    const missing = byEntity(result.missing)
    return result.items.flatMap((item) => gapOf(element, untyped, missing, item) ?? [])
  })
  return gaps.flat()
}

function gapOf(
  element: GivenElement,
  untyped: boolean,
  missing: ReadonlyMap<string, readonly UpdateItem[]>,
  item: UpdateItem,
): Gap | undefined {
  const lack = item.refusal === undefined ? missing.get(entityKey(item))?.[0] : item
  const kind = lack?.refusal?.kind
  if (lack === undefined) return undefined
  if (kind !== 'attributesMissing' && kind !== 'attributeUnknown' && kind !== 'entityUnknown') return undefined
  return {
    id: item.id,
    types: typesOf(element, untyped, item),
    attributes: attributesOf(lack, element),
    item,
    done: item.refusal === undefined ? attributesOf(item, element) : undefined,
  }
}

/** Items by the key of their entity, see `entityKey`. */
function byEntity(items: readonly UpdateItem[]): ReadonlyMap<string, readonly UpdateItem[]> {
  const groups = new Map<string, UpdateItem[]>()
  for (const item of items) {
    const key = entityKey(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** Registrations without type are meant only by requests without one [subscriptions 8.1]. */
function typesOf({ type: given }: GivenElement, untyped: boolean, { type: found }: UpdateItem): readonly EntityType[] {
  return given !== '' || untyped || found === '' ? [found] : [found, '' as EntityType]
}

/** A gap that providers fill at least in part, and how it is shared out. */
interface Shared {
  readonly gap: Gap
  readonly sharing: Sharing
}

/** The gaps that providers are asked to fill, by the item of the local update that left them. */
function sharedGaps(gaps: readonly Gap[], sharings: readonly Sharing[]): ReadonlyMap<UpdateItem, Shared> {
  const shared = new Map<UpdateItem, Shared>()
  for (const [at, gap] of gaps.entries()) {
    const sharing = sharings[at]
    if (sharing && sharing.shares.length > 0) shared.set(gap.item, { gap, sharing })
  }
  return shared
}

/**
 * The responses to all elements: as without providers, except for the entities that providers were asked about. All elements of
 * the request about one of those are gathered at the place of the first [subscriptions 8.3].
 */
function joined(
  { elements, action }: UpdateRequest,
  results: readonly ElementResult[],
  shared: ReadonlyMap<UpdateItem, Shared>,
  outcomes: ReadonlyMap<Share, readonly ShareOutcome[]>,
): readonly ElementResponse[] {
  const [inPlace, atEnd]: [Placed[], Placed[]] = [[], []]
  const together = new Map([...shared.keys()].map((item) => [entityKey(item), new Groups(item)]))
  const placed = new Set<Groups>()
  for (const [at, element] of elements.entries()) {
    const result = results[at]
    if (result === undefined) throw new Error('the broker has not answered every element of an update')
    if ('status' in result) {
      inPlace.push(result)
      continue
    }
    const missing = byEntity(result.missing)
    for (const item of result.items) {
      const here = responseOf(item, element, action)
      const lacks = (missing.get(entityKey(item)) ?? []).map((lack) => responseOf(lack, element, action))
      const groups = together.get(entityKey(item))
      if (groups === undefined) {
        inPlace.push(here)
        atEnd.push(...lacks)
        continue
      }
      const there = shared.get(item)
      if (there === undefined) groups.addLocal(item, here, lacks)
      else groups.addShared(there, outcomes)
      if (placed.has(groups)) continue
      placed.add(groups)
      inPlace.push(groups)
      atEnd.push(groups)
    }
  }
  const responsesOf = (one: Placed, which: 'inPlace' | 'atEnd') => (one instanceof Groups ? one[which] : [one])
  return [
    ...inPlace.flatMap((one) => responsesOf(one, 'inPlace')),
    ...atEnd.flatMap((one) => responsesOf(one, 'atEnd')),
  ]
}

/** A response, or the place of those about an entity that are still being gathered. */
type Placed = ElementResponse | Groups

function headOf({ id, type, isPattern = false }: ResponseEntity): Pick<ElementResponse, 'id' | 'type' | 'isPattern'> {
  return { id, type, isPattern }
}

interface UpdateOutcome {
  readonly status: StatusText
  readonly attributes: readonly GivenAttribute[]
  /** The entity as a provider has named it; absent if none has. */
  readonly entity?: ResponseEntity | undefined
}

/** The attributes of one entity by status, success first: one response for each status. */
class Groups {
  readonly #head: Pick<ElementResponse, 'id' | 'type' | 'isPattern'>
  readonly #done: UpdateOutcome[] = []
  readonly #forwarded: UpdateOutcome[] = []
  readonly #unfound: UpdateOutcome[] = []

  constructor({ id, type }: UpdateItem) {
    this.#head = { id, type, isPattern: false }
  }

  /** Adds an element without forwarded attributes. */
  addLocal({ refusal }: UpdateItem, here: ElementResponse, lacks: readonly ElementResponse[]): void {
    if (refusal === undefined) this.#done.push(here)
    else if (refusal.kind !== 'attributeUnknown') this.#unfound.push(here)
    else this.#unfound.push({ status: statusOf(404, here.id), attributes: here.attributes })
    this.#unfound.push(...lacks)
  }

  /** Adds an element with forwarded attributes. */
  addShared({ gap, sharing }: Shared, outcomes: ReadonlyMap<Share, readonly ShareOutcome[]>): void {
    this.#done.push({ status: okStatus, attributes: gap.done ?? [] })
    for (const share of sharing.shares) {
      for (const { result, attributes, entity } of outcomes.get(share) ?? []) {
        this.#forwarded.push({ status: statusOfResult(result, share.id), attributes, entity })
      }
    }
    this.#unfound.push({ status: statusOf(404, gap.id), attributes: sharing.unfound })
  }

  get inPlace(): readonly ElementResponse[] {
    const all = this.#responses
    return all.length === 1 ? all : all.filter(({ status }) => !this.#isMissing(status))
  }

  /** Missing attributes follow all elements, unless there is nothing else to report of the entity [context 6.4]. */
  get atEnd(): readonly ElementResponse[] {
    const all = this.#responses
    return all.length === 1 ? [] : all.filter(({ status }) => this.#isMissing(status))
  }

  get #responses(): readonly ElementResponse[] {
    const groups = new Map<string, ElementResponse & { readonly attributes: GivenAttribute[] }>()
    const outcomes = [...this.#done, ...this.#forwarded, ...this.#unfound].filter(
      ({ attributes }) => attributes.length > 0,
    )
    const [done, others] = [
      outcomes.filter(({ status }) => isOk(status)),
      outcomes.filter(({ status }) => !isOk(status)),
    ]
    for (const { status, attributes, entity } of [...done, ...others]) {
      const head = entity === undefined ? this.#head : headOf(entity)
      const key = JSON.stringify([status.code, status.details, head.id, head.type, head.isPattern])
      const group = groups.get(key) ?? { ...head, status, attributes: [] }
      groups.set(key, group)
      for (const attribute of attributes) group.attributes.push(attribute)
    }
    return [...groups.values()]
  }

  #isMissing({ code, details }: StatusText): boolean {
    return code === '404' && details === this.#head.id
  }
}

/** The status of attributes that a provider was asked to update [subscriptions 8.3]. */
function statusOfResult(result: ShareResult, id: EntityId): StatusText {
  switch (result.kind) {
    case 'answered':
      return result.status
    case 'notFound':
      return statusOf(404, id)
    case 'failed':
      return statusOfFailure(result.failure)
  }
}

/** The status of a failed request to a provider [subscriptions 8.3]. */
function statusOfFailure({ kind }: ProviderFailure): StatusText {
  switch (kind) {
    case 'unreachable':
    case 'responseRefusing':
      return statusOf(404, 'error forwarding update')
    case 'responseEmpty':
      return statusOf(404, invalidResponse)
    case 'responseUnreadable':
      return statusOf(404)
  }
}
