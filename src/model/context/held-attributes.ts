import type { Attribute } from './entity.js'
import type { GivenAttribute } from './update.js'

/** From this many attributes on, an index costs less than one search for each given attribute. */
const indexFrom = 16

export type Identity = Pick<GivenAttribute, 'name' | 'instance'>

/**
 * Finds the attributes of an entity that a request means. In NGSIv1 a name without ID means the attribute without ID [context
 * 2.4]. In NGSIv2 it means the shown instance, and an ID also means an attribute that has no ID yet [NGSIv2 context 14.3].
 */
export interface HeldAttributes {
  /** The position of the instance; -1 if there is none. */
  position(given: Identity): number
  has(given: Identity): boolean
  /** The positions of the attributes that a deletion of this one removes: in NGSIv2 every instance of the name. */
  doomed(given: Identity): readonly number[]
  /** Whether APPEND_STRICT refuses it: in NGSIv1 because of any instance of the name. */
  isTaken(given: Identity): boolean
  /** Whether the name is held with ID and given without, or the other way round [context 2.4]. */
  mixes(given: Identity): boolean
}

/** Finds attributes in an array: by a search, or by an index where the array is long. */
export class IndexedAttributes implements HeldAttributes {
  readonly #attributes: readonly Attribute[]
  readonly #asShown: boolean
  readonly #byName: ReadonlyMap<string, NamedInstances> | undefined

  constructor(attributes: readonly Attribute[], asShown = false) {
    this.#attributes = attributes
    this.#asShown = asShown
    this.#byName = attributes.length < indexFrom ? undefined : indexed(attributes)
  }

  position({ name, instance }: Identity): number {
    if (this.#asShown) return this.#shownPosition(name, instance)
    if (this.#byName) return this.#byName.get(name)?.position(instance) ?? -1
    for (let at = 0; at < this.#attributes.length; at += 1) {
      const held = this.#attributes[at]
      if (held?.name === name && held.instance === instance) return at
    }
    return -1
  }

  has(given: Identity): boolean {
    return this.position(given) !== -1
  }

  doomed(given: Identity): readonly number[] {
    return this.#asShown ? this.#positions(given.name) : [this.position(given)]
  }

  isTaken(given: Identity): boolean {
    return this.#asShown ? this.has(given) : this.#positions(given.name).length > 0
  }

  mixes({ name, instance }: Identity): boolean {
    if (this.#byName) return this.#byName.get(name)?.mixes(instance) ?? false
    for (const held of this.#attributes) {
      if (held.name === name && (held.instance === '') !== (instance === '')) return true
    }
    return false
  }

  /** The smallest ID comes first; no ID comes before all others. */
  #shownPosition(name: string, instance: string): number {
    if (this.#byName) return this.#byName.get(name)?.shownPosition(instance) ?? -1
    for (let at = 0; at < this.#attributes.length; at += 1) {
      const held = this.#attributes[at]
      if (held?.name === name && (instance === '' || held.instance === instance || held.instance === '')) return at
    }
    return -1
  }

  #positions(name: string): readonly number[] {
    if (this.#byName) return this.#byName.get(name)?.positions ?? []
    return this.#attributes.flatMap((held, at) => (held.name === name ? [at] : []))
  }
}

function indexed(attributes: readonly Attribute[]): ReadonlyMap<string, NamedInstances> {
  const byName = new Map<string, NamedInstances>()
  for (let at = 0; at < attributes.length; at += 1) {
    const attribute = attributes[at]
    if (attribute === undefined) continue
    const { name, instance } = attribute
    const instances = byName.get(name)
    if (instances) instances.add(instance, at)
    else byName.set(name, new NamedInstances(instance, at))
  }
  return byName
}

/** The instances of one name, most often a single one. */
class NamedInstances {
  readonly positions: number[]
  readonly #first: string
  /** The position of the first of each instance, when there are several. */
  #byInstance: Map<string, number> | undefined

  constructor(instance: string, at: number) {
    this.#first = instance
    this.positions = [at]
  }

  /** Adds an instance whose position is behind the others. */
  add(instance: string, at: number): void {
    this.#byInstance ??= new Map([[this.#first, this.positions[0] ?? at]])
    this.positions.push(at)
    if (!this.#byInstance.has(instance)) this.#byInstance.set(instance, at)
  }

  position(instance: string): number {
    if (this.#byInstance) return this.#byInstance.get(instance) ?? -1
    return this.#first === instance ? (this.positions[0] ?? -1) : -1
  }

  /** The first that is this instance or has no ID; without an ID the first of all. */
  shownPosition(instance: string): number {
    if (instance === '') return this.positions[0] ?? -1
    const [bare, own] = [this.position(''), this.position(instance)]
    return bare === -1 || (own !== -1 && own < bare) ? own : bare
  }

  mixes(instance: string): boolean {
    const bare = this.#byInstance ? this.#byInstance.has('') : this.#first === ''
    if (instance !== '') return bare
    return this.#byInstance ? this.#byInstance.size > (bare ? 1 : 0) : !bare
  }
}
