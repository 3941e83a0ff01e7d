import type { MailboxRefusal, Posted } from '../../partition/mailbox/mailbox.js'
import type { Command } from '../../partition/turn/commands.js'
import type { Result } from '../../result.js'

/** Why the owner of a partition, here or on another node, gives no reply to a command. */
export type CommandRefusal = MailboxRefusal | NotOwner

/** The partition is owned by another node; the command was not carried out. */
export interface NotOwner {
  readonly kind: 'notOwner'
  /** Who owns it as far as the node that was asked knows. */
  readonly owner: string | undefined
}

/** What a node says of a command that it was to carry out. */
export type CommandOutcome = Result<Posted, CommandRefusal>

/** Why nothing is known from the other node. */
export type NoAnswer =
  /** Nothing of the command has left this node: the other one cannot be reached. */
  | { readonly kind: 'unsent' }
  /** The other node has refused the request, and refuses all that follow it by the same way. */
  | { readonly kind: 'refused' }
  /** It has left, and there is no answer: it may be carried out until a later way is opened, or nobody waits for it any more. */
  | { readonly kind: 'unanswered' }

/** What became of a command that was sent to the owner of its partition. */
export type SentOutcome = Result<Posted, CommandRefusal | NoAnswer>

/** Outcomes of a batch that come at the same time. */
export interface OutcomePart<Outcome = SentOutcome> {
  readonly outcomes: readonly Outcome[]
  /** Which commands of the batch they are of, by their positions; all of them, in their order, when absent. */
  readonly at?: readonly number[]
}

/** A way that can be used. Nothing that its sender has sent to the same node by an earlier way is carried out any more. */
export interface OpenedWay {
  /** The claim by which the node owns the partition, see `Tenure`; 0 where none is known. Nothing of an earlier one is carried out. */
  readonly epoch: number
}

/**
 * A way to the partition as one node has it. Batches arrive in the order in which they are sent. Once a command of it has had
 * the outcome `notOwner`, every later one of it has that outcome too, so that nothing overtakes what is sent on: the way is
 * of no use any more, and another one has to be opened.
 */
export interface BatchRoute {
  /** How many batches may be under way. */
  readonly batchesMost: number
  /** Says when batches may be sent, or that this way will take none; never rejects. */
  readonly opened: Promise<Result<OpenedWay, Exclude<NoAnswer, { kind: 'unanswered' }>>>
  /**
   * Sends a batch, and calls back with the outcome of each command once: at first with those of all commands that the partition has not
   * deferred (see `TurnShares`), which may be none, then with those of the others as they come. Only when the way is opened.
   *
   * @param until_ms when the sender stops to wait, by `performance.now()`: what is not taken by then is refused
   */
  send(commands: readonly Command[], until_ms: number, take: (part: OutcomePart) => void): void
  /** Gives up what is under way, whose outcome is not known then. */
  close(): void
}
