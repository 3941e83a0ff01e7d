import type { MetadataRecord } from '../../storage/records/metadata-record.js'
import type { MetadataStore } from '../../storage/store/metadata-store.js'
import type { LogSequence } from '../../storage/wal/record-log.js'
import { Replica, type ReplicaParts } from './replica.js'

export interface MetadataReplicaParts extends Omit<ReplicaParts, 'store' | 'owns' | 'awaitsOwner'> {
  readonly store: MetadataStore
  /** Brings an applied change of any node into force on this node; the next change waits for it. */
  readonly enforce: (change: Required<MetadataRecord>) => Promise<void>
  /** Everything up to a record is in force on this node. */
  readonly inForce: (sequence: LogSequence) => void
  /** Called when this node has come to coordinate, with the epoch, or has ceased to. */
  readonly owns: (epoch: LogSequence | undefined) => void
}

/**
 * The replica of the metadata log on a node of a cluster, in a thread that does other work while it is appended to. The node
 * that owns it coordinates. What is applied, of whichever node, comes into force here in the order of the log.
 */
export class MetadataReplica {
  readonly #parts: MetadataReplicaParts
  readonly #replica: Replica
  /** Resolves when everything applied is in force. */
  #enforced: Promise<void> = Promise.resolve()
  /**
   * Whether a change could not come into force. Other threads answer requests until the process has ended: for them nothing behind that change is in
   * force.
   */
  #hasFailed = false

  /** Begins to follow; everything that the store has applied must be in force. */
  constructor(parts: MetadataReplicaParts) {
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
        appendEmpty: (record) => store.inTurn(() => wal.appendEmpty(record)),
        applied: (last) => this.#applied(last),
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

  /** Asks this node to coordinate. */
  own(): void {
    this.#replica.own()
  }

  /** Asks this node to release the log, so that another one may take it over at once. */
  release(): void {
    this.#replica.release()
  }

  /** Ends following; of an owner, so that another node can take the log over at once. */
  async close(): Promise<void> {
    await this.#replica.close()
    await this.#enforced
  }

  #enforce(change: Required<MetadataRecord>): Promise<void> {
    const { enforce, failed } = this.#parts
    this.#enforced = this.#enforced
      .then(() => enforce(change))
      .catch((fault) => {
        this.#hasFailed = true
        failed(fault)
      })
    this.#replica.turned()
    return this.#enforced
  }

  /**
   * Everything up to a record is applied: reports when it is in force, for own and followed records alike, since partitions that need
   * it are not taken over before.
   */
  #applied(last: LogSequence): void {
    const { position, inForce } = this.#parts
    this.#enforced = this.#enforced.then(() => {
      if (this.#hasFailed) return
      position.applied(last)
      inForce(last)
    })
  }
}
