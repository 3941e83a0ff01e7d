import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Result } from '../../result.js'
import type { Milliseconds } from '../../time.js'
import type { StreamPosition } from './stream-position.js'

/** The stream of one client, as its front end asks for it. */
export interface StreamRequest {
  readonly subscription: SubscriptionId
  /** What the client has said that it has. */
  readonly after: StreamPosition | undefined
  /** Those that name the same group share the notices; nothing for one that gets all of them. */
  readonly group: string | undefined
  /** Whether nothing counts as arrived that was not confirmed. */
  readonly isExplicit: boolean
  /** Of a client that listens to several nodes: when its stream began, by the clock of the day of its own node. */
  readonly since?: Milliseconds | undefined
}

/** Why there is no stream. */
export const streamRefusals = ['unknown', 'notStreamed', 'expired', 'full'] as const
export type StreamRefusal = (typeof streamRefusals)[number]

/** Why a stream has ended: what its last event says. */
export const streamEnds = ['replaced', 'removed', 'expired', 'changed', 'interrupted', 'slow'] as const
export type StreamEnd = (typeof streamEnds)[number]

/** What comes on a stream. */
export type StreamPiece =
  /** Events as they go out, of this many notices. */
  | { readonly kind: 'events'; readonly text: string; readonly notices: number }
  | { readonly kind: 'ended'; readonly why: StreamEnd }

/** A stream that is open for a client. */
export interface OpenStream {
  /** The client was handed this many more notices. */
  took(notices: number): void
  /** The client has gone. */
  close(): void
}

/** Who has streams: the courier of one node, or those of several. */
export interface StreamingCourier {
  /** Opens a stream. What comes on it is given to `take`, from before this resolves on; refuses when there is none. */
  open(request: StreamRequest, take: (piece: StreamPiece) => void): Promise<Result<OpenStream, StreamRefusal | 'away'>>
  /** A client has everything up to a position; false when it is no position of that subscription. */
  confirm(subscription: SubscriptionId, upTo: StreamPosition): Promise<Result<boolean, 'away'>>
}

/** What a front end tells the courier of the streams of its clients, which it numbers. */
export type StreamInstruction =
  | ({ readonly kind: 'open'; readonly stream: number } & StreamRequest)
  /** The client was handed this many more notices. */
  | { readonly kind: 'took'; readonly stream: number; readonly notices: number }
  | { readonly kind: 'closed'; readonly stream: number }
  | {
      readonly kind: 'confirm'
      readonly number: number
      readonly subscription: SubscriptionId
      readonly upTo: StreamPosition
    }

/** What the courier tells a front end. */
export type StreamReport =
  | { readonly kind: 'opened'; readonly stream: number }
  | { readonly kind: 'refused'; readonly stream: number; readonly why: StreamRefusal }
  | ({ readonly stream: number } & StreamPiece)
  /** Whether the position was one of this subscription. */
  | { readonly kind: 'confirmed'; readonly number: number; readonly isKnown: boolean }
