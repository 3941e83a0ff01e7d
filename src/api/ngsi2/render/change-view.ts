import type { Value } from '../../../model/context/entity.js'
import { type HeldValue, plainValue } from '../../../model/context/large/large-attribute.js'
import { LargeValue } from '../../../model/context/large/large-value.js'
import type { StepBudget } from '../../../model/context/step-budget.js'
import { plainDate } from '../../../model/context/value.js'
import { type NamesOfEntity, namesOf } from '../../../model/expression/scope.js'
import { type Change, isSmallChange } from '../../../model/subscription/change.js'
import type { BodyCause, BodyTerms } from '../../../model/subscription/message.js'
import { serviceOf } from '../../../model/subscription/notice.js'
import type { AttributesFormat } from '../../../model/subscription/terms.js'
import { clientAttributes, visibleAttribute } from './entity-text.js'
import { MemberTexts } from './member-texts.js'
import {
  bodyWith,
  formOf,
  type NotifiedEntity,
  notifiedAttribute,
  notifiedEntity,
  notifiedItem,
} from './notification.js'

interface Kept {
  /** By the shown metadata. */
  readonly entities: Map<string, NotifiedEntity>
  /** By the form and the shown metadata. */
  readonly members: Map<string, MemberTexts>
  /** By the list of attributes (equal lists are one object), then by everything else that the text depends on. */
  readonly items: Map<readonly string[], Map<string, string | undefined>>
}

/**
 * All that is kept of a change is at most so many times as long as the longest part of it: the courier holds a change until others have
 * replaced it.
 */
const mostKept = 16

/** What an attribute takes beside its value, and a text beside its characters, about. */
const perAttribute_characters = 128

/**
 * What notifications show of a change, rendered once for all subscriptions that show the same. The cache never changes a message.
 */
class ChangeView {
  readonly #change: Change
  readonly #kept: Kept | undefined
  /** The metadata names that make a difference for this entity. */
  #found: ReadonlySet<string> | undefined
  #names: { readonly of: BodyCause['origin']; readonly lookUp: NamesOfEntity } | undefined
  #kept_characters = 0
  #longest_characters = 0

  /** `isKept` is false for a small change: rendering it again costs less than caching it. */
  constructor(change: Change, isKept: boolean) {
    this.#change = change
    this.#kept = isKept ? { entities: new Map(), members: new Map(), items: new Map() } : undefined
  }

  /** The entity with the metadata of these names. */
  entity(metadata: readonly string[]): NotifiedEntity {
    if (this.#kept === undefined) return notifiedEntity(this.#change, metadata)
    const { entities } = this.#kept
    const key = this.#keyOf(metadata)
    const known = entities.get(key)
    if (known !== undefined) return known
    const made = notifiedEntity(this.#change, metadata)
    this.#makeRoom(made.attributes.length * perAttribute_characters)
    entities.set(key, made)
    return made
  }

  /** One key for all lists of metadata that show the same of this entity: its attributes lack most names of a long list. */
  #keyOf(metadata: readonly string[]): string {
    if (metadata.length === 0) return ''
    this.#found ??= metadataFound(this.#change)
    return JSON.stringify(metadata.filter((name) => this.#found?.has(name)))
  }

  /** The texts of the attributes of {@link entity}, for a format that shows all of them. */
  members(metadata: readonly string[], format: AttributesFormat): MemberTexts {
    const key = `${formOf(format)} ${this.#keyOf(metadata)}`
    const known = this.#kept?.members.get(key)
    if (known !== undefined) return known
    const made = new MemberTexts(this.entity(metadata).attributes, formOf(format))
    this.#makeRoom(made.characters)
    this.#kept?.members.set(key, made)
    return made
  }

  /** The body of a notification in one of the five forms; undefined when there is nothing to show [NGSIv2 subscriptions 5]. */
  body(terms: BodyTerms): string | undefined {
    const item = this.#item(terms)
    return item === undefined ? undefined : bodyWith(terms, item)
  }

  /** Looks up names in expressions [NGSIv2 subscriptions 6.3]. */
  lookUp({ origin }: BodyCause): NamesOfEntity {
    const known = this.#names
    if (known?.of.token === origin.token && known.of.service === origin.service) return known.lookUp
    const lookUp = this.#namesSeen(origin)
    this.#names = { of: origin, lookUp }
    return lookUp
  }

  #item(terms: BodyTerms): string | undefined {
    const { attributes, notification, onMetadata } = terms
    const { format, excepts, onlyChanged, covered, metadata } = notification
    if (this.#kept === undefined) return notifiedItem(terms, this.entity(metadata), this.#change)
    const { items } = this.#kept
    const names = attributes.length === 0 ? noNames : attributes
    const key = `${format} ${excepts} ${onlyChanged} ${covered} ${onMetadata} ${this.#keyOf(metadata)}`
    const known = items.get(names)
    if (known?.has(key)) return known.get(key)
    const item = notifiedItem(terms, this.entity(metadata), this.#change)
    this.#makeRoom(perAttribute_characters + (item?.length ?? 0))
    const ofNames = items.get(names) ?? new Map<string, string | undefined>()
    items.set(names, ofNames.set(key, item))
    return item
  }

  /** Before so many characters are kept: forgets the others when they are too many. */
  #makeRoom(characters: number): void {
    this.#kept_characters += characters
    this.#longest_characters = Math.max(this.#longest_characters, characters)
    if (this.#kept_characters <= mostKept * this.#longest_characters) return
    for (const kept of Object.values(this.#kept ?? {})) kept.clear()
    this.#kept_characters = characters
  }

  /** An expression reads few of many attributes. */
  #namesSeen({ service, token }: BodyCause['origin']): NamesOfEntity {
    const change = this.#change
    const { tenant, entity } = change
    const { id, type, path: servicePath } = entity
    return namesOf({
      ...{ id, type: type === '' ? 'Thing' : type },
      ...{ service: serviceOf({ tenant, service }), servicePath, authToken: token },
      attributes: clientAttributes(entity).map((attribute) => ({
        ...{ name: attribute.name, value: (budget) => valueSeen(visibleAttribute(attribute, []), budget) },
        metadata: () =>
          notifiedAttribute(attribute, metadataSeen, change).metadata.map(
            (element) => [element.name, asSeen(element)] as const,
          ),
      })),
    })
  }
}

const noNames: readonly string[] = []

/** The metadata names that make a difference in a subscription: those of the attributes, and those made for notifications. */
function metadataFound({ entity }: Change): ReadonlySet<string> {
  const found = new Set(madeMetadata)
  for (const { metadata } of entity.attributes) for (const { name } of metadata) found.add(name)
  return found
}

/** Metadata made for notifications [NGSIv2 subscriptions 5.4, context 6, 14], and `*`, which stands for all. */
const madeMetadata = ['*', 'ID', 'location', 'previousValue', 'actionType', 'dateCreated', 'dateModified']

/** The metadata for expressions [NGSIv2 subscriptions 6.3]. */
const metadataSeen = ['*', 'previousValue', 'actionType', 'dateCreated', 'dateModified']

/** The value of an attribute as `asSeen`; null, with the budget spent, when it is too large to be materialised with this budget. */
function valueSeen(attribute: Parameters<typeof asSeen>[0], budget: StepBudget): Value {
  const { value } = attribute
  return value instanceof LargeValue && !budget.mayMaterialise(() => value.unmade) ? null : asSeen(attribute)
}

/** Expressions see dates as text. */
function asSeen({ value: held, type }: { readonly value: HeldValue; readonly type: string }): Value {
  const value = plainValue(held)
  return plainDate(value, type) ?? value
}

/** The views of one thread. */
export class ChangeViews {
  readonly #large = new WeakMap<Change, ChangeView>()
  /** The last small change: caching one is cheap, and several subscriptions render it in a row. */
  #lastSmall: { readonly change: Change; readonly view: ChangeView } | undefined

  /** The view of a change, shared by all its renderers. */
  of(change: Change): ChangeView {
    if (this.#lastSmall?.change === change) return this.#lastSmall.view
    if (isSmallChange(change)) {
      this.#lastSmall = { change, view: new ChangeView(change, false) }
      return this.#lastSmall.view
    }
    const known = this.#large.get(change)
    if (known !== undefined) return known
    const view = new ChangeView(change, true)
    this.#large.set(change, view)
    return view
  }
}
