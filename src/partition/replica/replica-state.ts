import type { LogView, ReadRecord } from '../../storage/etcd/log-view.js'
import type { LogRecord, LogSequence } from '../../storage/wal/record-log.js'
import type { ClockStart, Nanoseconds } from '../../time.js'

/**
 * The replica of a log on a node of a cluster, as a state machine: a replica follows its log until it is to own it. Then it
 * campaigns for the log by an election record behind all others, and is its owner until another node's record stands where its own was to stand,
 * or until it releases the log. `transition` is the pure function; `Replica` carries its effects out, and feeds their outcomes
 * back as events.
 *
 * | role | event | next role | effects |
 * |---|---|---|---|
 * | `follows` | `read`, of the read that is under way | `follows` | apply what may be shown, then read on |
 * | | `read`, of an earlier one | `follows` | none: its records come again |
 * | | `own` | `campaigns` | campaign for the log behind the last record that was read |
 * | | `close` | `closed`, when nothing is being applied | end |
 * | `campaigns` | `campaigned` | `elected` | note the epoch |
 * | | `campaigned`, to be released or closed meanwhile | as `release` of `elected` | |
 * | | `campaigned`, refused | `follows` | report the loss; read on |
 * | | `release`, `close` | `campaigns`, until its response is there | none |
 * | `elected` | `looked`: the read lease before is over | `elected` | apply all that was held back |
 * | | any: that is applied, and the metadata that it needs is in force | `owns` | show, confirm; append a heartbeat if one is due |
 * | | `release`, `close`, before that | `follows`, `closed` | none: the next one waits as behind this election |
 * | `owns` | `turned`, `appended` | `owns` | show, confirm |
 * | | `heartbeat`, `looked` when one is due | `owns` | append a heartbeat |
 * | | `release`, `close` | `releases` | revoke the read lease, then append a release |
 * | | `fenced`, `appended` refused as fenced | `follows` | revoke the read lease; report the loss; read on |
 * | `releases` | `appended` | `follows`, `closed` | report the loss; read on, or end |
 * | any but `closed` | `applied` | the same | show it; apply what else may be shown |
 * | | `noRoom`, then `retry` | the same | apply the same again later |
 * | | `committed` | the same | apply what was held back for that |
 * | | `givenUp` | `closed` | revoke the read lease; report the loss; end |
 * | `closed` | `close` | `closed` | end |
 *
 * What no row names changes nothing but what is noted: `own`, `release` and `close` say what is wanted, `metadataInForce` and
 * `committed` what is known.
 */
export interface ReplicaState {
  /** The name of this node in its records. */
  readonly node: string
  readonly role: Role
  readonly view: LogView
  /** Everything up to this record is applied and in force. */
  readonly applied: LogSequence
  /** Turns that were read and are not yet passed to the store, in order. */
  readonly held: readonly LogRecord[]
  /** The turns that the store is applying, or could not apply because it was full. */
  readonly applying: Applying | undefined
  /** Whether a record is shown only after its owner has shown it, so that no read here is ahead of one there. */
  readonly awaitsOwner: boolean
  /** The last record that an owner is known to show. */
  readonly commitIndex: LogSequence
  /** The metadata version that is in force on this node. */
  readonly metadataVersion: LogSequence
  readonly isToOwn: boolean
  readonly isToClose: boolean
  /** The number of the last read: a response to another one has come too late. */
  readonly reads: number
}

export type Role =
  | { readonly kind: 'follows'; readonly isReading: boolean }
  | { readonly kind: 'campaigns' }
  /** No other node can append any more, but the previous owner may still show what it has. */
  | {
      readonly kind: 'elected'
      readonly epoch: LogSequence
      readonly sent: ClockStart
      /** The end of the read lease of the previous owner. */
      readonly from: Nanoseconds
      readonly isOver: boolean
    }
  | {
      readonly kind: 'owns'
      readonly epoch: LogSequence
      /** When the last record that stands was sent. */
      readonly sent: ClockStart
      readonly isBeating: boolean
    }
  | { readonly kind: 'releases' }
  | { readonly kind: 'closed' }

interface Applying {
  readonly turns: readonly LogRecord[]
  readonly last: LogSequence
}

/** A record of the owner that changes nothing: a heartbeat or a release. */
export type EmptyRecord = 'idle' | 'release'

/** The outcome of offering a record to the log. */
export type OfferOutcome =
  | { readonly kind: 'stands'; readonly sequence: LogSequence; readonly sent: ClockStart }
  | { readonly kind: 'fenced' | 'refused' }

export type ReplicaEvent =
  | {
      readonly kind: 'own' | 'release' | 'close' | 'heartbeat' | 'applied' | 'noRoom' | 'retry' | 'fenced'
    }
  /** The process ends before the log has answered: whether what was offered stands is not known. */
  | { readonly kind: 'givenUp' }
  /** Records that follow the last one that was read; there may be none. */
  | {
      readonly kind: 'read'
      readonly read: number
      readonly records: readonly ReadRecord[]
      readonly received: Nanoseconds
    }
  | { readonly kind: 'committed'; readonly index: LogSequence }
  | { readonly kind: 'metadataInForce'; readonly metadataVersion: LogSequence }
  | { readonly kind: 'campaigned'; readonly outcome: OfferOutcome }
  | { readonly kind: 'appended'; readonly record: EmptyRecord; readonly outcome: OfferOutcome }
  /** A turn of this node is in the log and applied. */
  | { readonly kind: 'turned'; readonly sequence: LogSequence; readonly sent: ClockStart }
  | { readonly kind: 'looked'; readonly now: Nanoseconds }

export type ReplicaEffect =
  /** Read the log behind a record. */
  | { readonly kind: 'read'; readonly read: number; readonly after: LogSequence }
  /** Apply turns in one transaction, which notes that everything up to a record is applied; then bring them into force. */
  | ({ readonly kind: 'apply' } & Applying)
  | { readonly kind: 'retryLater' }
  | { readonly kind: 'campaign'; readonly expected: LogSequence; readonly metadataVersion: LogSequence }
  /** Append a record behind what this node has appended before. */
  | { readonly kind: 'append'; readonly record: EmptyRecord }
  /** Note that a record of this node, which changes nothing, is applied. */
  | { readonly kind: 'pass'; readonly last: LogSequence }
  /** Everything up to a record can be read here. */
  | { readonly kind: 'show'; readonly last: LogSequence }
  /** Renew the read lease from a moment on. */
  | { readonly kind: 'confirm'; readonly sent: ClockStart }
  /** End the read lease. */
  | { readonly kind: 'revoke' }
  | { readonly kind: 'elected'; readonly epoch: LogSequence; readonly from: Nanoseconds }
  | { readonly kind: 'owns'; readonly epoch: LogSequence }
  /** This node does not own the log, or has ceased to. */
  | { readonly kind: 'lost'; readonly why: 'fenced' | 'released' | 'notElected' | 'givenUp' }
  /** The replica has ended. */
  | { readonly kind: 'ended' }

/** The next state, and the effects in the order in which they are carried out. */
export interface Transition {
  readonly state: ReplicaState
  readonly effects: readonly ReplicaEffect[]
}
