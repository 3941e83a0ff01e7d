/** A queue whose two ends cost the same however long it is. */
export class Fifo<Item extends object> {
  #items: (Item | undefined)[] = []
  #head = 0

  get size(): number {
    return this.#items.length - this.#head
  }

  get first(): Item | undefined {
    return this.#items[this.#head]
  }

  push(item: Item): void {
    this.#items.push(item)
  }

  /** Puts an item before all others. */
  unshift(item: Item): void {
    if (this.#head === 0) {
      this.#items.unshift(item)
      return
    }
    this.#head -= 1
    this.#items[this.#head] = item
  }

  /** Leaves only the items that a test holds of, in their order. */
  keep(isKept: (item: Item) => boolean): void {
    this.#items = this.#items.slice(this.#head).filter((item) => item !== undefined && isKept(item))
    this.#head = 0
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head]
    if (item === undefined) return undefined
    this.#items[this.#head] = undefined
    this.#head += 1
    // Moving what is left costs no more than what was taken since the last time.
    if (this.#head > 16 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}
