import type { SubscriptionId } from '../subscription/subscription.js'
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
}

/** Why there is no stream. */
export type StreamRefusal = 'unknown' | 'notStreamed' | 'expired' | 'full' | 'elsewhere'

/** Why a stream has ended: what its last event says. */
export type StreamEnd = 'replaced' | 'removed' | 'expired' | 'changed' | 'interrupted'

/** What a front end tells the courier of the streams of its clients, which it numbers. */
export type StreamInstruction =
  | ({ readonly kind: 'open'; readonly stream: number } & StreamRequest)
  /** The client was handed so many more notices. */
  | { readonly kind: 'took'; readonly stream: number; readonly notices: number }
  | { readonly kind: 'closed'; readonly stream: number }
  | {
      readonly kind: 'confirm'
      readonly ticket: number
      readonly subscription: SubscriptionId
      readonly upTo: StreamPosition
    }

/** What the courier tells a front end. */
export type StreamReport =
  | { readonly kind: 'opened'; readonly stream: number }
  | { readonly kind: 'refused'; readonly stream: number; readonly why: StreamRefusal }
  /** Events as they go out, of so many notices. */
  | { readonly kind: 'events'; readonly stream: number; readonly text: string; readonly notices: number }
  | { readonly kind: 'ended'; readonly stream: number; readonly why: StreamEnd }
  /** Whether the position was one of this subscription. */
  | { readonly kind: 'confirmed'; readonly ticket: number; readonly isKnown: boolean }
