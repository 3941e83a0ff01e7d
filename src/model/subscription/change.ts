import type { LineContext } from '../../observe/log/log.js'
import type { EntityEffect } from '../context/apply.js'
import { type Attribute, type Entity, isListed, type ServicePath, type Tenant, type Value } from '../context/entity.js'
import { isSameValue, metadataHeld, valueHeld } from '../context/large/large-attribute.js'
import { operatorGiven } from '../context/operators.js'
import type { GivenAttribute, UpdateCommand } from '../context/update.js'
import { sameValue } from '../context/value.js'
import type { Subscription } from './subscription.js'
import type { Alteration, FiringCondition } from './terms.js'

/** The effect of an update on one entity. */
export interface Change {
  /** Created or changed, removed, or left as it was. */
  readonly kind: 'put' | 'remove' | 'same'
  readonly tenant: Tenant
  /** Undefined when the entity was created. */
  readonly before: Entity | undefined
  /** The entity after the update; a removed entity as it was before. */
  readonly entity: Entity
  /** Names of the attributes that count as changed [subscriptions 3.3]. */
  readonly changed: readonly string[]
  /** The attributes of the request. */
  readonly given: readonly Pick<GivenAttribute, 'name' | 'value'>[]
  /** Whether all given attributes count as changed, equal or not [NGSIv2 subscriptions 4.2]. */
  readonly isForced: boolean
}

/** The request and the time of an update. */
export type Cause = Pick<UpdateCommand, 'origin' | 'time'>

/** The effect of a command on one entity, as subscriptions see it. */
export function changeBy({ tenant, attributes: given, action, terms }: UpdateCommand, effect: EntityEffect): Change {
  const { kind, entity } = effect
  const isForced = action === 'REPLACE' || terms?.forced === true
  if (kind === 'put') return { kind, tenant, entity, before: effect.before, changed: effect.changed, given, isForced }
  return { kind, tenant, entity, before: entity, changed: none, given, isForced }
}

/** The effect of a command that left an existing entity as it was. */
export function untouchedBy({ tenant, attributes: given }: UpdateCommand, entity: Entity): Change {
  return { kind: 'same', tenant, entity, before: entity, changed: none, given, isForced: false }
}

/** The present state of an entity that no command has touched. */
export function stateOf(tenant: Tenant, entity: Entity): Change {
  return { kind: 'same', tenant, entity, before: entity, changed: none, given: [], isForced: false }
}

/** The context of a log line about an update: its tenant, path and correlator [management 10.3]. */
export function causeContext(tenant: Tenant, path: ServicePath, { correlator }: Cause['origin']): LineContext {
  const srv = tenant === '' ? '<none>' : tenant
  return { corr: correlator, trans: 'N/A', from: 'N/A', srv, subsrv: path }
}

const none: readonly string[] = []

/**
 * Answers the questions of subscriptions about a change, each once for all of them: an entity may have thousands of attributes,
 * and very many subscriptions.
 */
class ChangeIndex {
  readonly #change: Change
  readonly #isSmall: boolean
  #before: ReadonlyMap<string, Attribute> | undefined
  #after: ReadonlyMap<string, Attribute> | undefined
  #given: readonly string[] | undefined
  #moreThanMetadata: readonly string[] | undefined

  constructor(change: Change, isSmall: boolean) {
    this.#change = change
    this.#isSmall = isSmall
  }

  /** The attribute before the change, by its first instance; undefined when it is new. */
  before(name: string): Attribute | undefined {
    if (this.#isSmall) return firstNamed(this.#change.before, name)
    this.#before ??= byName(this.#change.before)
    return this.#before.get(name)
  }

  /** The attribute after the change, by its first instance. */
  after(name: string): Attribute | undefined {
    if (this.#isSmall) return firstNamed(this.#change.entity, name)
    this.#after ??= byName(this.#change.entity)
    return this.#after.get(name)
  }

  /** The names of the attributes in the request. */
  get given(): readonly string[] {
    this.#given ??= this.#change.given.map(({ name }) => name)
    return this.#given
  }

  /** The changed attributes, without those of which only metadata have changed [NGSIv2 subscriptions 4.2]. */
  get moreThanMetadata(): readonly string[] {
    this.#moreThanMetadata ??= this.#namesOfMore()
    return this.#moreThanMetadata
  }

  #namesOfMore(): readonly string[] {
    const operated = new Set<string>()
    for (const given of this.#change.given) if (operatorGiven(given) !== undefined) operated.add(given.name)
    return this.#change.changed.filter((name) => operated.has(name) || this.#isMore(name))
  }

  #isMore(name: string): boolean {
    const [was, is] = [this.before(name), this.after(name)]
    if (was === undefined || is === undefined || was.type !== is.type || !isSameValue(valueHeld(was), valueHeld(is)))
      return true
    return sameValue(metadataValues(was), metadataValues(is))
  }
}

const indexes = new WeakMap<Change, ChangeIndex>()

/** The index of a change. Callers share that of a large change; a small one is quickly searched, so each caller gets its own. */
export function indexOf(change: Change): ChangeIndex {
  if (isSmallChange(change)) return new ChangeIndex(change, true)
  const known = indexes.get(change)
  if (known !== undefined) return known
  const index = new ChangeIndex(change, false)
  indexes.set(change, index)
  return index
}

/**
 * The limits of a small change: its attributes, and the metadata and characters of one. Searching it again is faster than an
 * index.
 */
const fewAttributes = 16
const fewMetadata = 4
const fewCharacters = 256

/** Whether a change is small enough to be searched and rendered again for each subscription. */
export function isSmallChange({ before, entity, given, changed }: Change): boolean {
  const most = Math.max(entity.attributes.length, before?.attributes.length ?? 0, given.length, changed.length)
  return most <= fewAttributes && entity.attributes.every(isSmallAttribute)
}

function isSmallAttribute(attribute: Attribute): boolean {
  if (metadataHeld(attribute).length > fewMetadata) return false
  const value = valueHeld(attribute)
  return typeof value === 'string' ? value.length <= fewCharacters : typeof value !== 'object' || value === null
}

function firstNamed(entity: Entity | undefined, wanted: string): Attribute | undefined {
  return entity?.attributes.find(({ name }) => name === wanted)
}

function byName(entity: Entity | undefined): ReadonlyMap<string, Attribute> {
  const attributes = new Map<string, Attribute>()
  for (const attribute of entity?.attributes ?? []) {
    if (!attributes.has(attribute.name)) attributes.set(attribute.name, attribute)
  }
  return attributes
}

/** The metadata of an attribute as a value that `sameValue` compares. */
export function metadataValues({ metadata }: Pick<Attribute, 'metadata'>): Value {
  return metadata.map(({ name, type, value }) => [name, type, value])
}

/** The alteration of the entity; undefined when no subscription is notified of it [NGSIv2 subscriptions 4.2, 4.3]. */
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

/** Whether a subscription is notified of updates that change no attribute, or of removals. */
export function hearsMoreThanChanges({ terms }: Subscription): boolean {
  return terms?.condition?.alterations.some((each) => each === 'entityUpdate' || each === 'entityDelete') ?? false
}

/**
 * The alteration as a subscription sees it. A subscription that ignores metadata sees no change where only metadata have changed
 * [NGSIv2 subscriptions 4.2].
 */
export function alterationFor(change: Change, onMetadata: boolean): Alteration | undefined {
  const what = alterationOf(change)
  if (what !== 'entityChange' || countsMetadata(change, onMetadata)) return what
  return indexOf(change).moreThanMetadata.length > 0 ? what : 'entityUpdate'
}

/** The changed attributes as a subscription sees them. */
function changedFor(change: Change, onMetadata: boolean): readonly string[] {
  const isUpdate = change.kind === 'put' && change.before !== undefined
  return !isUpdate || countsMetadata(change, onMetadata) ? change.changed : indexOf(change).moreThanMetadata
}

function countsMetadata({ isForced }: Change, onMetadata: boolean): boolean {
  return onMetadata || isForced
}

/**
 * Whether a change triggers a subscription by the rules of NGSIv2; its expression is evaluated afterwards [NGSIv2 subscriptions
 * 4.2, 4.3].
 */
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

/** Without a list, creations and changes trigger. */
function isHeard(listed: readonly Alteration[], what: 'entityCreate' | 'entityChange'): boolean {
  return listed.length === 0 || listed.includes(what)
}

function triggers(onChange: readonly string[], namesOf: () => readonly string[]): boolean {
  if (onChange.length === 0) return true
  const names = namesOf()
  return onChange.some((name) => isListed(name, names))
}
