import type { CommandOutcome, OutcomePart } from './batch-route.js'
import { commandsMost, type FirstOutcomes, type PlacedOutcome } from './command-batch.js'
import type { BatchSource, ConnectionBatches } from './connection-batches.js'

/** A batch of which something was deferred. */
interface DeferredBatch {
  /** How many of its commands were deferred, and their outcomes are not handed out. */
  open: number
  /** Called when there is none of them left. */
  readonly over: () => void
}

/**
 * The outcomes of commands that the partition has deferred, at the node that has taken them, for one connection. Their sender asks for them by
 * requests of the same connection, whose answers come in the order of the requests. So one that waits is answered as soon as another
 * request is behind it, and keeps nothing else from being answered.
 *
 * | state         | event                        | then    | the request that waits is answered with |
 * |---------------|------------------------------|---------|--------------------------|
 * | nothing there | asked                        | waits   |                          |
 * | some there    | asked                        | nothing there, or some | what is there, as much as fits |
 * | waits         | outcomes come                | nothing there, or some | the same  |
 * | waits         | another request arrives, it has waited for long | nothing there | nothing |
 * | any           | the connection closes        | over    | nothing                  |
 *
 * A sender that has been answered asks again while something of its batches is deferred; it ends with the last outcome, or with the connection.
 */
export class LaterOutcomes {
  readonly #batches = new Map<number, DeferredBatch>()
  #named = 0
  #there: PlacedOutcome[] = []
  #waiting: ((outcomes: readonly PlacedOutcome[]) => void) | undefined
  #isOver = false

  /** The outcomes of so many commands of a batch come later: gives its name. `over` is called when they are handed out, or never will be. */
  begin(commands: number, over: () => void): number {
    this.#named += 1
    if (this.#isOver) over()
    else this.#batches.set(this.#named, { open: commands, over })
    return this.#named
  }

  /** Outcomes come. */
  came(outcomes: readonly PlacedOutcome[]): void {
    if (this.#isOver) return
    for (const outcome of outcomes) this.#there.push(outcome)
    this.#handOut()
  }

  /** Calls back once, with outcomes that are there or come; with nothing when something else is to be answered. */
  ask(take: (outcomes: readonly PlacedOutcome[]) => void): void {
    this.yield()
    if (this.#isOver) take([])
    else {
      this.#waiting = take
      this.#handOut()
    }
  }

  /** Another request arrives, or the one that waits has waited for long. */
  yield(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.([])
  }

  /** The connection is closed. */
  close(): void {
    this.#isOver = true
    this.yield()
    this.#there = []
    for (const { over } of this.#batches.values()) over()
    this.#batches.clear()
  }

  #handOut(): void {
    const waiting = this.#waiting
    if (waiting === undefined || this.#there.length === 0) return
    this.#waiting = undefined
    const outcomes = this.#there.splice(0, commandsMost)
    waiting(outcomes)
    for (const { batch } of outcomes) this.#handedOut(batch)
  }

  #handedOut(number: number): void {
    const batch = this.#batches.get(number)
    if (batch === undefined) return
    batch.open -= 1
    if (batch.open > 0) return
    this.#batches.delete(number)
    batch.over()
  }
}

/** What is answered to the request that has brought a batch. */
export interface FirstAnswer extends FirstOutcomes {
  /** When others follow: resolves when their outcomes are handed out, or never will be. */
  readonly over: Promise<void> | undefined
}

/** The answers to a batch, at the node that has taken it: the first one, and what is left for later ones. */
export class BatchAnswers {
  readonly #batches: Pick<ConnectionBatches, 'unowned' | 'end'>
  readonly #later: LaterOutcomes
  readonly #source: BatchSource
  readonly #commands: number
  readonly #first: (answer: FirstAnswer) => void
  #open: number
  /** Once it is answered first, and outcomes are left. */
  #name: number | undefined

  constructor(
    batches: Pick<ConnectionBatches, 'unowned' | 'end'>,
    later: LaterOutcomes,
    source: BatchSource,
    commands: number,
    first: (answer: FirstAnswer) => void,
  ) {
    this.#batches = batches
    this.#later = later
    this.#source = source
    this.#commands = commands
    this.#open = commands
    this.#first = first
  }

  /**
   * Outcomes come, see `BatchRoute.send`. Nobody is told of one that says that this node is not the owner before the connection refuses
   * what follows.
   */
  came(part: OutcomePart<CommandOutcome>): void {
    const { outcomes, at } = part
    this.#open -= outcomes.length
    if (outcomes.some(isUnowned)) this.#batches.unowned()
    if (this.#open === 0) this.#batches.end(this.#source)
    const name = this.#name
    if (name === undefined) this.#answerFirst(part)
    else this.#later.came(outcomes.map((outcome, index) => ({ batch: name, at: at?.[index] ?? index, outcome })))
  }

  #answerFirst({ outcomes, at }: OutcomePart<CommandOutcome>): void {
    if (at === undefined) {
      this.#first({ outcomes, batch: undefined, over: undefined })
      return
    }
    const all: (CommandOutcome | undefined)[] = Array.from({ length: this.#commands })
    for (const [index, place] of at.entries()) all[place] = outcomes[index]
    const over =
      this.#open === 0
        ? undefined
        : new Promise<void>((ended) => {
            this.#name = this.#later.begin(this.#open, ended)
          })
    this.#first({ outcomes: all, batch: this.#name, over })
  }
}

/** Whether an outcome says that the node is not the owner of the partition. */
export function isUnowned(outcome: CommandOutcome | undefined): boolean {
  return outcome?.ok === false && outcome.error.kind === 'notOwner'
}
