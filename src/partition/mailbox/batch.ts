import type { MessagePort } from 'node:worker_threads'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId, SubscriptionInForce } from '../../model/subscription/subscription.js'
import type { TurnCost } from '../../observe/measure/slow-requests.js'
import type { PinnedCommit, PinPurpose } from '../../storage/records/store.js'
import type { LogSequence } from '../../storage/wal/record-log.js'
import type { Operations } from '../../threads/calls/service.js'
import type { Tenure } from '../../threads/shared-memory/partition-position.js'
import type { Nanoseconds } from '../../time.js'
import type { Reply } from '../turn/commands.js'
import type { Encoded } from '../turn/encoding.js'

/** What a front end sends to a partition: a batch of encoded commands. */
export interface Batch {
  /** Of all batches that this front end sends to the partition; its replies name it. */
  readonly number: number
  readonly commands: Encoded
  /** While waits are measured: when each command entered the mailbox, in ns of the monotonic clock. */
  readonly entered?: BigUint64Array
  /**
   * In a cluster: when the front end stops to wait for the replies, in ns of the monotonic clock. What is not taken by then is
   * refused: its client has been told that it may have been carried out, and may have sent something newer by another way since.
   */
  readonly until?: bigint
  /** Of what came by a way between nodes: the tenure that the way is bound to, see `Tenure`. */
  readonly tenure?: Tenure
}

/**
 * What the partition sends back when the changes of the batch are on disk. Some of its commands may be deferred (see `TurnShares`):
 * then the first one has the replies to all others, if there are any, and one for each turn that takes deferred ones follows.
 */
export interface BatchReply extends TurnCost {
  /** The number of the batch. */
  readonly batch: number
  readonly replies: Encoded
  /** Which commands of the batch the replies are to, by their positions; all of them when absent. */
  readonly at?: readonly number[]
}

/** A `PinGate`, and how long it is waited at. */
export interface GateEnd {
  readonly memory: SharedArrayBuffer
  readonly limit_ms: number
}

/** What the coordinator has the thread of a partition do, each when all before it is done. */
export interface PartitionOperations {
  /** Answers when the store is open, with the highest sequence of an entity that was ever created in the partition. */
  opened(): Promise<number>
  /** Takes the batches of one more front end. */
  connect(port: MessagePort): void
  /**
   * From the next turn on the subscription is in force, and replaces an earlier one of the same id. Gives the last notice that was made
   * before.
   */
  subscribe(inForce: SubscriptionInForce): Promise<NoticeNumber>
  /** From the next turn on no notices are made of it. Gives the last one. */
  unsubscribe(id: SubscriptionId): Promise<NoticeNumber>
  /**
   * Keeps the last commit for a copy of the file. Waits at the gate if there is one, with the turns of all partitions, and answers
   * behind that. Nothing when the file cannot be read.
   */
  pin(purpose: PinPurpose, gate?: GateEnd): Promise<PinnedCommit | undefined>
  /** Keeps it no more; says whether it did so until then. */
  unpin(purpose: PinPurpose): Promise<boolean>
  /** What was called before is all that the metadata log of the cluster says up to this record. */
  controlled(control: LogSequence): void
  /**
   * Has the owner append a heartbeat record, which says what is in force. Gives the last notice that was made before; nothing where
   * another node owns the partition.
   */
  heartbeat(): Promise<NoticeNumber | undefined>
  /** Becomes the owner of the partition's log in its cluster. */
  own(): void
  release(): void
  /** Takes no more batches, finishes, closes the store. */
  drain(): void
}

export const partitionOperations: Operations<PartitionOperations> = {
  opened: 'asked',
  connect: 'told',
  subscribe: 'asked',
  unsubscribe: 'asked',
  pin: 'asked',
  unpin: 'asked',
  controlled: 'told',
  heartbeat: 'asked',
  own: 'told',
  release: 'told',
  drain: 'told',
}

/** What the thread of a partition tells the coordinator. */
export interface PartitionEvents {
  /** Its node owns the log of the partition since a claim, of this sequence, or no more. */
  owns(epoch: LogSequence | undefined): void
}

export const partitionEvents: Operations<PartitionEvents> = { owns: 'told' }

/** A reply with what its turn cost. */
export interface Posted {
  readonly reply: Reply
  readonly turn: TurnCost
  /** When the command entered the mailbox, by the monotonic clock; 0 unless waits are measured. */
  readonly entered: Nanoseconds
}

export type MailboxRefusal =
  /** As many commands wait as may; nothing was put in. */
  { readonly kind: 'mailboxFull' } | LostBatch

/** Why there is no reply to a command that had room. */
export type LostBatch =
  /** There is no thread of the partition; the command was not sent, and so not carried out. */
  | { readonly kind: 'partitionLost' }
  /** The partition's thread died when the command had been sent; whether it was carried out is not known. */
  | { readonly kind: 'outcomeUnknown' }
