import type { Entity, EntityId, ServicePath, Tenant } from '../../model/context/entity.js'
import type { EntityLimits } from '../../model/context/entity-size.js'
import type { NewNotice, NoticeAck, NoticeNumber } from '../../model/subscription/notice.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../time.js'
import type { LogSequence, SynchronousRecordLog } from '../wal/record-log.js'

/** An entity that a turn puts or removes, with its tenant. */
export type EntityChange =
  | {
      readonly kind: 'put'
      readonly tenant: Tenant
      readonly entity: Entity
      /** Undefined for a new entity. */
      readonly before: Entity | undefined
    }
  | { readonly kind: 'remove'; readonly tenant: Tenant; readonly entity: Entity }

/** The writes of one turn, applied as a whole or not at all. */
export interface TurnChanges {
  /** In the order of decisions. An entity that is put repeatedly occurs once, but may be removed after that. */
  readonly entities: readonly EntityChange[]
  /** They get the next numbers of the outbox, in this order. */
  readonly notices: readonly NewNotice[]
  /** Applying an ack again changes nothing. */
  readonly acks: readonly NoticeAck[]
}

/** An expired entity. */
export interface Expired {
  readonly tenant: Tenant
  readonly path: ServicePath
  readonly id: EntityId
  readonly sequence: Sequence
}

/** A pinned file: its bytes at the snapshot, with patches for the few that have been overwritten since. */
export interface PinnedFile {
  readonly file: string
  readonly bytes: number
  readonly patches: readonly { readonly at: number; readonly bytes: Uint8Array }[]
}

/** The purpose of a pin; one pin per purpose at a time. */
export type PinPurpose = 'backup' | 'transfer'

/** A commit of an environment that is kept while its file is copied. */
export interface PinnedCommit {
  readonly file: PinnedFile
  /** The last record of its log that it has applied. */
  readonly applied: LogSequence
}

/** Pins the last commit of an environment for its file to be copied, one per purpose. Only between two turns. */
export interface Pins {
  /** Pins the last commit, in place of an earlier pin of the same purpose. Throws when the file cannot be read. */
  pin(purpose: PinPurpose): PinnedCommit
  /** Releases a pin; says whether there was one. */
  unpin(purpose: PinPurpose): boolean
}

/** The store that turns are decided on, as the last turn left it; read-only. */
export interface StoreView {
  readonly limits: EntityLimits
  /**
   * Whether the next turn may make the data grow; otherwise only removals are decided. Ask once per turn before deciding it: the
   * call looks at the disk.
   */
  hasRoom(): boolean
  /** The entities of one id in one service path, of all types, oldest first. */
  entities(tenant: Tenant, path: ServicePath, id: EntityId): readonly Entity[]
  /** At most `limit` entities that have expired by a time, in the order of expiration [NGSIv2 context 3.4]. */
  expired(time: Milliseconds, limit: number): readonly Expired[]
}

/** The storage of a partition, whose thread is the only writer: a store, and the log before it. */
export interface PartitionStore extends StoreView {
  /** Whether there was no room at the last look; growth may be tried again nevertheless. */
  readonly isFull: boolean
  /** The number of the last notice that was ever put into the outbox; 0 before the first. */
  readonly lastNotice: NoticeNumber
  /** A record in the log has happened; `apply` brings it into the store. */
  readonly wal: Pick<SynchronousRecordLog, 'last' | 'appendSync' | 'retract'>
  /**
   * Encodes changes for the log and the store; undefined when there is nothing to write. Throws `StorageFull` when not even a
   * removal should be tried.
   */
  prepare(changes: TurnChanges): PreparedTurn | undefined
  /** The log had no space for a record: refuses growth for a while, so that removals and acks find the space that is left. */
  logWasFull(): void
}

/** The changes of a turn, ready to be logged and then applied. */
export interface PreparedTurn {
  /** The record of the turn in the log. */
  readonly bytes: Uint8Array
  /**
   * Applies the changes in one transaction, together with the sequence of their record. If it throws, nothing was written, and
   * the store is as before.
   */
  apply(sequence: LogSequence): void
}

/** A key for the entities of one id in one service path. It is unambiguous, since tenants and service paths have no spaces. */
export function entityName(tenant: Tenant, path: ServicePath, id: EntityId): string {
  return `${tenant} ${path} ${id}`
}
