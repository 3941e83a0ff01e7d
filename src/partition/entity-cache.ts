import type { Entity } from '../context/entity.js'

/**
 * Entities that were used lately, decoded, by the name of their id. Two generations instead of a list of uses: what is
 * asked for moves to the young one; when that is full, the old one is forgotten and the young one becomes the old.
 */
export class EntityCache {
  readonly #limit: number
  #young = new Map<string, readonly Entity[]>()
  #old = new Map<string, readonly Entity[]>()

  /** Holds between `limit` and twice as many names. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** What is held under the name, loaded first if need be. */
  get(name: string, load: () => readonly Entity[]): readonly Entity[] {
    const young = this.#young.get(name)
    if (young) return young
    const entities = this.#old.get(name) ?? load()
    this.put(name, entities)
    return entities
  }

  put(name: string, entities: readonly Entity[]): void {
    this.#young.set(name, entities)
    if (this.#young.size < this.#limit) return
    this.#old = this.#young
    this.#young = new Map()
  }
}
