import type { OutcomePart } from './batch-route.js'

/**
 * Groups the outcomes of a batch into parts: the first has those of all commands that are not deferred, each later one those that
 * have come together since.
 */
export class OutcomeParts<Outcome> {
  readonly #take: (part: OutcomePart<Outcome>) => void
  /** By the positions of the commands; outcomes of later parts are in `#gathered`. */
  readonly #outcomes: (Outcome | undefined)[]
  readonly #deferred = new Set<number>()
  #gathered: number[] = []
  /** The number of commands without an outcome. */
  #open: number
  #isFirst = true
  #isDue = false

  constructor(commands: number, take: (part: OutcomePart<Outcome>) => void) {
    this.#take = take
    this.#open = commands
    this.#outcomes = new Array(commands)
  }

  /** The command's outcome comes in a later part. */
  deferred(at: number): void {
    if (this.#outcomes[at] !== undefined) return
    this.#deferred.add(at)
    this.#partSoon()
  }

  /** Takes the only outcome of a command. */
  came(at: number, outcome: Outcome): void {
    this.#outcomes[at] = outcome
    this.#gathered.push(at)
    this.#open -= 1
    this.#deferred.delete(at)
    if (this.#open === 0 && this.#isFirst) this.#whole()
    else if (!this.#isFirst || this.#deferred.size > 0) this.#partSoon()
  }

  /** Outcomes that arrive together arrive in consecutive microtasks. */
  #partSoon(): void {
    if (this.#isDue || this.#open > this.#deferred.size) return
    this.#isDue = true
    queueMicrotask(() => {
      this.#isDue = false
      this.#part()
    })
  }

  #whole(): void {
    this.#isFirst = false
    this.#gathered = []
    this.#take({ outcomes: this.#outcomes.filter(isThere) })
  }

  #part(): void {
    if (this.#gathered.length === 0 && !this.#isFirst) return
    this.#isFirst = false
    const at = this.#gathered
    this.#gathered = []
    this.#take({ outcomes: at.map((each) => this.#outcomes[each]).filter(isThere), at })
    for (const each of at) this.#outcomes[each] = undefined
  }
}

function isThere<Outcome>(outcome: Outcome | undefined): outcome is Outcome {
  return outcome !== undefined
}
