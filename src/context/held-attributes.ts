import type { Attribute } from './entity.js'
import type { GivenAttribute } from './update.js'

/** From this many attributes on, building an index costs less than looking through all of them for each one given. */
const indexFrom = 16

type Identity = Pick<GivenAttribute, 'name' | 'instance'>

/**
 * Finds the attributes of an entity that those of a request mean. For one of NGSIv1 a name without ID means the attribute
 * without ID [context 2.4]; for one of NGSIv2 the instance that is shown, and an ID also means the attribute that has none
 * yet [NGSIv2 context 14.3].
 */
export class HeldAttributes {
  readonly #attributes: readonly Attribute[]
  readonly #asShown: boolean
  readonly #byName: ReadonlyMap<string, readonly number[]> | undefined

  constructor(attributes: readonly Attribute[], asShown = false) {
    this.#attributes = attributes
    this.#asShown = asShown
    this.#byName = attributes.length < indexFrom ? undefined : indexed(attributes)
  }

  /** Where the instance stands; -1 when there is none. */
  position({ name, instance }: Identity): number {
    if (this.#asShown) return this.#shownPosition(name, instance)
    if (this.#byName) return this.#byName.get(name)?.find((at) => this.#attributes[at]?.instance === instance) ?? -1
    for (let at = 0; at < this.#attributes.length; at += 1) {
      const held = this.#attributes[at]
      if (held?.name === name && held.instance === instance) return at
    }
    return -1
  }

  has(given: Identity): boolean {
    return this.position(given) !== -1
  }

  /** Where the attributes stand that go when this one is deleted: in NGSIv2 every instance of the name. */
  doomed(given: Identity): readonly number[] {
    return this.#asShown ? this.#positions(given.name) : [this.position(given)]
  }

  /** Whether APPEND_STRICT refuses it: in NGSIv1 when there is any instance of the name. */
  isTaken(given: Identity): boolean {
    return this.#asShown ? this.has(given) : this.#positions(given.name).length > 0
  }

  /** Whether the name is held with ID and given without, or the other way round [context 2.4]. */
  mixes({ name, instance }: Identity): boolean {
    if (this.#byName) return this.#instances(name).some((held) => (held.instance === '') !== (instance === ''))
    for (const held of this.#attributes) {
      if (held.name === name && (held.instance === '') !== (instance === '')) return true
    }
    return false
  }

  /** The smallest ID stands first, and no ID before every other. */
  #shownPosition(name: string, instance: string): number {
    if (this.#byName) {
      const positions = this.#positions(name)
      return positions.find((at) => this.#isMeant(this.#attributes[at], instance)) ?? -1
    }
    for (let at = 0; at < this.#attributes.length; at += 1) {
      const held = this.#attributes[at]
      if (held?.name === name && this.#isMeant(held, instance)) return at
    }
    return -1
  }

  #isMeant(held: Attribute | undefined, instance: string): boolean {
    return instance === '' || held?.instance === instance || held?.instance === ''
  }

  #positions(name: string): readonly number[] {
    if (this.#byName) return this.#byName.get(name) ?? []
    return this.#attributes.flatMap((held, at) => (held.name === name ? [at] : []))
  }

  #instances(name: string): readonly Attribute[] {
    return this.#positions(name).flatMap((at) => this.#attributes[at] ?? [])
  }
}

function indexed(attributes: readonly Attribute[]): ReadonlyMap<string, readonly number[]> {
  const byName = new Map<string, number[]>()
  for (const [at, { name }] of attributes.entries()) {
    const positions = byName.get(name)
    if (positions) positions.push(at)
    else byName.set(name, [at])
  }
  return byName
}
