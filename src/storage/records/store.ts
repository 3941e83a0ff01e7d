import type { Entity, EntityId, ServicePath, Tenant } from '../../model/context/entity.js'
import type { NewNotice, NoticeAck } from '../../model/subscription/notice.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { LogSequence } from '../wal/record-log.js'

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

/** Why the last commit is not pinned: its file cannot be read, or it lacks turns that were acknowledged. */
export type PinFailure = 'unreadable' | 'notApplied'

/** Pins the last commit of an environment for its file to be copied, one per purpose. Only between two turns. */
export interface Pins {
  /**
   * Pins the last commit, in place of an earlier pin of the same purpose. Throws when the file cannot be read, and `StorageFull` for a backup
   * when turns that were acknowledged cannot be applied.
   */
  pin(purpose: PinPurpose): PinnedCommit
  /** Releases a pin; says whether there was one. */
  unpin(purpose: PinPurpose): boolean
}

/** A key for the entities of one id in all service paths, which is no key for those in one: service paths begin with a slash. */
export function idName(tenant: Tenant, id: EntityId): string {
  return `${tenant}  ${id}`
}

/** A key for the entities of one id in one service path. It is unambiguous, since tenants and service paths have no spaces. */
export function entityName(tenant: Tenant, path: ServicePath, id: EntityId): string {
  return `${tenant} ${path} ${id}`
}
