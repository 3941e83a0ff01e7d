import type { OutcomePart } from './batch-route.js'

/**
 * Gathers the outcomes of the commands of a batch into parts: the first one has those of all commands that are not deferred, each
 * later one what has come since, as soon as nothing more comes at the same time.
 */
export class OutcomeParts<Outcome> {
  readonly #take: (part: OutcomePart<Outcome>) => void
  /** By the positions of the commands; those of later parts are in `#gathered`. */
  readonly #outcomes: (Outcome | undefined)[]
  readonly #deferred = new Set<number>()
  #gathered: number[] = []
  /** How many have no outcome. */
  #open: number
  #isFirst = true
  #isDue = false

  constructor(commands: number, take: (part: OutcomePart<Outcome>) => void) {
    this.#take = take
    this.#open = commands
    this.#outcomes = new Array(commands)
  }

  /** The outcome of a command comes later than those of others. */
  deferred(at: number): void {
    if (this.#outcomes[at] !== undefined) return
    this.#deferred.add(at)
    this.#partSoon()
  }

  /** A command has its outcome, which comes once. */
  came(at: number, outcome: Outcome): void {
    this.#outcomes[at] = outcome
    this.#gathered.push(at)
    this.#open -= 1
    this.#deferred.delete(at)
    if (this.#open === 0 && this.#isFirst) this.#whole()
    else if (!this.#isFirst || this.#deferred.size > 0) this.#partSoon()
  }

  /** Outcomes that come at the same time come in microtasks that follow each other. */
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
