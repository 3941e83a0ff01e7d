import type { MessagePort } from 'node:worker_threads'
import type { LogNotice, LogQuestion, LogServerEnd } from '../../src/cluster/log-link.js'
import type { LogSequence } from '../../src/wal/record-log.js'

/** What the thread that plays the nodes sends to a log's thread over a link. */
export type SentToLog = { readonly number: number; readonly question: LogQuestion } | LogNotice

/** What the thread of all logs is told, one after the other. */
export type PlayedInstruction =
  /** A schedule begins, with an etcd of its own. */
  | { readonly kind: 'begin'; readonly seed: number; readonly nodes: readonly string[] }
  | { readonly kind: 'link'; readonly link: number; readonly node: string; readonly end: LogServerEnd }
  | { readonly kind: 'sent'; readonly link: number; readonly message: SentToLog }
  | { readonly kind: 'goOn'; readonly duration_ms: number }
  | { readonly kind: 'full'; readonly isFull: boolean }
  | { readonly kind: 'faulty'; readonly isFaulty: boolean }
  | { readonly kind: 'silent'; readonly duration_ms: number }
  | { readonly kind: 'breakWatches' }
  /** How a record stands that was to be put behind another one. */
  | { readonly kind: 'find'; readonly expected: LogSequence; readonly bytes: Uint8Array }

export interface PlayedLogMemory {
  readonly clocks: SharedArrayBuffer
  /** Counts what is done, and says what was found. */
  readonly done: SharedArrayBuffer
  /** The instructions come from here; a failure is told. */
  readonly port: MessagePort
}

export const doneCell = 0
export const foundCell = 1
/** Found by a thread that has failed. */
export const hasFailed = -1

/** What became of a record. */
export const outcomes = ['pending', 'stands', 'never'] as const
