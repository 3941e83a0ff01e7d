import type { MessagePort } from 'node:worker_threads'
import type { TurnCost } from '../measure/operation-times.js'
import type { Encoded } from '../partition/encoding.js'
import type { PinnedFile } from '../partition/store.js'
import type { Tenure } from '../shared-memory/partition-position.js'
import type { NoticeNumber } from '../subscription/notice.js'
import type { SubscriptionId, SubscriptionInForce } from '../subscription/subscription.js'
import type { LogSequence } from '../wal/record-log.js'

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

/** What the coordinator tells a partition's thread. */
export type PartitionInstruction =
  | { readonly kind: 'connect'; readonly port: MessagePort }
  /** From the next turn on the subscription is in force, and replaces an earlier one of the same id. */
  | { readonly kind: 'subscribe'; readonly ticket: number; readonly inForce: SubscriptionInForce }
  | { readonly kind: 'unsubscribe'; readonly ticket: number; readonly id: SubscriptionId }
  /** Keep the last commit for a copy of the file, and wait at the gate if there is one, with the turns of all partitions. */
  | { readonly kind: 'pin'; readonly ticket: number; readonly gate: GateEnd | undefined }
  | { readonly kind: 'unpin'; readonly ticket: number }
  /** The same for another node that fetches a copy, of this partition alone. */
  | { readonly kind: 'pinCopy' | 'unpinCopy'; readonly ticket: number }
  /** What was told before is all that the coordinator's log of the cluster says up to this record. */
  | { readonly kind: 'control'; readonly control: LogSequence }
  /** Put a record into the log of the partition that says so. */
  | { readonly kind: 'mark'; readonly ticket: number }
  /** Become the owner of the partition's log in its cluster, or release it. */
  | { readonly kind: 'own' | 'release' }
  /** Take no more batches, finish, close the store. */
  | { readonly kind: 'drain' }

/** What a partition's thread tells the coordinator. */
export interface PartitionReady {
  readonly kind: 'ready'
  readonly lastNotice: NoticeNumber
  /** The highest sequence of an entity that was ever created in the partition. */
  readonly highestSequence: number
}

/** What a partition's thread says when an instruction about subscriptions is in force. */
export interface SubscriptionActivated {
  readonly kind: 'inForce'
  readonly ticket: number
  /** The last notice that was made before it came into force. */
  readonly lastNotice: NoticeNumber
}

/** A `PinGate`, and how long it is waited at. */
export interface GateEnd {
  readonly memory: SharedArrayBuffer
  readonly limit_ms: number
}

/** What a partition's thread says of the commit that it keeps, while it waits at the gate if there is one. */
export interface CommitPinned {
  readonly kind: 'pinned'
  readonly ticket: number
  /** Nothing when the file cannot be read. */
  readonly file: PinnedFile | undefined
  /** The last record of the log that the commit has applied. */
  readonly applied: LogSequence
}

/** What a partition's thread says when it keeps no commit any more. */
export interface CommitUnpinned {
  readonly kind: 'unpinned'
  readonly ticket: number
  /** Whether it has kept one until then. */
  readonly wasPinned: boolean
}

/** What a partition's thread says when a record of its log says what is in force. */
export interface ControlMarked {
  readonly kind: 'marked'
  readonly ticket: number
  /** The last notice that was made before; nothing where another node owns the partition. */
  readonly lastNotice: NoticeNumber | undefined
}

/** What a partition's thread says when its node becomes the owner of its log, or is it no more. */
export interface PartitionOwned {
  readonly kind: 'owns'
  /** The sequence of the claim. */
  readonly epoch: LogSequence | undefined
}

/** Everything that a partition's thread says. */
export type PartitionReport =
  | PartitionReady
  | PartitionOwned
  | SubscriptionActivated
  | ControlMarked
  | CommitPinned
  | CommitUnpinned
