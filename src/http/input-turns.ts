import type { Nanoseconds } from '../time.js'

/** Requests that one connection begins in a turn of the event loop. */
export const requestsPerTurn = 16

/**
 * How long all connections together may begin requests of which they had sent several at once. What Node does for these
 * requests afterwards takes as long again.
 */
const turnTime: Nanoseconds = 2_000_000n

/** A connection that has more requests to begin than it may at once. */
export interface WaitingInput {
  /** Begins some of them. It catches its own faults, and is added again when it may begin more. */
  takeTurn(): void
  /** Reads on, when all that it had sent has begun. */
  readNext(): void
}

/**
 * Shares each turn of the event loop between the connections that have sent many requests at once: they begin some in turn,
 * and everything else that has arrived is served in between. It costs nothing while no connection sends a request before
 * it has the response to the one before.
 */
export class InputTurns {
  readonly #flushResponses: () => void
  #waiting: WaitingInput[] = []
  readonly #readers = new Set<WaitingInput>()
  #isArmed = false
  #number = 0
  #since: Nanoseconds = 0n

  /** `flushResponses` writes the responses that are ready: to write them is a part of what requests cost. */
  constructor(flushResponses: () => void) {
    this.#flushResponses = flushResponses
  }

  /** The number of the turn of the event loop; it is exact while `enter` is called in each turn. */
  get number(): number {
    return this.#number
  }

  /** A connection begins a further request in this turn: the end of the turn is noticed from now on. Gives its number. */
  enter(now: Nanoseconds): number {
    if (!this.#isArmed) this.#arm(now)
    return this.#number
  }

  /** Whether the connections together have used up the time of this turn. */
  isOver(now: Nanoseconds): boolean {
    return now - this.#since >= turnTime
  }

  /** The connection gets its turn behind those that wait already. */
  add(input: WaitingInput): void {
    this.#waiting.push(input)
    if (!this.#isArmed) this.#arm(process.hrtime.bigint())
  }

  /**
   * The connection reads on behind those that wait already. One of them does in each turn: what it reads may be 1,400 requests again,
   * which Node parses in one go.
   */
  addReader(input: WaitingInput): void {
    this.#readers.add(input)
    if (!this.#isArmed) this.#arm(process.hrtime.bigint())
  }

  #arm(now: Nanoseconds): void {
    this.#isArmed = true
    this.#since = now
    setImmediate(() => this.#next())
  }

  #next(): void {
    this.#isArmed = false
    this.#number += 1
    if (this.#waiting.length === 0 && this.#readers.size === 0) return
    this.#arm(process.hrtime.bigint())
    this.#flushResponses()
    const waiting = this.#waiting
    this.#waiting = []
    let served = 0
    for (const input of waiting) {
      input.takeTurn()
      this.#flushResponses()
      served += 1
      if (this.isOver(process.hrtime.bigint())) break
    }
    this.#waiting = [...waiting.slice(served), ...this.#waiting]
    for (const reader of this.#readers) {
      this.#readers.delete(reader)
      reader.readNext()
      break
    }
  }
}
