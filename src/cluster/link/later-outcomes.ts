import type { CommandOutcome, OutcomePart } from './batch-route.js'
import { commandsMost, type FirstOutcomes, type PlacedOutcome } from './command-batch.js'
import type { ConnectionBatches, PartitionSender } from './connection-batches.js'

/** A batch with deferred commands. */
interface DeferredBatch {
  /** The deferred commands whose outcomes have not been handed out. */
  open: number
  /** Called when none of them is left. */
  readonly over: () => void
}

/**
 * The outcomes of deferred commands of one connection, at the node that has taken them. The sender asks for them by requests on the same
 * connection, whose responses come in the order of the requests. So a waiting request is answered as soon as another one is behind it, and
 * never delays another response.
 *
 * | state | event                                           | then          | response to the waiting request |
 * |-------|-------------------------------------------------|---------------|--------------------------|
 * | empty | request                                         | waits         | |
 * | some  | request                                         | empty or some | the outcomes, as many as fit |
 * | waits | outcomes come                                   | empty or some | the outcomes, as many as fit |
 * | waits | another request arrives, or it has waited long  | empty         | no outcomes |
 * | any   | the connection closes                           | over          | no outcomes |
 *
 * A sender asks again after each response while any command of its batches is deferred.
 */
export class LaterOutcomes {
  readonly #batches = new Map<number, DeferredBatch>()
  #named = 0
  #there: PlacedOutcome[] = []
  #waiting: ((outcomes: readonly PlacedOutcome[]) => void) | undefined
  #isOver = false

  /** Names a batch with this many deferred commands. `over` is called when their outcomes are handed out, or never will be. */
  begin(commands: number, over: () => void): number {
    this.#named += 1
    if (this.#isOver) over()
    else this.#batches.set(this.#named, { open: commands, over })
    return this.#named
  }

  came(outcomes: readonly PlacedOutcome[]): void {
    if (this.#isOver) return
    for (const outcome of outcomes) this.#there.push(outcome)
    this.#handOut()
  }

  /** Calls back once: with outcomes as soon as there are some, or with none when something else has to be answered. */
  ask(take: (outcomes: readonly PlacedOutcome[]) => void): void {
    this.yield()
    if (this.#isOver) take([])
    else {
      this.#waiting = take
      this.#handOut()
    }
  }

  /** Answers the waiting request with nothing: another request has arrived, or it has waited for long. */
  yield(): void {
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.([])
  }

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

/** The first response to a batch. */
export interface FirstResponse extends FirstOutcomes {
  /** When later responses follow: resolves when their outcomes are handed out, or never will be. */
  readonly over: Promise<void> | undefined
}

/** The responses to a batch at the node that has taken it: the first one, and the rest as later ones. */
export class BatchResponses {
  readonly #batches: Pick<ConnectionBatches, 'unowned' | 'end'>
  readonly #later: LaterOutcomes
  readonly #sender: PartitionSender
  readonly #commands: number
  readonly #first: (response: FirstResponse) => void
  #open: number
  /** Set once the first response is given and outcomes are left. */
  #name: number | undefined

  constructor(
    batches: Pick<ConnectionBatches, 'unowned' | 'end'>,
    later: LaterOutcomes,
    sender: PartitionSender,
    commands: number,
    first: (response: FirstResponse) => void,
  ) {
    this.#batches = batches
    this.#later = later
    this.#sender = sender
    this.#commands = commands
    this.#open = commands
    this.#first = first
  }

  /** Takes outcomes, see `BatchRoute.send`. Before anybody learns of a `notOwner`, the connection refuses what follows. */
  came(part: OutcomePart<CommandOutcome>): void {
    const { outcomes, at } = part
    this.#open -= outcomes.length
    if (outcomes.some(isUnowned)) this.#batches.unowned()
    if (this.#open === 0) this.#batches.end(this.#sender)
    const name = this.#name
    if (name === undefined) this.#respondFirst(part)
    else this.#later.came(outcomes.map((outcome, index) => ({ batch: name, at: at?.[index] ?? index, outcome })))
  }

  #respondFirst({ outcomes, at }: OutcomePart<CommandOutcome>): void {
    if (at === undefined) {
      this.#first({ outcomes, batch: undefined, over: undefined })
      return
    }
    const all: (CommandOutcome | undefined)[] = Array.from({ length: this.#commands })
    for (const [index, position] of at.entries()) all[position] = outcomes[index]
    const over =
      this.#open === 0
        ? undefined
        : new Promise<void>((ended) => {
            this.#name = this.#later.begin(this.#open, ended)
          })
    this.#first({ outcomes: all, batch: this.#name, over })
  }
}

export function isUnowned(outcome: CommandOutcome | undefined): boolean {
  return outcome?.ok === false && outcome.error.kind === 'notOwner'
}
