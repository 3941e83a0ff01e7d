import type { Unavailable } from '../../../broker/front-end/broker.js'
import type { ShownEntity } from '../../../broker/providers/query-plan.js'
import { readAtProviders } from '../../../broker/providers/remote-read.js'
import { compareAttributes } from '../../../model/context/entity.js'
import type { Page, Query } from '../../../model/context/query.js'
import { ok, type Result } from '../../../result.js'
import { mapInSlices } from '../../../slices.js'
import type { Ngsi2Call } from '../operation.js'
import { optionsOf } from '../parameters.js'
import { builtinAttribute, type NamesShown } from '../render/entity-text.js'

interface FoundEverywhere {
  /** Read one by one where no provider is asked. */
  readonly entities: Iterable<ShownEntity>
  /** The number of results, here and at the providers that were asked, if the request asks for it. */
  readonly count: number | undefined
}

/**
 * The page of a query, completed by providers, unless the request asks only for what is held here [NGSIv2 subscriptions 11.2].
 * `shown` are the attributes that results show.
 */
export async function foundEverywhere(
  call: Ngsi2Call,
  query: Query,
  page: Page,
  shown: NamesShown,
): Promise<Result<FoundEverywhere, Unavailable>> {
  const names = requestedNames(shown)
  if (names === undefined || query.limit === 0 || optionsOf(call.request.parameters).has('skipForwarding'))
    return ok(page)
  const reading = readAtProviders(call, { form: 'ngsi2', query, page, names })
  if (reading === undefined) return ok(page)
  const read = await reading
  if (!read.ok) return read
  const { entities, count } = read.value
  return ok({
    entities: await mapInSlices(entities, inOrder),
    count: query.counted && page.count !== undefined ? page.count + count : undefined,
  })
}

/** Whether a tenant has no registrations, so that this broker has all of its data. */
export function isAllHeldHere({ services: { forwarding, broker }, tenant }: Ngsi2Call): boolean {
  return forwarding === undefined || broker.registry.index.isEmpty(tenant)
}

/**
 * The names to ask providers for, empty for all; undefined when only builtin attributes are shown, which providers do not have.
 */
function requestedNames(shown: NamesShown): readonly string[] | undefined {
  if (shown.includes('*')) return []
  const names = shown.filter((name) => builtinAttribute(name) === undefined)
  return names.length === 0 && shown.length > 0 ? undefined : names
}

/** Attributes are in ascending order of names, wherever they are from. */
function inOrder(entity: ShownEntity): ShownEntity {
  return { ...entity, attributes: entity.attributes.toSorted(compareAttributes) }
}
