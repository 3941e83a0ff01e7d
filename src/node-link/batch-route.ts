import type { MailboxRefusal, Posted } from '../mailbox/mailbox.js'
import type { Command } from '../partition/commands.js'
import type { Result } from '../result.js'

/** Why there is no reply to a command that was sent to the owner of its partition, here or on another node. */
export type CommandRefusal = MailboxRefusal | NotOwner | Unsent

/** The partition is owned by another node; the command was not carried out. */
export interface NotOwner {
  readonly kind: 'notOwner'
  /** Who owns it as far as the node that was asked knows. */
  readonly owner: string | undefined
}

/** Nothing of the command has left this node: the other one cannot be reached. */
export interface Unsent {
  readonly kind: 'unsent'
}

export type CommandOutcome = Result<Posted, CommandRefusal>

/**
 * A way to the partition as one node has it. Batches arrive in the order in which they are sent. Once a command of it has had
 * the outcome `notOwner`, every later one of it has that outcome too, so that nothing overtakes what is sent on: the way is
 * of no use any more, and another one has to be opened.
 */
export interface BatchRoute {
  /** How many batches may be under way. */
  readonly batchesMost: number
  /**
   * The outcomes in the order of the commands; never rejects.
   *
   * @param until_ms when the sender stops to wait, by `performance.now()`: what is not taken by then is refused
   */
  send(commands: readonly Command[], until_ms: number): Promise<readonly CommandOutcome[]>
  /** Gives up what is under way, whose outcome is not known then. */
  close(): void
}
