/**
 * What was used lately, by name, in bounded memory. Two generations instead of a list of uses: what is asked for moves
 * to the young one; when that is full, the old one is forgotten and the young one becomes the old.
 */
export class Generations<Held extends object> {
  readonly #limit: number
  #young = new Map<string, Held>()
  #old = new Map<string, Held>()

  /** Holds between `limit` and twice as many names. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** What is held under the name, if it was used lately. */
  get(name: string): Held | undefined {
    const young = this.#young.get(name)
    if (young) return young
    const old = this.#old.get(name)
    if (old) this.put(name, old)
    return old
  }

  put(name: string, held: Held): void {
    this.#young.set(name, held)
    if (this.#young.size < this.#limit) return
    this.#old = this.#young
    this.#young = new Map()
  }

  /** Forgets everything. */
  clear(): void {
    this.#young.clear()
    this.#old.clear()
  }
}
