import { LogGivenUp, StorageFull } from '../../faults.js'
import type { Log } from '../../observe/log/log.js'
import type { ClusterLog } from '../../storage/etcd/cluster-log.js'
import type { LogView } from '../../storage/etcd/log-view.js'
import type { Appended, LogRecord, LogSequence } from '../../storage/wal/record-log.js'
import type { PartitionPosition } from '../../threads/shared-memory/partition-position.js'
import { fullDisk_ms, look_ms, readLease_ms } from './read-lease.js'
import type { EmptyRecord, OfferOutcome, ReplicaEffect, ReplicaEvent, ReplicaState } from './replica-state.js'
import { isOwner, replicaOf, transition } from './transitions.js'

/** The environment that a replica applies its log to, with what it is told of ownership. */
export interface ReplicaStore {
  /**
   * Applies turns of other nodes in one transaction, which notes that everything up to a record is applied. What it gives resolves
   * when they are in force. Throws `StorageFull` when there is no room; then nothing was applied.
   */
  follow(turns: readonly LogRecord[], last: LogSequence): Promise<void> | undefined
  /** Notes everything up to a record as applied; the records since the last turn change nothing. */
  pass(last: LogSequence): void
  /** Appends a record that changes nothing behind the appends in progress. Returns the outcome, or a promise of it. */
  appendEmpty(record: EmptyRecord): Appended | Promise<Appended>
  /** Everything up to a record may be read here. */
  applied(last: LogSequence): void
  /** The ownership of the log has changed. */
  reported(change: OwnershipChange): void
  /** More of the log was read. */
  viewed?(view: LogView): void
}

/** What a node has to do with the ownership of a log; see the effects of the same names. */
export type OwnershipChange = Extract<ReplicaEffect, { kind: 'elected' | 'owns' | 'lost' }>

export interface ReplicaParts {
  readonly store: ReplicaStore
  readonly wal: ClusterLog
  /** The name of this node in its records. */
  readonly node: string
  readonly position: PartitionPosition
  /** Whether a record is shown only after its owner has shown it. */
  readonly awaitsOwner: boolean
  /** The role that an owner has, for lines of the log. */
  readonly owns: string
  readonly log: Log
  /** The replica cannot go on. */
  readonly failed: (fault: unknown) => void
}

/**
 * A replica of a log on a node of a cluster: carries out the effects of `transition`, and feeds their outcomes back. It keeps no
 * state of its own but timers and what is to be resolved.
 */
export class Replica {
  readonly #parts: ReplicaParts
  readonly #events: ReplicaEvent[] = []
  readonly #timer: NodeJS.Timeout
  #state: ReplicaState
  #isTaking = false
  #isRoomWanted = false
  readonly #ended: Promise<void>
  #end: () => void = () => {}

  /** The log was opened for the store, which has applied it up to its `last`. */
  constructor(parts: ReplicaParts) {
    const { wal, position, node, awaitsOwner } = parts
    this.#parts = parts
    this.#state = replicaOf(node, wal.view, wal.last, awaitsOwner)
    this.#ended = new Promise((resolve) => {
      this.#end = resolve
    })
    position.revoke()
    position.own(0)
    this.#timer = setInterval(() => this.#look(), look_ms)
  }

  /** Begins to follow the log. */
  begin(): void {
    this.#parts.store.applied(this.#state.applied)
    this.#take({ kind: 'retry' })
    if (this.#parts.awaitsOwner) void this.#hearOwners()
  }

  /** Whether turns are taken on this node. */
  get isOwner(): boolean {
    return isOwner(this.#state)
  }

  /** Asks this node to become the owner. */
  own(): void {
    this.#take({ kind: 'own' })
  }

  /** Asks this node to release the log, so that another one may take it over at once. Only to be called between two turns. */
  release(): void {
    this.#take({ kind: 'release' })
  }

  /** Sets the metadata version that is in force here from the next turn on. */
  metadataInForce(metadataVersion: LogSequence): void {
    this.#parts.wal.metadataInForce(metadataVersion)
    this.#take({ kind: 'metadataInForce', metadataVersion })
  }

  /**
   * Has an owner append a heartbeat, which says what is in force: whoever owns the log later has that in force as well. Says whether
   * it stands, where appending is synchronous. Between two turns.
   */
  beat(): boolean {
    const { applied } = this.#state
    this.#take({ kind: 'heartbeat' })
    return this.isOwner && this.#state.applied > applied
  }

  /**
   * Whether no other node can have taken a turn until now, so that what this one holds may be answered: its read lease is in force, or
   * a heartbeat stands that is appended now. Between two turns.
   */
  isConfirmed(): boolean {
    return this.isOwner && (this.#parts.position.isConfirmed() || this.beat())
  }

  /** A turn of this node stands in the log, and is about to be applied: other nodes hear of it before snapshots here show it. */
  logged(): void {
    this.#parts.position.committed(this.#parts.wal.last)
  }

  /** A turn of this node is applied. Called after turns that have appended nothing as well. */
  turned(): void {
    const { last: sequence, sent } = this.#parts.wal
    if (sequence > this.#state.applied) this.#take({ kind: 'turned', sequence, sent })
  }

  /** Another node's record stands where that of a turn was to stand. */
  fenced(): void {
    this.#take({ kind: 'fenced' })
  }

  /** The process ends before it is known whether the record of a turn stands. */
  givenUp(): void {
    this.#take({ kind: 'givenUp' })
  }

  /** Ends following; of an owner, so that another node can take the log over at once. Resolves when nothing more is done. */
  async close(): Promise<void> {
    this.#take({ kind: 'close' })
    await this.#ended
    clearInterval(this.#timer)
  }

  #look(): void {
    this.#take({ kind: 'looked', now: process.hrtime.bigint() })
  }

  /** Follows the commit index that owners on other nodes announce. */
  async #hearOwners(): Promise<void> {
    const { position } = this.#parts
    while (this.#state.role.kind !== 'closed') {
      await position.commits(this.#state.commitIndex, look_ms)
      const index = position.commitIndex as LogSequence
      if (index > this.#state.commitIndex) this.#take({ kind: 'committed', index })
    }
  }

  /** Takes an event; events that its effects cause are taken after it. */
  #take(event: ReplicaEvent): void {
    this.#events.push(event)
    if (this.#isTaking) return
    this.#isTaking = true
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        const { state, effects } = transition(this.#state, next)
        this.#state = state
        for (const effect of effects) this.#carryOut(effect)
      }
    } catch (fault) {
      this.#parts.failed(fault)
    } finally {
      this.#isTaking = false
    }
  }

  #carryOut(effect: ReplicaEffect): void {
    const { store, position } = this.#parts
    if (effect.kind === 'read') this.#read(effect)
    else if (effect.kind === 'apply') this.#apply(effect)
    else if (effect.kind === 'retryLater') setTimeout(() => this.#take({ kind: 'retry' }), fullDisk_ms)
    else if (effect.kind === 'campaign') this.#campaign(effect)
    else if (effect.kind === 'append') this.#append(effect.record)
    else if (effect.kind === 'pass') store.pass(effect.last)
    else if (effect.kind === 'show') store.applied(effect.last)
    else if (effect.kind === 'confirm') position.confirm(effect.sent, readLease_ms)
    else if (effect.kind === 'revoke') position.revoke()
    else if (effect.kind === 'ended') this.#end()
    else this.#report(effect)
  }

  #read({ read, after }: Extract<ReplicaEffect, { kind: 'read' }>): void {
    this.#await(this.#parts.wal.next(after), (records) => {
      this.#take({ kind: 'read', read, records, received: process.hrtime.bigint() })
      this.#parts.store.viewed?.(this.#state.view)
    })
  }

  #campaign({ expected, metadataVersion }: Extract<ReplicaEffect, { kind: 'campaign' }>): void {
    this.#await(this.#parts.wal.campaign(expected, metadataVersion), (campaigned) =>
      this.#take({ kind: 'campaigned', outcome: this.#outcome(campaigned) }),
    )
  }

  #apply({ turns, last }: Extract<ReplicaEffect, { kind: 'apply' }>): void {
    const { store, wal, log } = this.#parts
    try {
      const inForce = store.follow(turns, last)
      wal.advance(last)
      this.#isRoomWanted = false
      if (inForce === undefined) this.#take({ kind: 'applied' })
      else this.#await(inForce, () => this.#take({ kind: 'applied' }))
    } catch (fault) {
      if (!(fault instanceof StorageFull)) throw fault
      if (!this.#isRoomWanted)
        log.warn('cluster:replica', `this replica has no room for the records that it follows: ${fault.message}`)
      this.#isRoomWanted = true
      this.#take({ kind: 'noRoom' })
    }
  }

  #append(record: EmptyRecord): void {
    const take = (appended: Appended): void =>
      this.#take({ kind: 'appended', record, outcome: this.#outcome(appended) })
    try {
      const appended = this.#parts.store.appendEmpty(record)
      if (appended instanceof Promise) this.#await(appended, take)
      else take(appended)
    } catch (fault) {
      this.#faulted(fault)
    }
  }

  #report(change: OwnershipChange): void {
    const { position, log, owns, store } = this.#parts
    if (change.kind === 'elected') {
      position.own(change.epoch)
      const wait_ms = Math.ceil(Number(change.from - process.hrtime.bigint()) / 1e6)
      // As soon as updates can be taken again, and not at the next look.
      if (wait_ms > 0) setTimeout(() => this.#look(), wait_ms).unref()
    } else if (change.kind === 'owns') log.info('cluster:owner', `this node ${owns} since record ${change.epoch}`)
    else {
      position.own(0)
      if (change.why === 'fenced') log.warn('cluster:fenced', `another node ${owns} now`)
    }
    store.reported(change)
  }

  #outcome(appended: Appended): OfferOutcome {
    if (appended.ok) return { kind: 'stands', sequence: appended.value, sent: this.#parts.wal.sent }
    return { kind: appended.error.kind === 'fenced' ? 'fenced' : 'refused' }
  }

  #await<Done>(work: Promise<Done>, done: (value: Done) => void): void {
    work.then(done).catch((fault: unknown) => this.#faulted(fault))
  }

  #faulted(fault: unknown): void {
    if (fault instanceof LogGivenUp) this.#take({ kind: 'givenUp' })
    else this.#parts.failed(fault)
  }
}
