import type { Entity, EntityId, ServicePath, Tenant } from '../context/entity.js'
import type { Effect } from './message.js'

/** Thrown by `transact` when the disk has no room left; nothing of the turn was written. */
export class StorageFull extends Error {
  override readonly name = 'StorageFull'
}

/** What a turn needs of storage. The partition is the only writer of its store. */
export interface PartitionStore {
  /** Whether the data may grow; when not, only removals are done. */
  readonly hasRoom: boolean
  /** Runs a turn in one write transaction, which is on disk when this returns. What throws in it undoes all of it. */
  transact<Result>(turn: () => Result): Result
  /** The entities of one id in one service path, of every type, oldest first. */
  entities(tenant: Tenant, path: ServicePath, id: EntityId): readonly Entity[]
  /** Writes effects; only within `transact`. */
  write(effects: readonly Effect[]): void
}
