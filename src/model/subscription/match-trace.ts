import type { LineContext, Log } from '../../observe/log/log.js'
import type { Attribute } from '../context/entity.js'
import { sameValue } from '../context/value.js'
import { type Cause, type Change, causeContext, metadataValues } from './change.js'
import type { IndexedSubscription, MatchGroup } from './match-group.js'

/** Why a subscription to a changed entity is not notified. */
export type Silence =
  | 'not triggered'
  | 'expired'
  | 'nothing to show'
  | 'throttled'
  | 'come round'
  | 'condition not met'
  | 'has fired'

/** Writes trace lines: which changes trigger which subscriptions, and why others are not triggered [management 2.5]. */
export class MatchTrace {
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  /** Traces what counted as a change. */
  change(change: Change, cause: Cause): void {
    if (!this.#log.isTraced('subscription.change')) return
    const { id, type } = change.entity
    for (const { name, instance, what } of differences(change)) {
      const facts = { entity: id, type, attribute: name, instance, what }
      this.#log.trace('subscription.change', `${name} of ${id}: ${what}`, facts, contextOf(change, cause))
    }
  }

  /** Traces the subscriptions of the groups that the change does not trigger. */
  untriggered(
    groups: readonly MatchGroup[],
    triggered: readonly IndexedSubscription[],
    change: Change,
    cause: Cause,
  ): void {
    if (!this.#log.isTraced('subscription.match')) return
    const others = new Set<IndexedSubscription>()
    for (const group of groups) group.gather(others)
    for (const indexed of triggered) others.delete(indexed)
    for (const indexed of others) this.#match(indexed, 'not triggered', change, cause)
  }

  /** Whether triggered subscriptions are traced; asked once per change, since there may be many. */
  get isOfTriggered(): boolean {
    return ofTriggered.some((area) => this.#log.isTraced(area))
  }

  /** Traces a triggered subscription: a notice is due, or why it is not. */
  triggered(indexed: IndexedSubscription, silence: Silence | undefined, change: Change, cause: Cause): void {
    const log = this.#log
    if (log.isTraced('subscription.match')) this.#match(indexed, silence, change, cause)
    if (silence === undefined && log.isTraced('notify')) this.#due(indexed, change, cause)
    if (silence === 'throttled' && log.isTraced('notify.throttle')) this.#throttled(indexed, change, cause)
  }

  #match({ subscription }: IndexedSubscription, silence: Silence | undefined, change: Change, cause: Cause): void {
    const { id, type } = change.entity
    const facts = { subscription: subscription.id, entity: id, type, matched: silence === undefined, why: silence }
    const message = `${subscription.id} ${silence === undefined ? 'matches' : `is silent (${silence})`}: ${id}`
    this.#log.trace('subscription.match', message, facts, contextOf(change, cause))
  }

  #due({ subscription }: IndexedSubscription, change: Change, cause: Cause): void {
    const { onChange = [] } = subscription
    const triggers = onChange.length === 0 ? change.changed : change.changed.filter((name) => onChange.includes(name))
    const trigger = triggers.join()
    const facts = { subscription: subscription.id, entity: change.entity.id, trigger }
    const message = `a notification of ${subscription.id} is due: ${trigger} of ${change.entity.id} changed`
    this.#log.trace('notify', message, facts, contextOf(change, cause))
  }

  #throttled({ subscription }: IndexedSubscription, change: Change, cause: Cause): void {
    const { id, throttling_ms } = subscription
    const facts = { subscription: id, entity: change.entity.id, throttling_ms }
    const message = `a notification of ${id} is held back: at most one in ${throttling_ms} ms`
    this.#log.trace('notify.throttle', message, facts, contextOf(change, cause))
  }
}

const ofTriggered = ['subscription.match', 'notify', 'notify.throttle'] as const

function contextOf({ tenant, entity }: Change, { origin }: Cause): LineContext {
  return causeContext(tenant, entity.path, origin)
}

interface Difference extends Pick<Attribute, 'name' | 'instance'> {
  readonly what: string
}

function* differences({ before, entity, changed }: Change): Generator<Difference> {
  const names = new Set(changed)
  const held = (before?.attributes ?? []).filter(({ name }) => names.has(name))
  const now = entity.attributes.filter(({ name }) => names.has(name))
  for (const attribute of now) {
    const what = differenceOf(instanceIn(held, attribute), attribute)
    if (what !== undefined) yield { name: attribute.name, instance: attribute.instance, what }
  }
  for (const attribute of held) {
    if (instanceIn(now, attribute)) continue
    yield { name: attribute.name, instance: attribute.instance, what: 'removed' }
  }
}

function instanceIn(attributes: readonly Attribute[], { name, instance }: Attribute): Attribute | undefined {
  return attributes.find((attribute) => attribute.name === name && attribute.instance === instance)
}

/** Undefined for an attribute that the update left alone. One that is given equal counts as replaced. */
function differenceOf(before: Attribute | undefined, after: Attribute): string | undefined {
  if (before === after) return undefined
  if (before === undefined) return 'created'
  const parts = [
    ...(sameValue(before.value, after.value) ? [] : ['value']),
    ...(before.type === after.type ? [] : ['type']),
    ...(sameValue(metadataValues(before), metadataValues(after)) ? [] : ['metadata']),
    ...(before.isLocation === after.isLocation ? [] : ['location']),
  ]
  return parts.length === 0 ? 'replaced' : parts.join()
}
