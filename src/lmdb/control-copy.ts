import { setTimeout as sleep } from 'node:timers/promises'
import type { ClusterLog } from '../cluster/cluster-log.js'
import { fullDisk_ms, idle_ns, look_ms, lookFrom, ownsFrom, shown_ms } from '../cluster/tenure.js'
import type { Log } from '../log/log.js'
import type { PartitionPosition } from '../shared-memory/partition-position.js'
import { StorageFull } from '../storage-fault.js'
import type { Nanoseconds } from '../time.js'
import type { LogRecord, LogSequence } from '../wal/record-log.js'
import type { ControlRecord } from './control-record.js'
import type { ControlStore } from './control-store.js'

export interface ControlCopyParts {
  readonly store: ControlStore
  readonly wal: ClusterLog
  /** Of this process, as its records say. */
  readonly node: string
  readonly position: PartitionPosition
  /** Brings a change that is applied into force on this node, of whichever node it is; the next one waits for it. */
  readonly enforce: (change: Required<ControlRecord>) => Promise<void>
  /** Everything up to a record is in force on this node. */
  readonly inForce: (sequence: LogSequence) => void
  /** This node coordinates from a claim on, or no longer. */
  readonly owns: (epoch: LogSequence | undefined) => void
  readonly log: Log
  /** The copy can not go on: the broker has to end. */
  readonly failed: (fault: unknown) => void
}

type State =
  | { readonly kind: 'follows' }
  /** Nobody else can append any more, and somebody else may still show what it has. */
  | { readonly kind: 'claimed'; readonly epoch: LogSequence; readonly from: Nanoseconds }
  | { readonly kind: 'owns' }
  | { readonly kind: 'releases' }
  | { readonly kind: 'ended' }

/**
 * The log of the coordinator on one of several nodes: what `PartitionCopy` is to a partition, in a thread that does other work while
 * it is appended to. The node that owns it coordinates. What is applied, of whichever node, comes into force here in the order of
 * the log.
 */
export class ControlCopy {
  readonly #parts: ControlCopyParts
  readonly #timer: NodeJS.Timeout
  #state: State = { kind: 'follows' }
  #isToOwn = false
  #isMarking = false
  /** Nothing can be appended any more since the last claim. */
  #isFenced = false
  #following: Promise<void>
  /** What is applied and not in force yet. */
  #enforcing: Promise<void> = Promise.resolve()

  /** Follows at once: everything that the store has applied is in force. */
  constructor(parts: ControlCopyParts) {
    this.#parts = parts
    const { store, position } = parts
    position.own(0)
    position.doubt()
    this.#reached(store.applied)
    store.share({
      isOwner: () => this.isOwner,
      applied: (change, sequence) => this.#enforce(change, sequence),
      fenced: () => this.#fenced(),
    })
    this.#following = this.#follow()
    this.#timer = setInterval(() => this.#look(), look_ms)
  }

  /** Whether this node coordinates. */
  get isOwner(): boolean {
    return this.#state.kind === 'owns'
  }

  /** This node is to coordinate. */
  own(): void {
    this.#isToOwn = true
    if (this.#state.kind === 'follows') this.#parts.wal.wake()
  }

  /** This node is to coordinate no more: another one may claim the log at once. */
  async release(): Promise<void> {
    this.#isToOwn = false
    if (this.#state.kind !== 'owns' && this.#state.kind !== 'claimed') return
    // While the owner before may still show what it has, whoever claims next has to wait, as behind this claim.
    const isWaiting = this.#state.kind === 'claimed' && process.hrtime.bigint() < this.#state.from
    this.#state = { kind: 'releases' }
    // Nothing may be shown after the record that says so, from before it is sent.
    this.#parts.position.doubt()
    if (!isWaiting) await this.#mark('release')
    this.#lost()
  }

  /** Ends following; of an owner, so that another node can claim the log at once. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.release()
    this.#state = { kind: 'ended' }
    this.#parts.wal.wake()
    await this.#following
    await this.#enforcing
  }

  async #follow(): Promise<void> {
    const { wal, failed } = this.#parts
    try {
      while (this.#state.kind === 'follows') {
        const next = await wal.next()
        if (!next.ok) throw wal.behind(next.error)
        if (this.#state.kind !== 'follows') return
        if (next.value.last > wal.last) await this.#apply(next.value.turns, next.value.last)
        else if (this.#isToOwn) await this.#claim()
      }
    } catch (fault) {
      failed(fault)
    }
  }

  async #apply(turns: readonly LogRecord[], last: LogSequence): Promise<void> {
    const { store, wal, log } = this.#parts
    for (let isSaid = false; this.#state.kind !== 'ended'; isSaid = true) {
      try {
        store.follow(turns, last)
        wal.advance(last)
        await this.#enforcing
        return this.#reached(last)
      } catch (fault) {
        if (!(fault instanceof StorageFull)) throw fault
        if (!isSaid)
          log.warn('cluster:copy', `there is no room for what the copy of the coordinator follows: ${fault.message}`)
        await sleep(fullDisk_ms)
      }
    }
  }

  /** Everything that was in the log is in force. When somebody else was faster it is told so, and follows on. */
  async #claim(): Promise<void> {
    const { wal, node, owns, store, position } = this.#parts
    const before = wal.seen
    const claimed = await wal.claim()
    if (!claimed.ok) {
      this.#isToOwn = false
      return owns(undefined)
    }
    const epoch = claimed.value
    this.#isFenced = false
    store.pass(epoch)
    const from = ownsFrom(before, node)
    this.#state = { kind: 'claimed', epoch, from }
    position.own(epoch)
    if (this.#isToOwn) lookFrom(from, () => this.#look())
    else await this.release()
  }

  /** Beside the changes. */
  #look(): void {
    const { wal, owns, log } = this.#parts
    const now = process.hrtime.bigint()
    if (this.#state.kind === 'claimed' && now >= this.#state.from) {
      const { epoch } = this.#state
      this.#state = { kind: 'owns' }
      log.info('cluster:owner', `this node coordinates the cluster since record ${epoch}`)
      this.#reached(epoch)
      this.#confirm()
      owns(epoch)
    }
    if (!this.isOwner || this.#isMarking || now - wal.sent.steady_ns < idle_ns) return
    this.#isMarking = true
    this.#mark('idle')
      .catch(this.#parts.failed)
      .finally(() => {
        this.#isMarking = false
      })
  }

  #mark(kind: 'idle' | 'release'): Promise<void> {
    const { store, wal } = this.#parts
    return store.inTurn(async () => {
      if (this.#isFenced) return
      const marked = await wal.appendMark(kind)
      if (marked.ok) {
        store.pass(marked.value)
        this.#confirm()
        // In force here as on the nodes that follow: partitions with records of theirs are not claimed before that.
        this.#enforcing = this.#enforcing.then(() => this.#reached(marked.value))
      } else if (marked.error.kind === 'fenced') this.#fenced()
    })
  }

  #enforce(change: Required<ControlRecord>, sequence: LogSequence): Promise<void> {
    const { enforce, failed } = this.#parts
    this.#confirm()
    this.#enforcing = this.#enforcing
      .then(() => enforce(change))
      .then(() => this.#reached(sequence))
      .catch(failed)
    return this.#enforcing
  }

  /** The last record that was appended here stands, and this node has shown what is in it. */
  #confirm(): void {
    const { position, wal } = this.#parts
    if (this.isOwner) position.confirm(wal.sent, shown_ms)
  }

  /** Somebody else has claimed the log. */
  #fenced(): void {
    this.#isFenced = true
    if (!this.isOwner) return
    this.#parts.log.warn('cluster:fenced', 'another node coordinates the cluster now')
    this.#isToOwn = false
    this.#lost()
  }

  #lost(): void {
    const { position, owns } = this.#parts
    position.doubt()
    position.own(0)
    this.#state = { kind: 'follows' }
    owns(undefined)
    this.#following = this.#follow()
  }

  #reached(sequence: LogSequence): void {
    const { position, inForce } = this.#parts
    position.reached(sequence)
    inForce(sequence)
  }
}
