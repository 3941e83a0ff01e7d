import type { Attribute, Entity } from '../context/entity.js'
import { isOperation } from '../context/operators.js'
import { sameValue } from '../context/value.js'
import type { Change } from './change.js'

/**
 * What subscriptions ask of a change, found once for all that hear of it: an entity may have thousands of attributes, and very many
 * subscriptions.
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

  /** The attribute as it was, by the first of its instances; undefined when it is new. */
  before(name: string): Attribute | undefined {
    if (this.#isSmall) return firstNamed(this.#change.before, name)
    this.#before ??= byName(this.#change.before)
    return this.#before.get(name)
  }

  /** The attribute as it is after the change, by the first of its instances. */
  after(name: string): Attribute | undefined {
    if (this.#isSmall) return firstNamed(this.#change.entity, name)
    this.#after ??= byName(this.#change.entity)
    return this.#after.get(name)
  }

  /** The names of the attributes that the request contained. */
  get given(): readonly string[] {
    this.#given ??= this.#change.given.map(({ name }) => name)
    return this.#given
  }

  /** Of those that count as changed the ones of which something else has changed than metadata [NGSIv2 subscriptions 4.2]. */
  get moreThanMetadata(): readonly string[] {
    this.#moreThanMetadata ??= this.#namesOfMore()
    return this.#moreThanMetadata
  }

  #namesOfMore(): readonly string[] {
    const operated = new Set<string>()
    for (const { name, value } of this.#change.given) if (value !== undefined && isOperation(value)) operated.add(name)
    return this.#change.changed.filter((name) => operated.has(name) || this.#isMore(name))
  }

  #isMore(name: string): boolean {
    const [was, is] = [this.before(name), this.after(name)]
    if (was === undefined || is === undefined || was.type !== is.type || !sameValue(was.value, is.value)) return true
    return sameValue(metadataValues(was), metadataValues(is))
  }
}

const indexes = new WeakMap<Change, ChangeIndex>()

/** The index of a change, the same one for all who ask; of a small one, which is quickly searched, one for each. */
export function indexOf(change: Change): ChangeIndex {
  if (isSmallChange(change)) return new ChangeIndex(change, true)
  const known = indexes.get(change)
  if (known !== undefined) return known
  const index = new ChangeIndex(change, false)
  indexes.set(change, index)
  return index
}

/** Attributes, metadata of one and characters of a small change. To remember what was found of it takes longer than to find it again. */
const fewAttributes = 16
const fewMetadata = 4
const fewCharacters = 256

/** Whether to look for something in a change, or to render it, is quickly done. */
export function isSmallChange({ before, entity, given, changed }: Change): boolean {
  const most = Math.max(entity.attributes.length, before?.attributes.length ?? 0, given.length, changed.length)
  return most <= fewAttributes && entity.attributes.every(isSmallAttribute)
}

function isSmallAttribute({ value, metadata }: Attribute): boolean {
  if (metadata.length > fewMetadata) return false
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

function metadataValues({ metadata }: Attribute) {
  return metadata.map(({ name, type, value }) => [name, type, value])
}
