import type { MailboxRefusal, Posted } from '../../partition/mailbox/batch.js'
import type { Command } from '../../partition/turn/commands.js'
import type { Result } from '../../result.js'

/** Why the owner of a partition, here or on another node, gives no reply to a command. */
export type CommandRefusal = MailboxRefusal | NotOwner

/** Another node owns the partition; the command was not carried out. */
export interface NotOwner {
  readonly kind: 'notOwner'
  /** The owner as far as that node knows. */
  readonly owner: string | undefined
}

/** The response of a node to a command that it was to carry out. */
export type CommandOutcome = Result<Posted, CommandRefusal>

/** Why another node has not answered a command. */
export type NoResponse =
  /** The node cannot be reached; nothing of the command has left this one. */
  | { readonly kind: 'unsent' }
  /** The node has refused the request, and refuses all that follow on the same route. */
  | { readonly kind: 'refused' }
  /**
   * The command was sent and not answered in time or before the connection broke. It may be carried out until a later route is
   * opened.
   */
  | { readonly kind: 'unanswered' }

/** The outcome of a command that was sent to the owner of its partition. */
export type SentOutcome = Result<Posted, CommandRefusal | NoResponse>

/** Outcomes of a batch that arrive together. */
export interface OutcomePart<Outcome = SentOutcome> {
  readonly outcomes: readonly Outcome[]
  /** The positions of their commands in the batch; absent: all commands in order. */
  readonly at?: readonly number[]
}

/** A route that can be used. Nothing that its sender has sent to the same node by earlier routes is carried out any more. */
export interface OpenedRoute {
  /**
   * The election by which the node owns the partition, see `FencingToken`; 0 where none is known. Nothing of an earlier election is carried
   * out.
   */
  readonly epoch: number
}

/**
 * A route from one node to a partition. Batches arrive in the order in which they are sent. After the first command with the
 * outcome `notOwner` every later one has that outcome too, so that nothing overtakes the commands that are sent on: the route is
 * then useless, and another one has to be opened.
 */
export interface BatchRoute {
  /** How many batches may be under way. */
  readonly batchesMost: number
  /** Resolves when batches may be sent, or with the reason why this route takes none; never rejects. */
  readonly opened: Promise<Result<OpenedRoute, Exclude<NoResponse, { kind: 'unanswered' }>>>
  /**
   * Sends a batch on an opened route, and calls back with the outcome of each command once: first with those of all commands that the
   * partition has not deferred (see `TurnShares`), possibly none, then with the others as they come.
   *
   * @param until_ms when the sender stops waiting, by `performance.now()`: commands that are not taken by then are refused
   */
  send(commands: readonly Command[], until_ms: number, take: (part: OutcomePart) => void): void
  /** Gives up the batches under way; their outcomes stay unknown. */
  close(): void
}

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
