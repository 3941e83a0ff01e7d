import type { Value } from '../../context/entity.js'
import { plainDate } from '../../context/json-text.js'
import { namesOf } from '../../expression/entity-names.js'
import type { ExpressionScope } from '../../expression/expression-scope.js'
import type { Cause, Change } from '../../subscription/change.js'
import { serviceOf } from '../../subscription/notice.js'
import { termsOf } from '../../subscription/patch.js'
import type { Subscription } from '../../subscription/subscription.js'
import { bodyWith, type NotifiedEntity, notifiedEntity, notifiedItem } from './notification.js'

type LookUp = ExpressionScope['lookUp']

/**
 * What notifications show of a change, rendered once for all subscriptions that show the same. What is kept makes no difference to
 * any message.
 */
class ChangeView {
  readonly #change: Change
  /** By the metadata that are shown. */
  readonly #entities = new Map<string, NotifiedEntity>()
  /** By the list of attributes, which is the same one for equal ones, and the rest of what decides on the text. */
  readonly #items = new Map<readonly string[], Map<string, string | undefined>>()
  #names: { readonly cause: Cause; readonly lookUp: LookUp } | undefined

  constructor(change: Change) {
    this.#change = change
  }

  /** The entity with the metadata of these names. */
  entity(metadata: readonly string[]): NotifiedEntity {
    const key = keyOf(metadata)
    const known = this.#entities.get(key)
    if (known !== undefined) return known
    const made = notifiedEntity(this.#change, metadata)
    this.#entities.set(key, made)
    return made
  }

  /** The body of a notification in one of the five forms; nothing when there is nothing to show [NGSIv2 subscriptions 5]. */
  body(subscription: Subscription): string | undefined {
    const item = this.#item(subscription)
    return item === undefined ? undefined : bodyWith(subscription, item)
  }

  /** What the names stand for that expressions use [NGSIv2 subscriptions 6.3]. */
  lookUp(cause: Cause): LookUp {
    if (this.#names?.cause !== cause) this.#names = { cause, lookUp: this.#namesSeen(cause) }
    return this.#names.lookUp
  }

  #item(subscription: Subscription): string | undefined {
    const { condition, notification } = termsOf(subscription)
    const { format, excepts, onlyChanged, covered, metadata } = notification
    const names = subscription.attributes.length === 0 ? noNames : subscription.attributes
    const ofNames = this.#items.get(names) ?? new Map<string, string | undefined>()
    this.#items.set(names, ofNames)
    const onMetadata = condition?.onMetadata ?? true
    const key = `${format} ${excepts} ${onlyChanged} ${covered} ${onMetadata} ${keyOf(metadata)}`
    const known = ofNames.get(key)
    if (known !== undefined || ofNames.has(key)) return known
    const item = notifiedItem(subscription, this.entity(metadata), this.#change)
    ofNames.set(key, item)
    return item
  }

  #namesSeen({ origin }: Cause): LookUp {
    const { tenant, entity } = this.#change
    const { id, type, attributes } = this.entity(metadataSeen)
    return namesOf({
      ...{ id, type: type === '' ? 'Thing' : type },
      ...{ service: serviceOf({ tenant, service: origin.service }), servicePath: entity.path, authToken: origin.token },
      attributes: attributes.map((attribute) => ({
        ...{ name: attribute.name, value: asSeen(attribute) },
        metadata: attribute.metadata.map((element) => ({ name: element.name, value: asSeen(element) })),
      })),
    })
  }
}

const noNames: readonly string[] = []

function keyOf(names: readonly string[]): string {
  return names.length === 0 ? '' : JSON.stringify(names)
}

/** What expressions see of metadata [NGSIv2 subscriptions 6.3]. */
const metadataSeen = ['*', 'previousValue', 'actionType', 'dateCreated', 'dateModified']

/** Dates are texts to clients. */
function asSeen({ value, type }: { readonly value: Value; readonly type: string }): Value {
  return plainDate(value, type) ?? value
}

const views = new WeakMap<Change, ChangeView>()

/** The view of a change, the same one for all who render it. */
export function changeView(change: Change): ChangeView {
  const known = views.get(change)
  if (known !== undefined) return known
  const view = new ChangeView(change)
  views.set(change, view)
  return view
}
