/**
 * The values of one entity. Its only writer sends 1, 2, 3 … and ends with the first that is not answered: that may be carried out
 * at any time. One that is answered with that its outcome is not known may have been carried out, and is not any more behind one
 * that was acknowledged later. So a read shows the last value that was acknowledged, or one after it that was not refused.
 */
export class ValueHistory {
  readonly id: string
  /** The highest value that was sent. */
  sent = 0
  /** The values that were acknowledged, in order. */
  readonly acknowledged: number[] = []
  readonly #refused = new Set<number>()
  /** The highest value that a read has shown which has ended. */
  #shown = 0
  /** The values that a receiver has accepted, in order. */
  readonly notified: number[] = []
  readonly violations: string[] = []

  constructor(id: string) {
    this.id = id
  }

  /** The next value to send. */
  next(): number {
    this.sent += 1
    return this.sent
  }

  acknowledge(value: number): void {
    this.acknowledged.push(value)
  }

  /** The writer was told that a value was not carried out. */
  refuse(value: number): void {
    this.#refused.add(value)
  }

  /** To be called when a read begins at a node; gives what takes the value that it has shown, 0 for no entity. */
  reading(node: string): (value: number) => void {
    const [acknowledged, shown] = [this.acknowledged.at(-1) ?? 0, this.#shown]
    return (value) => {
      const violated = (what: string): void => void this.violations.push(`${node} shows ${this.id} = ${value}, ${what}`)
      if (value < acknowledged) violated(`${acknowledged} was acknowledged before`)
      if (value < shown) violated(`${shown} was shown before`)
      if (value > this.sent) violated(`${this.sent} was sent last`)
      if (this.#refused.has(value)) violated('which was refused')
      this.#shown = Math.max(this.#shown, value)
    }
  }

  get isNotified(): boolean {
    const notified = new Set(this.notified)
    return this.acknowledged.every((value) => notified.has(value))
  }

  /** What was acknowledged, in the order in which it was notified first. */
  get notifiedInOrder(): readonly number[] {
    const acknowledged = new Set(this.acknowledged)
    return [...new Set(this.notified)].filter((value) => acknowledged.has(value))
  }
}
