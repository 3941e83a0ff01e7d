import type { Entity, EntityId, ServicePath, Tenant } from '../context/entity.js'
import type { EntityLimits } from '../context/entity-size.js'
import type { NewNotice, NoticeAck, NoticeNumber } from '../subscription/notice.js'
import type { Effect } from './message.js'

/** Thrown by `transact` when the disk has no room left; nothing of the turn was written. */
export class StorageFull extends Error {
  override readonly name = 'StorageFull'
}

/** The disk, or what lies on it, has failed: nobody knows what a further write would do, so the broker has to end. */
export class DiskFault extends Error {
  override readonly name = 'DiskFault'
}

/**
 * A record that is missing although an index names it, or that cannot be read: what was stored is not there any more as it
 * was. A fault, never a gap in an answer. The message names the file, the record and the way out.
 */
export class DamagedRecord extends Error {
  override readonly name = 'DamagedRecord'
}

/** What a turn needs of storage. The partition is the only writer of its store. */
export interface PartitionStore {
  /** Whether the data may grow; when not, only removals are done. */
  readonly hasRoom: boolean
  /** Whether there was no room when it was last looked for; growth may be tried again all the same. */
  readonly isFull: boolean
  /** How large entities may become. */
  readonly limits: EntityLimits
  /**
   * Runs a turn in one write transaction, which is on disk when this returns. What throws in it undoes all of it: when
   * this throws, nothing was written. `committed` has to be called once it has returned, before anything else.
   */
  transact<Result>(turn: () => Result): Result
  /** What is kept in memory follows the commit of the last turn. */
  committed(): void
  /** The entities of one id in one service path, of every type, oldest first. */
  entities(tenant: Tenant, path: ServicePath, id: EntityId): readonly Entity[]
  /** Writes effects; only within `transact`. */
  write(effects: readonly Effect[]): void
  /** Puts notices into the outbox, in this order after all that were ever in it; only within `transact`. */
  enqueue(notices: readonly NewNotice[]): void
  /** Stores what became of notices; only within `transact`. What is already so stays so. */
  ack(acks: readonly NoticeAck[]): void
  /** The number of the last notice that was ever put into the outbox; 0 before the first. */
  readonly lastNotice: NoticeNumber
}
