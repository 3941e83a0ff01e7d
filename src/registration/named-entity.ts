import { enterListed, type Listed, leaveListed } from './ordered.js'
import type { RegisteredEntity } from './registration.js'

/** So many names of attributes are looked through; more are looked up. */
const fewNames = 16

/**
 * An entity of one id and type with the contexts that name it. Most are named by one context with a few attributes: they
 * are many, so they hold no more than that.
 */
export class NamedEntity {
  readonly entity: RegisteredEntity
  readonly #contexts: Listed[]
  /** How many names the contexts have together. */
  #names: number
  /** By attribute, once there are many names; under the empty name, which no attribute has, those without attributes. */
  #byAttribute: Map<string, Listed[]> | undefined

  /** One that a first context names. */
  constructor(entity: RegisteredEntity, first: Listed) {
    this.entity = entity
    this.#contexts = [first]
    this.#names = namesOf(first).length
    this.#look()
  }

  /** The contexts that name it, in their order. Changes with what is registered. */
  get contexts(): readonly Listed[] {
    return this.#contexts
  }

  /** Those of an attribute, in their order; of the empty name those without attributes. */
  having(name: string): readonly Listed[] {
    if (this.#byAttribute !== undefined) return this.#byAttribute.get(name) ?? none
    const isMeant = ({ context: { attributes } }: Listed): boolean =>
      name === '' ? attributes.length === 0 : attributes.some((attribute) => attribute.name === name)
    return this.#contexts.filter(isMeant)
  }

  enter(listed: Listed): void {
    const before = this.#contexts.length
    enterListed(this.#contexts, listed)
    if (this.#contexts.length === before) return // The context has the entity twice.
    this.#names += namesOf(listed).length
    if (this.#byAttribute === undefined) this.#look()
    else lookUp(this.#byAttribute, listed)
  }

  /** Gives whether a context still names it. */
  leave(listed: Listed): boolean {
    const before = this.#contexts.length
    leaveListed(this.#contexts, listed)
    if (this.#contexts.length < before) {
      this.#names -= namesOf(listed).length
      for (const name of namesOf(listed)) {
        const contexts = this.#byAttribute?.get(name)
        if (contexts === undefined) continue
        leaveListed(contexts, listed)
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

const none: readonly Listed[] = []

function lookUp(byAttribute: Map<string, Listed[]>, listed: Listed): void {
  for (const name of namesOf(listed)) {
    const contexts = byAttribute.get(name)
    if (contexts === undefined) byAttribute.set(name, [listed])
    else enterListed(contexts, listed)
  }
}

function namesOf({ context: { attributes } }: Listed): readonly string[] {
  return attributes.length === 0 ? withoutAttributes : attributes.map(({ name }) => name)
}

const withoutAttributes: readonly string[] = ['']
