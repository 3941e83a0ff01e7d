/** Random numbers that a seed repeats (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** From 0 up to 1, which it never is. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

  /** A whole number below a limit. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** Mostly short, now and then so long that other things overtake it, in ms. */
  delay_ms(): number {
    const kind = this.next()
    if (kind < 0.85) return 0.1 + this.next() * 4
    return kind < 0.97 ? this.next() * 400 : this.next() * 7000
  }

  of<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)]
    if (item === undefined) throw new Error('there is nothing to choose from')
    return item
  }
}

interface Planned {
  readonly at_ms: number
  readonly order: number
  readonly run: () => void
}

/** What is to happen, in the order of a clock that only moves from one event to the next. */
export class Schedule {
  now_ms = 0
  #order = 0
  /** A binary heap. */
  readonly #planned: Planned[] = []

  plan(delay_ms: number, run: () => void): void {
    this.#order += 1
    const planned = { at_ms: this.now_ms + delay_ms, order: this.#order, run }
    const heap = this.#planned
    let at = heap.length
    heap.push(planned)
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = heap[parent]
      if (above === undefined || isBefore(above, planned)) break
      heap[at] = above
      at = parent
    }
    heap[at] = planned
  }

  /** When the next thing is to happen; never, if there is none. */
  get due_ms(): number {
    return this.#planned[0]?.at_ms ?? Number.POSITIVE_INFINITY
  }

  /** Lets everything happen up to a moment. */
  runUntil(at_ms: number): void {
    for (let first = this.#planned[0]; first !== undefined && first.at_ms <= at_ms; first = this.#planned[0]) {
      this.#removeFirst()
      this.now_ms = first.at_ms
      first.run()
    }
    this.now_ms = at_ms
  }

  /** Lets the next thing happen, if that is up to a moment; else it is that moment. Says whether something has happened. */
  step(at_ms: number): boolean {
    const first = this.#planned[0]
    if (first === undefined || first.at_ms > at_ms) {
      this.now_ms = Math.max(this.now_ms, at_ms)
      return false
    }
    this.#removeFirst()
    this.now_ms = first.at_ms
    first.run()
    return true
  }

  #removeFirst(): void {
    const heap = this.#planned
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let at = 0
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]]
      if (left === undefined) break
      const isRight = right !== undefined && isBefore(right, left)
      const below = isRight ? right : left
      if (isBefore(last, below)) break
      heap[at] = below
      at = 2 * at + (isRight ? 2 : 1)
    }
    heap[at] = last
  }
}

function isBefore(a: Planned, b: Planned): boolean {
  return a.at_ms < b.at_ms || (a.at_ms === b.at_ms && a.order < b.order)
}
