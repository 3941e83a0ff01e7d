import { type Attribute, compareBytes } from '../entity.js'
import type { HeldAttributes, Identity } from '../held-attributes.js'
import type { LargeEntity } from './large-entity.js'

export class SortedAttributes implements HeldAttributes {
  readonly #entity: LargeEntity
  readonly #asShown: boolean

  constructor(entity: LargeEntity, asShown: boolean) {
    this.#entity = entity
    this.#asShown = asShown
  }

  position({ name, instance }: Identity): number {
    if (!this.#asShown) return this.#entity.positionOf({ name, instance })
    // No ID comes before all others.
    const first = this.#first(name)
    const held = this.#named(first, name)
    if (held === undefined) return -1
    return instance === '' || held.instance === '' ? first : this.#entity.positionOf({ name, instance })
  }

  has(given: Identity): boolean {
    return this.position(given) !== -1
  }

  doomed(given: Identity): readonly number[] {
    if (!this.#asShown) return [this.position(given)]
    const positions: number[] = []
    for (let at = this.#first(given.name); this.#named(at, given.name) !== undefined; at += 1) positions.push(at)
    return positions
  }

  isTaken(given: Identity): boolean {
    return this.#asShown ? this.has(given) : this.#named(this.#first(given.name), given.name) !== undefined
  }

  mixes({ name, instance }: Identity): boolean {
    const first = this.#first(name)
    const held = this.#named(first, name)
    if (held === undefined) return false
    if (instance !== '') return held.instance === ''
    return held.instance !== '' || this.#named(first + 1, name) !== undefined
  }

  /** The position of the first attribute of the name, or where it would be inserted. */
  #first(name: string): number {
    return this.#entity.list.firstFrom((held) => compareBytes(held.name, name))
  }

  /** The attribute at a position if it has the name. */
  #named(position: number, name: string): Attribute | undefined {
    const held = this.#entity.list.at(position)
    return held?.name === name ? held : undefined
  }
}
