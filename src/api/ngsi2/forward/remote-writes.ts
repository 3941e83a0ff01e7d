import type { ApiResponse } from '../../../broker/operations/api.js'
import { forwarderOf } from '../../../broker/providers/forwarder.js'
import { type ShareOutcome, updateAtProviders } from '../../../broker/providers/remote-update.js'
import type { Lacking, Share, Sharing } from '../../../broker/providers/update-plan.js'
import type { EntityType, ServicePath } from '../../../model/context/entity.js'
import type { GivenAttribute, UpdateAction, UpdateReply } from '../../../model/context/update.js'
import { entityUnknown, errorOf, unavailable } from '../errors.js'
import type { Ngsi2Call } from '../operation.js'
import type { EntityGiven } from '../parse/entities.js'
import type { WriteOutcome } from '../update-errors.js'

/** An entity of an update that was carried out here. */
export interface WrittenEntity {
  readonly entity: EntityGiven
  readonly outcome: WriteOutcome
  /** Undefined when the update was not sent to its partition. */
  readonly reply?: UpdateReply
}

/** An update that was carried out here. */
export interface WrittenHere {
  readonly path: ServicePath
  readonly action: UpdateAction
  readonly entities: readonly WrittenEntity[]
}

/**
 * Forwards those parts of an update of existing attributes that were not done because they are not held here. Gives the response
 * to the whole update, `success` when everything was done; undefined when no registration covers any of it [NGSIv2 subscriptions
 * 11.3].
 */
export async function writeAtProviders(
  call: Ngsi2Call,
  { action, path, entities }: WrittenHere,
  success: ApiResponse,
): Promise<ApiResponse | undefined> {
  if (action !== 'UPDATE' && action !== 'REPLACE') return undefined
  const gaps = entities.map(lackingOf)
  if (gaps.every(({ attributes }) => attributes.length === 0)) return undefined
  const forwarder = forwarderOf(call)
  if (forwarder === undefined) return undefined
  const somethingDone = entities.some(isDoneHere)
  const update = { tenant: call.tenant, path, api: 'ngsi2', lacking: gaps, somethingDone } as const
  const passed = await updateAtProviders(forwarder, update)
  if (passed === undefined) return undefined
  if (!passed.ok) return unavailable(passed.error)
  for (const { outcome } of entities) if (outcome.kind === 'refused') return outcome.response
  const { sharings, outcomes, headers } = passed.value
  const left = gaps.map((gap, at) => notUpdated(gap, sharings[at], outcomes))
  if (left.every((attributes) => attributes.length === 0)) return success
  const isSomethingDone =
    somethingDone || left.some((attributes, at) => attributes.length < (gaps[at]?.attributes.length ?? 0))
  return { ...(isSomethingDone ? partialUpdate(entities, left) : entityUnknown), headers }
}

/** The attributes of an entity that are not held here. */
function lackingOf({ entity: { id, type, attributes }, outcome, reply }: WrittenEntity): Lacking {
  const types = typesOf(type, reply?.items[0]?.type)
  if (outcome.kind === 'entityUnknown') return { id, types, attributes }
  if (outcome.kind !== 'missing') return { id, types, attributes: [] }
  const missing = new Set(outcome.names)
  return { id, types, attributes: attributes.filter(({ name }) => missing.has(name)) }
}

/**
 * Without a type in the request an entity is found only where it is registered without one; one that is held here has a type all the same
 * [NGSIv2 context 2.1, subscriptions 11.1].
 */
function typesOf(given: EntityType | undefined, found: EntityType | undefined): readonly EntityType[] {
  if (given !== undefined) return [given]
  const none = '' as EntityType
  return found === undefined || found === none ? [none] : [found, none]
}

function isDoneHere({ outcome }: WrittenEntity): boolean {
  return outcome.kind === 'done' || ('isPartial' in outcome && outcome.isPartial)
}

/** The attributes that neither this broker nor a provider has updated, in the order of the request. */
function notUpdated(
  { attributes }: Lacking,
  sharing: Sharing | undefined,
  outcomes: ReadonlyMap<Share, readonly ShareOutcome[]>,
): readonly GivenAttribute[] {
  const done = new Set<string>()
  for (const share of sharing?.shares ?? []) {
    for (const { result, attributes } of outcomes.get(share) ?? []) {
      if (result.kind !== 'answered' || result.status.code !== '200') continue
      for (const { name } of attributes) done.add(name)
    }
  }
  return attributes.filter(({ name }) => !done.has(name))
}

/** For a forwarded update this error has another status and text [NGSIv2 context 1.2]. */
function partialUpdate(entities: readonly WrittenEntity[], left: readonly (readonly GivenAttribute[])[]): ApiResponse {
  const parts = entities.flatMap(({ entity: { id, type }, reply }, at) => {
    const found = reply?.items[0]?.type ?? ''
    const names = (left[at] ?? []).map(({ name }) => name)
    return names.length === 0 ? [] : [`${id}-${type ?? found} : [${names.join(', ')}]`]
  })
  const description = `Some of the following attributes were not updated: { ${parts.join(', ')} }`
  return { ...errorOf('PartialUpdate', description), status: 404 }
}
