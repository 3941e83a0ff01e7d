import { setTimeout as sleep } from 'node:timers/promises'
import { ClockSkew } from '../cluster/clock-skew.js'
import type { ClusterLog } from '../cluster/cluster-log.js'
import { fullDisk_ms, idle_ns, look_ms, lookFrom, ownsFrom, shown_ms } from '../cluster/tenure.js'
import type { Log } from '../log/log.js'
import type { CopyMeter } from '../measure/copy-table.js'
import type { PartitionPosition } from '../shared-memory/partition-position.js'
import type { Versions } from '../shared-memory/versions.js'
import { StorageFull } from '../storage-fault.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Milliseconds, Nanoseconds } from '../time.js'
import type { LogRecord, LogSequence } from '../wal/record-log.js'
import { type NoticeWrite, noted } from './notice-write.js'
import type { LmdbPartitionStore } from './partition-store.js'

export interface PartitionCopyParts {
  readonly store: LmdbPartitionStore
  readonly wal: ClusterLog
  /** Of this process, as its records say. */
  readonly node: string
  readonly versions: Versions
  readonly position: PartitionPosition
  readonly meter: CopyMeter
  readonly log: Log
  /** The partition belongs to this node from a claim on, or no longer. */
  readonly owns: (epoch: LogSequence | undefined) => void
  /** Whether a record is shown only when its owner shows it as well, so that no read here is ahead of one there. */
  readonly awaitsOwner: boolean
  /** A notice that was made at another node is in the outbox. */
  readonly notified: (subscription: SubscriptionId, made: Milliseconds) => void
  /** The partition can not go on: the thread has to end. */
  readonly failed: (fault: unknown) => void
}

type State =
  | { readonly kind: 'follows' }
  /** Nobody else can append any more, and somebody else may still show what it has. */
  | { readonly kind: 'claimed'; readonly epoch: LogSequence; readonly from: Nanoseconds }
  | { readonly kind: 'owns'; readonly epoch: LogSequence }
  | { readonly kind: 'ended' }

/**
 * A partition of a cluster of several nodes, on one of them: a copy that follows the log, until it is to own it. Then it reads to
 * the end, and claims the log by a record behind that. It is the owner until somebody else's record stands where its own was to
 * stand, or it releases the log.
 */
export class PartitionCopy {
  readonly #parts: PartitionCopyParts
  readonly #timer: NodeJS.Timeout
  #state: State = { kind: 'follows' }
  #isToOwn = false
  #following: Promise<void>
  readonly #skew = new ClockSkew()

  /** Follows at once. */
  constructor(parts: PartitionCopyParts) {
    this.#parts = parts
    this.#shown()
    parts.position.own(0)
    parts.position.doubt()
    this.#following = this.#follow()
    if (parts.awaitsOwner) void this.#listen()
    this.#timer = setInterval(() => this.#look(), look_ms)
  }

  /** Whether turns are taken here. */
  get isOwner(): boolean {
    return this.#state.kind === 'owns'
  }

  /** This node is to be the owner. */
  own(): void {
    this.#isToOwn = true
    if (this.#state.kind === 'follows') this.#parts.wal.wake()
  }

  /** This node is to be the owner no more: another one may claim the log at once. Between two turns. */
  release(): void {
    this.#isToOwn = false
    if (this.#state.kind !== 'owns' && this.#state.kind !== 'claimed') return
    // Nothing may be shown after the record that says so, from before it is sent.
    this.#parts.position.doubt()
    // While the owner before may still show what it has, whoever claims next has to wait, as behind this claim.
    const isWaiting = this.#state.kind === 'claimed' && process.hrtime.bigint() < this.#state.from
    if (!isWaiting) this.#orFenced(() => this.#parts.wal.appendMarkSync('release'))
    if (this.isOwner || this.#state.kind === 'claimed') this.#lost()
  }

  /** What the coordinator's log says up to this record is in force here from the next turn on. */
  controlled(control: LogSequence): void {
    this.#parts.wal.controlled(control)
  }

  /**
   * Puts a record into the log that says what is in force: whoever owns the partition later has that in force as well. Says whether
   * it stands there. Between two turns.
   */
  mark(): boolean {
    if (!this.isOwner || !this.#orFenced(() => this.#parts.wal.appendMarkSync('idle'))) return false
    this.turned()
    return true
  }

  /** A turn is on disk and can be read, unless it was refused. */
  turned(): void {
    if (!this.isOwner) return
    const { position, wal } = this.#parts
    this.#shown()
    position.confirm(wal.sent, shown_ms)
  }

  /** Somebody else has claimed the log. */
  fenced(): void {
    this.#parts.log.warn('cluster:fenced', 'another node owns the partition now')
    this.#parts.meter.lost()
    this.#isToOwn = false
    this.#lost()
  }

  /** Ends following; of an owner, so that another node can claim the log at once. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.release()
    this.#state = { kind: 'ended' }
    this.#parts.wal.wake()
    await this.#following
  }

  async #follow(): Promise<void> {
    const { wal, failed } = this.#parts
    let held: readonly LogRecord[] = []
    try {
      for (let { last } = wal; this.#state.kind === 'follows'; ) {
        const next = await wal.next(last)
        if (!next.ok) throw wal.behind(next.error)
        if (this.#state.kind !== 'follows') return
        const isMore = next.value.last > last
        if (isMore) this.#dated()
        last = next.value.last
        held = [...held, ...next.value.turns]
        const upTo = this.#showable(last)
        if (upTo > wal.last) {
          const shown = held.filter(({ sequence }) => sequence <= upTo)
          held = held.slice(shown.length)
          await this.#apply(shown, upTo)
        }
        if (this.#isToOwn && !isMore && wal.last === last) await this.#claim()
      }
    } catch (fault) {
      failed(fault)
    }
  }

  /**
   * Of what was read up to a record, up to where it is shown now. A record stands before its owner has heard of that: until then
   * reads there are without it, and others that begin after a read here must not be.
   */
  #showable(last: LogSequence): LogSequence {
    const { wal, position, awaitsOwner } = this.#parts
    if (this.#isToOwn || !awaitsOwner) return last
    return Math.min(last, Math.max(wal.proven, position.said)) as LogSequence
  }

  /** Looks at what is held back when an owner has said more. */
  async #listen(): Promise<void> {
    const { wal, position } = this.#parts
    while (this.#state.kind !== 'ended') {
      const { said } = position
      await position.saysMore(said, look_ms)
      if (this.#state.kind === 'follows' && position.said > said && position.said > wal.last) wal.wake()
    }
  }

  async #apply(turns: Parameters<LmdbPartitionStore['follow']>[0], last: LogSequence): Promise<void> {
    const { store, wal, versions, log } = this.#parts
    for (let isSaid = false; this.#state.kind !== 'ended'; isSaid = true) {
      try {
        const notices = store.follow(turns, last, (changed) => versions.begin(changed))
        wal.advance(last)
        versions.end()
        for (const notice of notices) this.#notified(notice)
        return this.#shown()
      } catch (fault) {
        versions.end()
        if (!(fault instanceof StorageFull)) throw fault
        if (!isSaid) log.warn('cluster:copy', `there is no room for what this copy follows: ${fault.message}`)
        await sleep(fullDisk_ms)
      }
    }
  }

  /** What another node has made moves the clocks of this one: throttling goes on where it was when this one claims. */
  #notified(notice: NoticeWrite): void {
    const { ids, made } = noted(notice)
    for (const id of ids) this.#parts.notified(id, made)
  }

  /** Everything that was in the log is applied. When somebody else was faster it is told so, and follows on. */
  async #claim(): Promise<void> {
    const { wal, node, owns, store, position, meter } = this.#parts
    const before = wal.seen
    const claimed = await wal.claim()
    if (!claimed.ok) {
      this.#isToOwn = false
      return owns(undefined)
    }
    const epoch = claimed.value
    store.pass(epoch)
    const from = ownsFrom(before, node)
    this.#state = { kind: 'claimed', epoch, from }
    position.own(epoch)
    meter.claimed(from > 0n ? 'takenOver' : 'handedOver')
    meter.skewed(0)
    owns(epoch)
    if (this.#isToOwn) lookFrom(from, () => this.#look())
    else this.release()
  }

  /** Beside the turns. */
  #look(): void {
    const { wal, log } = this.#parts
    const now = process.hrtime.bigint()
    if (this.#state.kind === 'claimed' && now >= this.#state.from && wal.isControlled) {
      const { epoch } = this.#state
      this.#state = { kind: 'owns', epoch }
      log.info('cluster:owner', `this node owns the partition since record ${epoch}`)
      this.turned()
    } else if (!this.isOwner) return
    if (now - wal.sent.steady_ns >= idle_ns) this.mark()
  }

  #orFenced(append: () => ReturnType<ClusterLog['appendMarkSync']>): boolean {
    const appended = append()
    if (appended.ok) {
      this.#parts.store.pass(this.#parts.wal.last)
      return true
    }
    if (appended.error.kind === 'fenced') this.fenced()
    return false
  }

  #lost(): void {
    const { position, owns } = this.#parts
    position.doubt()
    position.own(0)
    this.#state = { kind: 'follows' }
    owns(undefined)
    this.#following = this.#follow()
  }

  /** The record that came last says what its writer's clock says. */
  #dated(): void {
    const { wal, node, meter } = this.#parts
    if (wal.seen === undefined || wal.seen.node === node) return
    const skew_ms = this.#skew.took(wal.seen.dated_ms, Date.now())
    if (skew_ms !== undefined) meter.skewed(skew_ms)
  }

  #shown(): void {
    this.#parts.position.reached(this.#parts.wal.last)
  }
}
