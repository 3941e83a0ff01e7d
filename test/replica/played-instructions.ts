import type { MessagePort } from 'node:worker_threads'
import type { LogName } from '../../src/storage/etcd/engine.js'
import type { LogNotice, LogQuestion, LogServerEnd } from '../../src/storage/etcd/log-link.js'
import type { NodeFacts } from '../../src/storage/etcd/node-facts.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'

/** What the thread that plays the nodes sends to a log's thread over a link. */
export type SentToLog = { readonly number: number; readonly question: LogQuestion } | LogNotice

/** What the main thread of a node tells its thread of logs, see `LogOperations`. */
export type LogInstruction =
  | { readonly kind: 'tell'; readonly self: NodeFacts }
  | { readonly kind: 'leave' }
  | { readonly kind: 'ending'; readonly patience_ms: number }

/** What that reports, see `LogEvents`. */
export type ReportOfLog =
  | { readonly kind: 'members'; readonly members: readonly NodeFacts[] }
  | { readonly kind: 'isMember'; readonly isMember: boolean }
  | { readonly kind: 'left' }
  | { readonly kind: 'givenUp' }

/** What the thread of all logs is told, one after the other. */
export type PlayedInstruction =
  /** A schedule begins, with an etcd of its own. */
  | { readonly kind: 'begin'; readonly seed: number; readonly nodes: readonly string[]; readonly log: LogName }
  /** A process of a node begins; the one before it is over. */
  | { readonly kind: 'start'; readonly node: string; readonly process: number }
  /** A process is killed, or has ended. */
  | { readonly kind: 'kill'; readonly node: string }
  /** Neither its timers fire nor does it take what is sent to it. */
  | { readonly kind: 'pause'; readonly node: string; readonly until_ms: number }
  | { readonly kind: 'instruct'; readonly node: string; readonly instruction: LogInstruction }
  | { readonly kind: 'link'; readonly link: number; readonly node: string; readonly end: LogServerEnd }
  /** Of who sleeps until it has the response nothing else is taken before that. */
  | { readonly kind: 'sent'; readonly link: number; readonly message: SentToLog; readonly sleeps: boolean }
  | { readonly kind: 'unlink'; readonly link: number }
  | { readonly kind: 'goOn'; readonly until_ms: number }
  /** The next record fills etcd, or it has room again. */
  | { readonly kind: 'full'; readonly isFull: boolean }
  | { readonly kind: 'faulty'; readonly isFaulty: boolean }
  /** Nothing comes from etcd, to one node or to any. */
  | { readonly kind: 'silent'; readonly node: string | undefined; readonly until_ms: number }
  | { readonly kind: 'breakWatches' }
  /** How a record stands that was to be put behind another one. */
  | { readonly kind: 'find'; readonly log: LogName; readonly expected: LogSequence; readonly bytes: Uint8Array }

/** Those that are waited for until they are carried out. */
export type AwaitedInstruction = Exclude<PlayedInstruction, { readonly kind: 'sent' | 'instruct' | 'unlink' }>

/** What the thread of all logs says: what a process reports, what has come to stand in the log, or why it cannot go on. */
export type LogsReport =
  | { readonly kind: 'stands'; readonly bytes: Uint8Array }
  | { readonly kind: 'report'; readonly node: string; readonly process: number; readonly report: ReportOfLog }
  | { readonly kind: 'failed'; readonly fault: string }

export interface PlayedLogMemory {
  readonly clock: SharedArrayBuffer
  /** Counts what is sent and what is done, and says what was found. */
  readonly done: SharedArrayBuffer
  /** The instructions come from here, see `SaidOfLogs` for what is said. */
  readonly port: MessagePort
}

export const sentCell = 0
export const doneCell = 1
export const foundCell = 2
export const doneLength = 3
/** Found by a thread that has failed. */
export const hasFailed = -1

/** What became of a record. */
export const outcomes = ['pending', 'stands', 'never'] as const
