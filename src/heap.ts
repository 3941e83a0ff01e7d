/** Items of which the one that comes before all others can be taken, in steps that grow with the logarithm of their number: a binary heap. */
export class Heap<Item extends object> {
  #items: Item[]
  /** Below zero when the first item comes before the other. */
  readonly #order: (one: Item, other: Item) => number

  constructor(order: (one: Item, other: Item) => number, items: Iterable<Item> = []) {
    this.#order = order
    this.#items = [...items]
    this.#arrange()
  }

  get size(): number {
    return this.#items.length
  }

  get first(): Item | undefined {
    return this.#items[0]
  }

  add(item: Item): void {
    let at = this.#items.push(item) - 1
    while (at > 0 && this.#swapped(at, (at - 1) >> 1)) at = (at - 1) >> 1
  }

  /** Gives the first item, which is left out from now on. */
  takeFirst(): Item | undefined {
    const { first } = this
    const last = this.#items.pop()
    if (last === undefined || this.#items.length === 0) return first
    this.#items[0] = last
    this.#sink(0)
    return first
  }

  /** The first item may come behind others now. */
  firstChanged(): void {
    this.#sink(0)
  }

  /** Leaves only the items that a test holds of. */
  keep(isKept: (item: Item) => boolean): void {
    this.#items = this.#items.filter(isKept)
    this.#arrange()
  }

  #arrange(): void {
    for (let at = (this.#items.length >> 1) - 1; at >= 0; at -= 1) this.#sink(at)
  }

  #sink(from: number): void {
    for (let at = from; ; ) {
      const [left, right] = [this.#items[2 * at + 1], this.#items[2 * at + 2]]
      const child = left && right && this.#order(right, left) < 0 ? 2 * at + 2 : 2 * at + 1
      if (!this.#swapped(child, at)) return
      at = child
    }
  }

  /** Swaps an item with the one above it when it comes before that. */
  #swapped(below: number, above: number): boolean {
    const [lower, upper] = [this.#items[below], this.#items[above]]
    if (lower === undefined || upper === undefined || this.#order(lower, upper) >= 0) return false
    this.#items[below] = upper
    this.#items[above] = lower
    return true
  }
}
