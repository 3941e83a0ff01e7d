/** Says once that something is nearly full, and again only after it was less than half full. */
export class Watermark {
  #said = false

  /** Whether it is to be said now: more than 80 % of the limit is taken. */
  passed(taken: number, limit: number): boolean {
    if (taken * 2 < limit) this.#said = false
    if (this.#said || taken * 5 <= limit * 4) return false
    this.#said = true
    return true
  }
}
