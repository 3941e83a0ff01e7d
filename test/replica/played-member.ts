import type { LogSequence } from '../../src/wal/record-log.js'
import type { PlayedLink, SentRecord } from './played-logs.js'
import type { TimersOwner } from './played-time.js'

/** What a node has of the log that is played: the thread of a partition, or what its main thread keeps of the coordinator's. */
export interface PlayedMember extends TimersOwner {
  readonly isOwner: boolean
  /** The record that it has sent last, whatever became of it. */
  readonly sent: SentRecord | undefined
  /** Whether it says that there is no room for it. */
  readonly isFull: boolean
  /** What it shows now. */
  readonly shown: string
  /** It is told to be the owner, or to be it no more, which it hears of later. */
  instruct(what: 'own' | 'release'): void
  /** It takes what has come, from the main thread and from its log. */
  deliver(): void
  /** It dies when it appends or claims next, or does not. */
  dieAtNext(kind: 'append' | 'claim' | undefined): void
  /** It dies: nothing that it does from now on is seen. */
  die(): Promise<void>
  /** It ends in order, after what it was told before; what is given is called when it has ended, or could not. */
  end(ended: (fault?: unknown) => void): void
}

export interface PlayedMemberParts {
  readonly node: string
  readonly folder: string
  readonly process: TimersOwner
  readonly position: SharedArrayBuffer
  /** To its log; made when it is opened. */
  readonly link: PlayedLink
  readonly owns: (epoch: LogSequence | undefined) => void
  readonly failed: (fault: unknown) => void
  /** Does something in its process some time later. */
  readonly later: (run: () => void) => void
}

/** Opens it, as its own owner of timers. */
export type OpenMember<Member extends PlayedMember> = (
  parts: PlayedMemberParts,
  opening: (self: TimersOwner) => void,
) => Member
