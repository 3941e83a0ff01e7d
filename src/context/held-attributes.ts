import type { Attribute } from './entity.js'
import type { GivenAttribute } from './update.js'

/** From this many attributes on, building an index costs less than looking through all of them for each one given. */
const indexFrom = 16

type Identity = Pick<GivenAttribute, 'name' | 'instance'>

/** Finds the attributes of an entity that those of a request mean. */
export class HeldAttributes {
  readonly #attributes: readonly Attribute[]
  readonly #byName: ReadonlyMap<string, readonly number[]> | undefined

  constructor(attributes: readonly Attribute[]) {
    this.#attributes = attributes
    this.#byName = attributes.length < indexFrom ? undefined : indexed(attributes)
  }

  /** Where the instance stands; -1 when there is none. */
  position({ name, instance }: Identity): number {
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

  /** Whether there is any instance of the name. */
  hasName(name: string): boolean {
    return this.#instances(name).length > 0
  }

  /** Whether the name is held with ID and given without, or the other way round [context 2.4]. */
  mixes({ name, instance }: Identity): boolean {
    if (this.#byName) return this.#instances(name).some((held) => (held.instance === '') !== (instance === ''))
    for (const held of this.#attributes) {
      if (held.name === name && (held.instance === '') !== (instance === '')) return true
    }
    return false
  }

  #instances(name: string): readonly Attribute[] {
    if (!this.#byName) return this.#attributes.filter((held) => held.name === name)
    return (this.#byName.get(name) ?? []).flatMap((at) => this.#attributes[at] ?? [])
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
