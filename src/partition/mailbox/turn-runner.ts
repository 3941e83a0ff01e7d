import {
  DamagedRecord,
  DiskFault,
  EngineFull,
  LogFenced,
  LogGivenUp,
  RecordTooLarge,
  StorageFull,
} from '../../faults.js'
import { errorFacts, type Log } from '../../observe/log/log.js'
import type { DamageLog } from '../../observe/log/worker-log.js'
import type { DeprecatedUses } from '../../observe/measure/deprecated-uses.js'
import type { StorageMeter } from '../../observe/measure/meters.js'
import type { TurnChanges } from '../../storage/records/store.js'
import type { Bell } from '../../threads/shared-memory/signals.js'
import type { Command, Reply } from '../turn/commands.js'
import { type DecidedTurn, decideTurn } from '../turn/decide.js'
import type { DeprecatedLocation } from '../turn/deprecated-locations.js'
import { commitTurn, endTurn, type TurnParts } from '../turn/turn.js'
import { isOneRequest } from '../turn/turn-shares.js'

export interface TurnRunnerParts extends TurnParts {
  /** Rung when new notices are durable. */
  readonly bell: Bell
  readonly storage: StorageMeter
  readonly log: Log
  readonly damages: DamageLog
  readonly deprecated: Pick<DeprecatedUses, 'note'>
  /** In a cluster: whether this node owns the partition. */
  readonly ownership?: TurnOwnership | undefined
}

/** The ownership of the partition, as turns need it. */
export interface TurnOwnership {
  /** Whether turns are taken here. */
  readonly isOwner: boolean
  /**
   * Whether certainly no other node has taken a turn until now. Asked for a turn without a record in the log, which would prove
   * it.
   */
  isConfirmed(): boolean
  /** The record of a turn is in the log, and the turn is about to be applied. */
  logged(): void
  /** A turn is durable and can be read. */
  turned(): void
  /** Another node owns the log. */
  fenced(): void
  /** The process ends before it is known whether a turn is in the log. */
  givenUp(): void
}

/** A turn takes no more commands when it has decided for this long. Logging and applying it takes about as long again. */
const turn_ms = 10

/** It also ends when commands of one request have taken this long and more of them follow: other requests may be waiting. */
const share_ms = 5

/** When a turn passes its stages, in ns of the monotonic clock. */
export class TurnTimes {
  readonly begun = process.hrtime.bigint()
  /** Everything is decided; the record is about to be logged. */
  decided = this.begun
  /** The record is in the log; it is about to be applied. */
  logged = this.begun
  /** The work behind the commit is done. */
  ended = this.begun
  /** By the faster clock, which is read after each command. */
  readonly #begun_ms = performance.now()
  /** When the first of the current request's commands was begun. */
  #share_ms = this.#begun_ms

  get isLong(): boolean {
    return performance.now() - this.#begun_ms > turn_ms
  }

  /** Whether the turn ends behind a decided command and leaves the next one. Ask after each command. */
  endsBetween(decided: Command | undefined, next: Command | undefined): boolean {
    const now_ms = performance.now()
    if (now_ms - this.#begun_ms > turn_ms) return true
    if (decided !== undefined && next !== undefined && isOneRequest(decided, next)) {
      return now_ms - this.#share_ms > share_ms
    }
    this.#share_ms = now_ms
    return false
  }
}

/** Decides turns and commits them, and handles their failures. */
export class TurnRunner {
  readonly #parts: TurnRunnerParts
  /** Whether the disk was full when space was last needed; the first time is logged. */
  #isFull = false
  #broken: { readonly fault: unknown } | undefined

  constructor(parts: TurnRunnerParts) {
    this.#parts = parts
  }

  /** The fault that the thread has to end with: the disk has failed, or the thread's memory can no longer be trusted. */
  get broken(): { readonly fault: unknown } | undefined {
    return this.#broken
  }

  /**
   * Gives the replies to as many commands from the beginning of the batch as one turn has taken. A command that makes its turn
   * fail fails alone: the others are taken again one by one.
   */
  run(batch: readonly Command[], times: TurnTimes): readonly Reply[] {
    if (this.#parts.ownership?.isOwner === false) return notOwned(batch)
    return this.#run(batch, times, false)
  }

  /**
   * Carries out the work behind a commit. If that fails, the commit stands: its replies are sent, and it is never carried out
   * again. The whole caches of readers are invalidated, since it is unknown how much they were told.
   */
  afterCommit(follow: () => void): void {
    try {
      follow()
    } catch (fault) {
      this.#broken ??= { fault }
      this.#fault(fault, 'a turn was written, but what follows it failed: the thread of the partition ends')
      this.#parts.versions.invalidateAll()
      this.#parts.bell.ring()
    }
  }

  #run(batch: readonly Command[], times: TurnTimes, again: boolean): readonly Reply[] {
    let turn: DecidedTurn
    try {
      turn = decideTurn(this.#parts, batch, (decided) => times.endsBetween(batch[decided - 1], batch[decided]))
      const isLogged = this.#commit(turn.changes, times)
      if (!isLogged && !this.#isConfirmed(batch)) return this.#unconfirmed(batch.slice(0, turn.replies.length))
    } catch (fault) {
      return this.#failed(batch, fault, times, again)
    }
    this.afterCommit(() => {
      endTurn(this.#parts)
      this.#full(this.#parts.store.isFull)
      for (const location of turn.deprecated) this.#noteDeprecated(location)
    })
    return turn.replies
  }

  /** Says whether the turn has a record in the log. */
  #commit(changes: TurnChanges, times: TurnTimes): boolean {
    const { storage, ownership } = this.#parts
    times.decided = process.hrtime.bigint()
    times.logged = times.decided
    return commitTurn(this.#parts, changes, (bytes, flush) => {
      times.logged = process.hrtime.bigint()
      storage.logged(bytes, flush === 'now' ? times.logged - times.decided : undefined)
      ownership?.logged()
    })
  }

  /**
   * A turn without a record is answered from this node's data, which another owner may have changed since, unless the read lease
   * is in force or a heartbeat record follows the turn.
   */
  #isConfirmed(batch: readonly Command[]): boolean {
    const { ownership } = this.#parts
    return ownership === undefined || batch.every(({ kind }) => kind === 'ping') || ownership.isConfirmed()
  }

  /** The turn has changed nothing, and its responses may be outdated. */
  #unconfirmed(batch: readonly Command[]): readonly Reply[] {
    endTurn(this.#parts)
    if (this.#parts.ownership?.isOwner === false) return notOwned(batch)
    return batch.map(({ kind }) => (kind === 'ping' ? { kind: 'pong' } : { kind: 'failed', why: 'storageFull' }))
  }

  /** Nothing of the batch was written. */
  #failed(batch: readonly Command[], fault: unknown, times: TurnTimes, again: boolean): readonly Reply[] {
    if (fault instanceof DiskFault) {
      this.#broken ??= { fault }
      return [] // Their outcome is unknown, as with every thread that dies.
    }
    // The log's thread reports a full etcd once. The disk has room, so this node keeps its logs.
    if (fault instanceof EngineFull) return batch.map(() => ({ kind: 'failed', why: 'storageFull' }))
    if (fault instanceof StorageFull) {
      // What does not fit as a whole into what the disk has left may do so in parts.
      if (batch.length > 1 && (again || this.#parts.store.hasRoom())) return this.#inHalves(batch, times, again)
      if (!this.#isFull) this.#fault(fault)
      this.#full(true)
      // From now on the store refuses growth for a while, so that removals go on without the rest.
      if (!again) return this.#run(batch, times, true)
      return batch.map(() => ({ kind: 'failed', why: 'storageFull' }))
    }
    if (fault instanceof LogGivenUp) {
      this.#parts.ownership?.givenUp()
      return batch.map(() => ({ kind: 'failed', why: 'outcomeUnknown' }))
    }
    if (fault instanceof LogFenced && this.#parts.ownership) {
      this.#parts.ownership.fenced()
      return notOwned(batch)
    }
    const isTooLarge = fault instanceof RecordTooLarge
    const [single] = batch
    if (single && batch.length === 1) {
      if (!isTooLarge) this.#fault(fault)
      return [{ kind: 'failed', why: isTooLarge ? 'recordTooLarge' : 'fault' }]
    }
    return isTooLarge ? this.#inHalves(batch, times, again) : this.#inParts(batch, 1, times, again)
  }

  #inHalves(batch: readonly Command[], times: TurnTimes, again: boolean): readonly Reply[] {
    return this.#inParts(batch, Math.ceil(batch.length / 2), times, again)
  }

  /** Takes several turns, as many as there is time for. */
  #inParts(batch: readonly Command[], size: number, times: TurnTimes, again: boolean): readonly Reply[] {
    const replies: Reply[] = []
    while (replies.length < batch.length) {
      const part = batch.slice(replies.length, replies.length + size)
      const taken = this.#run(part, times, again)
      replies.push(...taken)
      // A turn that was long has taken fewer commands than it was given.
      if (this.#broken || times.isLong || taken.length < part.length) break
    }
    return replies
  }

  /** Faults are logged once, here where they are caught. */
  #fault(fault: unknown, what = 'a turn failed and was not written'): void {
    if (fault instanceof DamagedRecord) this.#parts.damages.met(fault)
    else this.#parts.log.error('partition:turn', what, errorFacts(fault))
  }

  #noteDeprecated({ name, type, context }: DeprecatedLocation): void {
    const line = `Deprecated usage of ${type} detected in attribute ${name} at entity update, please use geo:json instead`
    this.#parts.deprecated.note('geoFormat', line, context)
  }

  #full(isFull: boolean): void {
    this.#isFull = isFull
    this.#parts.storage.full(isFull)
  }
}

function notOwned(batch: readonly Command[]): readonly Reply[] {
  return batch.map(({ kind }) => (kind === 'ping' ? { kind: 'pong' } : { kind: 'failed', why: 'notOwner' }))
}
