import { type IndexedContext, insertContext, removeContext } from './indexed-contexts.js'
import type { RegisteredEntity } from './registration.js'

/** Up to this many names of attributes are searched one by one; more are looked up in a set. */
const fewNames = 16

/**
 * An entity of one id and type with the contexts that name it. Most are named by one context with a few attributes: they
 * are many, so they hold no more than that.
 */
export class NamedEntity {
  readonly entity: RegisteredEntity
  readonly #contexts: IndexedContext[]
  /** How many names the contexts have together. */
  #names: number
  /** By attribute, once there are many names; under the empty name, which no attribute has, those without attributes. */
  #byAttribute: Map<string, IndexedContext[]> | undefined

  /** One that a first context names. */
  constructor(entity: RegisteredEntity, first: IndexedContext) {
    this.entity = entity
    this.#contexts = [first]
    this.#names = namesOf(first).length
    this.#look()
  }

  /** The contexts that name it, in their order. Changes with what is registered. */
  get contexts(): readonly IndexedContext[] {
    return this.#contexts
  }

  /** Those of an attribute, in their order; of the empty name those without attributes. */
  having(name: string): readonly IndexedContext[] {
    if (this.#byAttribute !== undefined) return this.#byAttribute.get(name) ?? none
    const isMeant = ({ context: { attributes } }: IndexedContext): boolean =>
      name === '' ? attributes.length === 0 : attributes.some((attribute) => attribute.name === name)
    return this.#contexts.filter(isMeant)
  }

  enter(listed: IndexedContext): void {
    const before = this.#contexts.length
    insertContext(this.#contexts, listed)
    if (this.#contexts.length === before) return // The context has the entity twice.
    this.#names += namesOf(listed).length
    if (this.#byAttribute === undefined) this.#look()
    else lookUp(this.#byAttribute, listed)
  }

  /** Gives whether a context still names it. */
  leave(listed: IndexedContext): boolean {
    const before = this.#contexts.length
    removeContext(this.#contexts, listed)
    if (this.#contexts.length < before) {
      this.#names -= namesOf(listed).length
      for (const name of namesOf(listed)) {
        const contexts = this.#byAttribute?.get(name)
        if (contexts === undefined) continue
        removeContext(contexts, listed)
        if (contexts.length === 0) this.#byAttribute?.delete(name)
      }
    }
    return this.#contexts.length > 0
  }

  /** From now on names are looked up, if there are enough of them. */
  #look(): void {
    if (this.#names <= fewNames) return
    this.#byAttribute = new Map()
    for (const listed of this.#contexts) lookUp(this.#byAttribute, listed)
  }
}

const none: readonly IndexedContext[] = []

function lookUp(byAttribute: Map<string, IndexedContext[]>, listed: IndexedContext): void {
  for (const name of namesOf(listed)) {
    const contexts = byAttribute.get(name)
    if (contexts === undefined) byAttribute.set(name, [listed])
    else insertContext(contexts, listed)
  }
}

function namesOf({ context: { attributes } }: IndexedContext): readonly string[] {
  return attributes.length === 0 ? withoutAttributes : attributes.map(({ name }) => name)
}

const withoutAttributes: readonly string[] = ['']
