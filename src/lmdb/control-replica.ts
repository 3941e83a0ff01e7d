import { Replica, type ReplicaParts } from '../replica/replica.js'
import type { LogSequence } from '../wal/record-log.js'
import type { ControlRecord } from './control-record.js'
import type { ControlStore } from './control-store.js'

export interface ControlReplicaParts extends Omit<ReplicaParts, 'store' | 'owns' | 'awaitsOwner'> {
  readonly store: ControlStore
  /** Brings a change that is applied into force on this node, of whichever node it is; the next one waits for it. */
  readonly enforce: (change: Required<ControlRecord>) => Promise<void>
  /** Everything up to a record is in force on this node. */
  readonly inForce: (sequence: LogSequence) => void
  /** This node coordinates from a claim on, or no longer. */
  readonly owns: (epoch: LogSequence | undefined) => void
}

/**
 * The replica of the coordinator's log on a node of a cluster, in a thread that does other work while it is appended to. The node
 * that owns it coordinates. What is applied, of whichever node, comes into force here in the order of the log.
 */
export class ControlReplica {
  readonly #parts: ControlReplicaParts
  readonly #replica: Replica
  /** Resolves when all that is applied is in force. */
  #enforced: Promise<void> = Promise.resolve()

  /** Follows at once: everything that the store has applied is in force. */
  constructor(parts: ControlReplicaParts) {
    this.#parts = parts
    const { store, wal } = parts
    this.#replica = new Replica({
      ...parts,
      owns: 'coordinates the cluster',
      awaitsOwner: false,
      store: {
        follow: (turns, last) => {
          store.follow(turns, last)
          return this.#enforced
        },
        pass: (last) => store.pass(last),
        appendMark: (mark) => store.inTurn(() => wal.appendMark(mark)),
        shown: (last) => this.#shown(last),
        reported: (change) => {
          if (change.kind !== 'elected') parts.owns(change.kind === 'owns' ? change.epoch : undefined)
        },
      },
    })
    store.share({
      isOwner: () => this.isOwner,
      logged: () => this.#replica.logged(),
      applied: (change) => this.#enforce(change),
      fenced: () => this.#replica.fenced(),
    })
    this.#replica.begin()
  }

  /** Whether this node coordinates. */
  get isOwner(): boolean {
    return this.#replica.isOwner
  }

  /** This node is to coordinate. */
  own(): void {
    this.#replica.own()
  }

  /** This node is to coordinate no more: another one may claim the log at once. */
  release(): void {
    this.#replica.release()
  }

  /** Ends following; of an owner, so that another node can claim the log at once. */
  async close(): Promise<void> {
    await this.#replica.close()
    await this.#enforced
  }

  #enforce(change: Required<ControlRecord>): Promise<void> {
    const { enforce, failed } = this.#parts
    this.#enforced = this.#enforced.then(() => enforce(change)).catch(failed)
    this.#replica.turned()
    return this.#enforced
  }

  /** Of records of this node as of those that it follows: partitions that need them are not claimed before they are in force. */
  #shown(last: LogSequence): void {
    const { position, inForce } = this.#parts
    this.#enforced = this.#enforced.then(() => {
      position.applied(last)
      inForce(last)
    })
  }
}
