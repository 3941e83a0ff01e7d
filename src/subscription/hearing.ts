import { isListed } from '../context/entity.js'
import type { Change } from './change.js'
import { indexOf } from './change-index.js'
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
 * What an update did as a subscription sees it: to one that does not hear of metadata, an update that changes nothing else has changed
 * nothing [NGSIv2 subscriptions 4.2].
 */
export function alterationFor(change: Change, onMetadata: boolean): Alteration | undefined {
  const what = alterationOf(change)
  if (what !== 'entityChange' || countsMetadata(change, onMetadata)) return what
  return indexOf(change).moreThanMetadata.length > 0 ? what : 'entityUpdate'
}

/** The attributes that have changed for a subscription. */
function changedFor(change: Change, onMetadata: boolean): readonly string[] {
  const isUpdate = change.kind === 'put' && change.before !== undefined
  return !isUpdate || countsMetadata(change, onMetadata) ? change.changed : indexOf(change).moreThanMetadata
}

function countsMetadata({ isForced }: Change, onMetadata: boolean): boolean {
  return onMetadata || isForced
}

/** Whether the rules of NGSIv2 have a subscription hear of what an update did, before its expression is asked [NGSIv2 subscriptions 4.2, 4.3]. */
export function hears(onChange: readonly string[], condition: FiringCondition, change: Change): boolean {
  const listed = condition.alterations
  const { onMetadata } = condition
  const what = alterationFor(change, onMetadata)
  const hasChanged = () => triggers(onChange, () => changedFor(change, onMetadata))
  if (what === undefined) return false
  if (what === 'entityDelete') return listed.includes('entityDelete')
  if (what === 'entityCreate') return isHeard(listed, 'entityCreate') && hasChanged()
  if (listed.includes('entityUpdate')) return triggers(onChange, () => indexOf(change).given)
  return what === 'entityChange' && isHeard(listed, 'entityChange') && hasChanged()
}

/** Without a list, creations and changes count. */
function isHeard(listed: readonly Alteration[], what: 'entityCreate' | 'entityChange'): boolean {
  return listed.length === 0 || listed.includes(what)
}

function triggers(onChange: readonly string[], namesOf: () => readonly string[]): boolean {
  if (onChange.length === 0) return true
  const names = namesOf()
  return onChange.some((name) => isListed(name, names))
}
