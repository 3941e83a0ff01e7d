/** Of this number of writes two go back to a value that was there before. */
const cycle = 5

/**
 * The value of a write. Of five one writes the same value again, which changes nothing, and one goes back to the value before that, which
 * changes nothing for whoever has missed what came between: 1, 2, 2, 1, 5, 6, 7, 7, 6, 10 …
 */
export function valueOfWrite(write: number): number {
  const at = write % cycle
  if (at === 3) return write - 1
  return at === 4 ? write - 3 : write
}

/** Whether a write goes back to a value that was there before. */
export function isAgain(write: number): boolean {
  return valueOfWrite(write) !== write
}

/**
 * The values of one entity. Its only writer counts its writes, and ends with the first that is not answered: that may be carried out
 * at any time. One that is answered with that its outcome is not known may have been carried out, and is not any more behind one
 * that was acknowledged later. So a read shows the value of the last write that was acknowledged, or of one after it that was not refused.
 */
export class ValueHistory {
  readonly id: string
  /** The last write that was sent. */
  sent = 0
  /** The writes that were acknowledged, in order. */
  readonly acknowledged: number[] = []
  readonly #refused = new Set<number>()
  /** A read that has ended has shown this write, or a later one of the same value. */
  #shown = 0
  /** The values that a receiver has accepted, in order. */
  readonly notified: number[] = []
  readonly violations: string[] = []

  constructor(id: string) {
    this.id = id
  }

  /** The next write to send. */
  next(): number {
    this.sent += 1
    return this.sent
  }

  acknowledge(write: number): void {
    this.acknowledged.push(write)
  }

  /** The writer was told that a write was not carried out. */
  refuse(write: number): void {
    this.#refused.add(write)
  }

  /** To be called when a read begins at a node; gives what takes the value that it has shown, 0 for no entity. */
  reading(node: string): (value: number) => void {
    const [acknowledged, shown] = [this.acknowledged.at(-1) ?? 0, this.#shown]
    return (value) => {
      const writes = this.#writesOf(value).filter((write) => !this.#refused.has(write))
      const write = writes.find((each) => each >= acknowledged && each >= shown)
      if (write !== undefined) {
        this.#shown = Math.max(this.#shown, write)
        return
      }
      const violated = (what: string): void => void this.violations.push(`${node} shows ${this.id} = ${value}, ${what}`)
      const last = writes.at(-1)
      if (last === undefined) violated(this.#writesOf(value).length > 0 ? 'which was refused' : 'which was not sent')
      else if (last < acknowledged)
        violated(`write ${acknowledged} of ${valueOfWrite(acknowledged)} was acknowledged before`)
      else violated(`write ${shown} of ${valueOfWrite(shown)} was shown before`)
    }
  }

  /** Whether each change that was acknowledged is among the notifications, in their order. */
  get isNotified(): boolean {
    let at = 0
    for (const value of this.notified) if (value === this.#changes[at]) at += 1
    return at === this.#changes.length
  }

  /** Whether notifications of values that are written only once, or at once again, have come in order first. */
  get isInOrder(): boolean {
    const acknowledged = new Set(this.acknowledged.map(valueOfWrite))
    const firsts = [...new Set(this.notified)].filter((value) => acknowledged.has(value) && value % cycle !== 1)
    return firsts.every((value, at) => value > (firsts[at - 1] ?? 0))
  }

  /** The values that were acknowledged, without those that change nothing. */
  get #changes(): readonly number[] {
    return this.acknowledged.map(valueOfWrite).filter((value, at, all) => value !== all[at - 1])
  }

  /** In their order. */
  #writesOf(value: number): readonly number[] {
    if (value === 0) return [0]
    return [value, value + 1, value + 3].filter((write) => write <= this.sent && valueOfWrite(write) === value)
  }
}
