import type { MessagePort } from 'node:worker_threads'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId, SubscriptionInForce } from '../../model/subscription/subscription.js'
import type { TurnCost } from '../../observe/measure/slow-requests.js'
import type { Result } from '../../result.js'
import type { PinFailure, PinnedCommit, PinPurpose } from '../../storage/records/store.js'
import type { LogSequence } from '../../storage/wal/record-log.js'
import type { Operations } from '../../threads/calls/service.js'
import type { FencingToken } from '../../threads/shared-memory/partition-position.js'
import type { Nanoseconds } from '../../time.js'
import type { Reply } from '../turn/commands.js'
import type { Encoded } from '../turn/encoding.js'

/** A batch of encoded commands from a front end to a partition. */
export interface Batch {
  /** Its number among the batches that this front end sends to the partition; replies name it. */
  readonly number: number
  readonly commands: Encoded
  /** While waits are measured: when each command entered the mailbox, in ns of the monotonic clock. */
  readonly entered?: BigUint64Array
  /**
   * In a cluster: when the front end stops waiting for the replies, in ns of the monotonic clock. Commands that are not taken by
   * then are refused: their clients were told that the outcome is unknown, and may have sent something newer by another route.
   */
  readonly until?: bigint
  /** For commands from another node: the fencing token that their route is bound to. */
  readonly fencingToken?: FencingToken
}

/**
 * The partition's reply once the changes of the batch are durable. If commands are deferred (see `TurnShares`), the first reply
 * has those of all others, possibly none, and each later turn that takes deferred ones sends another.
 */
export interface BatchReply extends TurnCost {
  /** The number of the batch. */
  readonly batch: number
  readonly replies: Encoded
  /** The positions of the commands that the replies answer; absent: all of them. */
  readonly at?: readonly number[]
}

/** A `PinGate`, and how long a thread waits at it. */
export interface GateEnd {
  readonly memory: SharedArrayBuffer
  readonly limit_ms: number
}

/** The coordinator's calls to the thread of a partition. Each begins when all before it are done. */
export interface PartitionOperations {
  /** Resolves when the store is open, with the highest sequence of an entity that was ever created in the partition. */
  opened(): Promise<number>
  /** Connects one more front end. */
  connect(port: MessagePort): void
  /**
   * Brings a subscription into force from the next turn on, in place of an earlier one of the same id. Gives the last notice that
   * was made before.
   */
  subscribe(inForce: SubscriptionInForce): Promise<NoticeNumber>
  /** Ends a subscription from the next turn on. Gives the last notice that was made before. */
  unsubscribe(id: SubscriptionId): Promise<NoticeNumber>
  /**
   * Pins the last commit for a copy of the file. If there is a gate, waits at it between turns together with all partitions, and
   * answers behind it, unless the commit cannot be pinned.
   */
  pin(purpose: PinPurpose, gate?: GateEnd): Promise<Result<PinnedCommit, PinFailure>>
  /** Releases the pin; says whether it was in place until then. */
  unpin(purpose: PinPurpose): Promise<boolean>
  /** All calls for the metadata log up to this record were made before this one. */
  metadataInForce(metadataVersion: LogSequence): void
  /**
   * The owner appends a heartbeat record, which confirms what is in force. Gives the last notice that was made before; undefined
   * where another node owns the partition.
   */
  heartbeat(): Promise<NoticeNumber | undefined>
  /** Becomes the owner of the partition's log in its cluster. */
  own(): void
  release(): void
  /** Takes no more batches, finishes, closes the store. */
  drain(): void
}

export const partitionOperations: Operations<PartitionOperations> = {
  opened: 'ask',
  connect: 'tell',
  subscribe: 'ask',
  unsubscribe: 'ask',
  pin: 'ask',
  unpin: 'ask',
  metadataInForce: 'tell',
  heartbeat: 'ask',
  own: 'tell',
  release: 'tell',
  drain: 'tell',
}

/** The calls of a partition's thread to the coordinator. */
export interface PartitionEvents {
  /** This node owns the partition's log by the election of this sequence; undefined: it does not. */
  owns(epoch: LogSequence | undefined): void
}

export const partitionEvents: Operations<PartitionEvents> = { owns: 'tell' }

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
