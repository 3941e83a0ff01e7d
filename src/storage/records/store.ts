import type { Entity, EntityId, ServicePath, Tenant } from '../../model/context/entity.js'
import type { EntityLimits } from '../../model/context/entity-size.js'
import type { NewNotice, NoticeAck, NoticeNumber } from '../../model/subscription/notice.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../time.js'
import type { LogSequence, SynchronousRecordLog } from '../wal/record-log.js'

/** An entity that a turn puts or removes, with the tenant that it belongs to. */
export type EntityChange =
  | {
      readonly kind: 'put'
      readonly tenant: Tenant
      readonly entity: Entity
      /** Nothing for a new entity. */
      readonly before: Entity | undefined
    }
  | { readonly kind: 'remove'; readonly tenant: Tenant; readonly entity: Entity }

/** All that one turn writes. It is applied as a whole or not at all. */
export interface TurnChanges {
  /** In the order in which they were decided; an entity that is put again is there once, but it may be removed after that. */
  readonly entities: readonly EntityChange[]
  /** They get the numbers that follow the last one in the outbox, in this order. */
  readonly notices: readonly NewNotice[]
  /** What is so already stays so, so that an ack may be applied twice. */
  readonly acks: readonly NoticeAck[]
}

/** An entity whose date of expiration has come. */
export interface Expired {
  readonly tenant: Tenant
  readonly path: ServicePath
  readonly id: EntityId
  readonly sequence: Sequence
}

/** A file of which a snapshot is kept: its bytes, with some in place of what stands in the file by now. */
export interface PinnedFile {
  readonly file: string
  readonly bytes: number
  readonly patches: readonly { readonly at: number; readonly bytes: Uint8Array }[]
}

/** What a commit is kept for: one for each of them at a time. */
export type PinPurpose = 'backup' | 'copy'

/** A commit of an environment that is kept while its file is copied. */
export interface PinnedCommit {
  readonly file: PinnedFile
  /** The last record of its log that it has applied. */
  readonly applied: LogSequence
}

/** Keeps the last commit of an environment for a copy of its file, one for each purpose. Only between two turns. */
export interface Pins {
  /** Keeps the last commit, instead of one that was kept for the same before. Throws when the file cannot be read. */
  pin(purpose: PinPurpose): PinnedCommit
  /** Keeps none for this any more; says whether there was one. */
  unpin(purpose: PinPurpose): boolean
}

/** What turns are decided on: the store as the last turn left it. Nothing is written through it. */
export interface StoreView {
  /** How large entities may become. */
  readonly limits: EntityLimits
  /**
   * Whether the next turn may make the data grow; when not, only removals are decided. To be asked once, before a turn is
   * decided: it looks at the disk.
   */
  hasRoom(): boolean
  /** The entities of one id in one service path, of every type, oldest first. */
  entities(tenant: Tenant, path: ServicePath, id: EntityId): readonly Entity[]
  /** Entities that have expired by then, the first of them first, at most so many [NGSIv2 context 3.4]. */
  expired(time: Milliseconds, limit: number): readonly Expired[]
}

/** The storage of a partition, which is its only writer: a store, and the log before it. */
export interface PartitionStore extends StoreView {
  /** Whether there was no room when it was last looked for; growth may be tried again all the same. */
  readonly isFull: boolean
  /** The number of the last notice that was ever put into the outbox; 0 before the first. */
  readonly lastNotice: NoticeNumber
  /** What stands in it has happened; `apply` brings it into the store. */
  readonly wal: Pick<SynchronousRecordLog, 'last' | 'appendSync' | 'retract'>
  /**
   * Brings changes into the form in which they are logged and applied; nothing when there is nothing to write. Throws
   * `StorageFull` when not even a removal should be tried.
   */
  prepare(changes: TurnChanges): PreparedTurn | undefined
  /** The log had no space for a record: for a while nothing is to grow, so that removals and acks find the space that is left. */
  logWasFull(): void
}

/** The changes of a turn, ready to be logged and to be applied after that. */
export interface PreparedTurn {
  /** The record of the turn in the log. */
  readonly bytes: Uint8Array
  /**
   * Applies the changes in one transaction, together with the sequence of their record. When it throws, nothing was written,
   * and the store is as it was before.
   */
  apply(sequence: LogSequence): void
}

/**
 * Names what is kept of one id in one service path. Tenants and service paths have no spaces, so the name is
 * unambiguous whatever the id holds.
 */
export function entityName(tenant: Tenant, path: ServicePath, id: EntityId): string {
  return `${tenant} ${path} ${id}`
}
