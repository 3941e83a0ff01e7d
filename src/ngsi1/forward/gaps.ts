import type { EntityType } from '../../context/entity.js'
import type { GivenAttribute, UpdateItem } from '../../context/update.js'
import { entityKey } from '../../providers/query-plan.js'
import type { Lacking } from '../../providers/update-plan.js'
import { mapInSlices } from '../../slices.js'
import { attributesOf, type ElementResult, type UpdateRequest } from '../carry-out.js'
import type { GivenElement } from '../parse/update-payload.js'

/** What an update left undone of an entity because it is not held here. */
export interface Gap extends Lacking {
  readonly item: UpdateItem
  /** What was done here; nothing when that was nothing. */
  readonly done: readonly GivenAttribute[] | undefined
}

/** Everything that is not held here of an update that was carried out here. */
export async function gapsOf(
  { elements, untyped }: UpdateRequest,
  fates: readonly ElementResult[],
): Promise<readonly Gap[]> {
  const gaps = await mapInSlices(elements, (element, at) => {
    const fate = fates[at]
    if (fate === undefined || 'status' in fate) return []
    const missing = byEntity(fate.missing)
    return fate.items.flatMap((item) => gapOf(element, untyped, missing, item) ?? [])
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

/** Items by the entity that they are about, as `entityKey` names it. */
export function byEntity(items: readonly UpdateItem[]): ReadonlyMap<string, readonly UpdateItem[]> {
  const groups = new Map<string, UpdateItem[]>()
  for (const item of items) {
    const key = entityKey(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** What is registered without a type is meant only by requests without one [subscriptions 8.1]. */
function typesOf({ type: asked }: GivenElement, untyped: boolean, { type: found }: UpdateItem): readonly EntityType[] {
  return asked !== '' || untyped || found === '' ? [found] : [found, '' as EntityType]
}
