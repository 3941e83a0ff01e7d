import { StorageFull } from '../../src/faults.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { type PlayedException, PlayedTransactions } from './played-exceptions.js'
import type { PlayedLink, SentRecord } from './played-logs.js'
import type { OwnClocks, TimersOwner } from './played-time.js'

/** What threads of a partition share in a process beside its position. */
export interface PublishedTurns {
  readonly memtable: SharedArrayBuffer
  /** The last turn that was published. */
  last: LogSequence
}

/** What a replica of the log is opened with in a node's process. */
export interface PlayedMemberParts {
  readonly node: string
  readonly folder: string
  readonly process: TimersOwner
  readonly position: SharedArrayBuffer
  /** What threads of a partition have published in the process, one after the other. */
  readonly published: PublishedTurns
  /** To its log; made when it is opened. */
  readonly link: PlayedLink
  readonly owns: (epoch: LogSequence | undefined) => void
  readonly failed: (fault: unknown) => void
  /** Its disk has had no room for a moment. */
  readonly filled: () => void
  /** Does something in its process some time later. */
  readonly later: (run: () => void) => void
}

/** What one may die over: what it sends to its log, or what comes into force. */
export type Fatal = 'append' | 'campaign' | 'enforce'

/** What a node has of the log that is played: the thread of a partition, or what its main thread keeps of the coordinator's. */
export abstract class PlayedMember implements TimersOwner {
  protected readonly parts: PlayedMemberParts
  /** Those of its store. */
  protected readonly transactions: PlayedTransactions

  /** Opens it as its own owner of timers. */
  constructor(parts: PlayedMemberParts, opening: (self: TimersOwner) => void) {
    this.parts = parts
    const begun = (): void => {
      if (this.isOver) throw new StorageFull('it has died: LMDB gets nothing more of it')
    }
    this.transactions = new PlayedTransactions(begun, parts.filled)
    opening(this)
  }

  get isOver(): boolean {
    return this.parts.link.isCut || this.parts.process.isOver
  }

  get pausedUntil_ms(): number {
    return this.parts.process.pausedUntil_ms
  }

  get clocks(): OwnClocks | undefined {
    return this.parts.process.clocks
  }

  /** The record that it has sent last, whatever became of it. */
  get sent(): SentRecord | undefined {
    return this.parts.link.sent
  }

  abstract readonly isOwner: boolean
  /** Whether it says that there is no room for it. */
  abstract readonly isFull: boolean
  /** What it shows now. */
  abstract readonly shown: string

  /** It is told to be the owner, or to be it no more, which it hears of later. */
  abstract instruct(what: 'own' | 'release'): void

  /** It takes what has come, from the main thread and from its log. */
  deliver(): void {
    if (!this.isOver) this.parts.link.deliver()
  }

  /** It dies when it does something next, or does not. */
  dieAtNext(what: Fatal | undefined): void {
    this.parts.link.dieAtNext(what === 'enforce' ? undefined : what)
  }

  /** A transaction of its store throws, the next one with such a moment, or none does any more. */
  throwNext(exception: PlayedException | undefined): void {
    this.transactions.throwNext(exception)
  }

  /** Somebody reads it who waits for LMDB. */
  awaitLmdb(): void {}

  /** It dies: nothing that it does from now on is seen. */
  abstract die(): Promise<void>

  /** It ends in order, after what it was told before; what is given is called when it has ended, or could not. */
  abstract end(ended: (fault?: unknown) => void): void

  /** It dies over what its store throws. A fault of what is dead is that of a store that is closed. */
  protected failed(fault: unknown): void {
    if (this.transactions.hasThrown) this.parts.link.cut()
    else if (!this.isOver) this.parts.failed(fault)
  }
}

/** The constructor of what is played. */
export type OpenMember<Member extends PlayedMember> = (
  parts: PlayedMemberParts,
  opening: (self: TimersOwner) => void,
) => Member
