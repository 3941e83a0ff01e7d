import type { Attribute, Entity } from '../context/entity.js'
import { isOperation } from '../context/operators.js'
import { sameValue } from '../context/value.js'
import type { Change } from './change.js'
import type { Subscription } from './subscription.js'
import type { Alteration, FiringCondition } from './terms.js'

/** What an update did to its entity; nothing when it counts as none of these [NGSIv2 subscriptions 4.2, 4.3]. */
function alterationOf(change: Change): Alteration | undefined {
  switch (change.kind) {
    case 'remove':
      return 'entityDelete'
    case 'same':
      return change.given.length === 0 ? undefined : 'entityUpdate'
    case 'put':
      if (change.changed.length > 0) return change.before === undefined ? 'entityCreate' : 'entityChange'
      return change.before === undefined || change.given.length === 0 ? undefined : 'entityUpdate'
  }
}

/** Whether a subscription has to look at updates that a list of changed attributes does not tell of. */
export function hearsMoreThanChanges({ terms }: Subscription): boolean {
  return terms?.condition?.alterations.some((each) => each === 'entityUpdate' || each === 'entityDelete') ?? false
}

/**
 * What an update did as a subscription sees it, with the attributes that have changed for it: to one that does not hear of metadata,
 * an update that changes nothing else has changed nothing [NGSIv2 subscriptions 4.2].
 */
export function alterationFor(
  change: Change,
  onMetadata: boolean,
): { readonly what: Alteration | undefined; readonly changed: readonly string[] } {
  const what = alterationOf(change)
  if (what !== 'entityChange' || onMetadata || change.isForced) return { what, changed: change.changed }
  const changed = change.changed.filter((name) => isMoreThanMetadata(name, change))
  return { what: changed.length > 0 ? what : 'entityUpdate', changed }
}

/** Whether the rules of NGSIv2 have a subscription hear of what an update did, before its expression is asked [NGSIv2 subscriptions 4.2, 4.3]. */
export function hears(onChange: readonly string[], condition: FiringCondition, change: Change): boolean {
  const listed = condition.alterations
  const { what, changed } = alterationFor(change, condition.onMetadata)
  if (what === undefined) return false
  if (what === 'entityDelete') return listed.includes('entityDelete')
  if (what === 'entityCreate') return isListed(listed, 'entityCreate') && triggers(onChange, changed)
  if (listed.includes('entityUpdate')) return triggers(onChange, namesGiven(change))
  return what === 'entityChange' && isListed(listed, 'entityChange') && triggers(onChange, changed)
}

/** Without a list, creations and changes count. */
function isListed(listed: readonly Alteration[], what: 'entityCreate' | 'entityChange'): boolean {
  return listed.length === 0 || listed.includes(what)
}

function triggers(onChange: readonly string[], names: readonly string[]): boolean {
  return onChange.length === 0 || onChange.some((name) => names.includes(name))
}

/** The names of the attributes that the request contained. */
export function namesGiven({ given }: Change): readonly string[] {
  return given.map(({ name }) => name)
}

/** Whether something else of an attribute has changed than its metadata. */
function isMoreThanMetadata(name: string, { before, entity, given }: Change): boolean {
  if (given.some((one) => one.name === name && one.value !== undefined && isOperation(one.value))) return true
  const [was, is] = [attributeOf(before, name), attributeOf(entity, name)]
  if (was === undefined || is === undefined || was.type !== is.type || !sameValue(was.value, is.value)) return true
  return sameValue(metadataValues(was), metadataValues(is))
}

function attributeOf(entity: Entity | undefined, name: string): Attribute | undefined {
  return entity?.attributes.find((attribute) => attribute.name === name)
}

function metadataValues({ metadata }: Attribute) {
  return metadata.map(({ name, type, value }) => [name, type, value])
}
