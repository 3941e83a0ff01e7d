import type { MessagePort } from 'node:worker_threads'
import type { NoticeAck } from '../subscription/notice.js'
import type { Decisions, SubscriptionClock, SubscriptionId, SubscriptionInForce } from '../subscription/subscription.js'
import type { NotificationTarget, SubscriptionTerms } from '../subscription/terms.js'
import type { Milliseconds } from '../time.js'
import type { AttemptAlarm } from './outgoing.js'
import type { SourceNumber } from './source.js'

/** A subscription of either kind as a courier knows it. */
export interface Recipient {
  readonly id: SubscriptionId
  readonly kind: 'context' | 'availability'
  readonly reference: string
  /** Names of the attributes to show, empty for all; of a context subscription. */
  readonly attributes: readonly string[]
  /** Nothing for those that only NGSIv1 knows. */
  readonly terms?: RecipientTerms | undefined
  /** From this moment on nothing is sent, and what waits is dropped [subscriptions 5.6]. */
  readonly expires: Milliseconds
  /** How changes of it were decided; nothing where none but its creation was ever proposed. */
  readonly decisions?: Pick<Decisions, 'last' | 'withdrawn'> | undefined
  /** Where the courier notes, while it starts, when the last notice was made. */
  readonly clock: SubscriptionClock
}

/** How notifications go out whose subscription has gone through NGSIv2. */
export interface RecipientTerms {
  /** Nothing is sent: what is made waits [NGSIv2 subscriptions 8.2]. */
  readonly paused: boolean
  /** More failed attempts in a row than these end the subscription [NGSIv2 subscriptions 8.3]. */
  readonly maxFails: number | undefined
  readonly target: NotificationTarget
}

/** A subscription to context as a courier knows it. */
export function recipientOf({ subscription, clock }: SubscriptionInForce): Recipient {
  const { id, reference, attributes, expires, terms, decisions } = subscription
  return {
    ...{ id, kind: 'context', reference, attributes, expires, clock },
    decisions: decisions && { last: decisions.last, withdrawn: decisions.withdrawn },
    terms: terms && recipientTerms(terms),
  }
}

/** A template is no concern of a courier: it was filled in with the update. */
function recipientTerms({ status, maxFails, notification: { target } }: SubscriptionTerms): RecipientTerms {
  return { paused: status === 'inactive', maxFails, target: { ...target, custom: undefined } }
}

/** What a courier begins with because the one before it was told so. */
export interface CourierStart {
  /** Nothing of these subscriptions is begun until they are put. */
  readonly held: readonly SubscriptionId[]
  /** Outboxes that this node is about to release, and under which epoch of its own each is sent no more. */
  readonly closed: readonly (readonly [source: SourceNumber, epoch: number])[]
}

/** What the coordinator tells the courier. */
export type CourierInstruction =
  | { readonly kind: 'connect'; readonly partition: number; readonly port: MessagePort }
  /** All partitions are there, and with them the outboxes: comes first of all but `connect`. */
  | { readonly kind: 'begin' }
  /** The clients of a front end ask for streams by this port. */
  | { readonly kind: 'streams'; readonly port: MessagePort }
  /** A new recipient, or a changed one: its failures are forgotten, and a hold ends. */
  | { readonly kind: 'put'; readonly recipient: Recipient }
  /** Nothing of this subscription is begun until it is put again, from `done` on; it need not be known yet. */
  | { readonly kind: 'hold'; readonly ticket: number; readonly id: SubscriptionId }
  /** The subscription has ended: nothing is begun any more, what waits is dropped. `done` says that no attempt will begin. */
  | { readonly kind: 'remove'; readonly ticket: number; readonly id: SubscriptionId }
  /** Drops what waits and answers `done` when that is on disk: an expired subscription is about to be revived. */
  | { readonly kind: 'expire'; readonly ticket: number; readonly id: SubscriptionId }
  /** Acks of the coordinator's outbox are on disk, or were refused, since another node coordinates. */
  | { readonly kind: 'acked'; readonly ticket: number; readonly isStored: boolean }
  | { readonly kind: 'report'; readonly ticket: number; readonly ids: readonly SubscriptionId[] | undefined }
  /** What waits for one subscription, and which attempts have failed. */
  | { readonly kind: 'inspect'; readonly ticket: number; readonly id: SubscriptionId }
  /** A page of the receivers. */
  | { readonly kind: 'receivers'; readonly ticket: number; readonly which: WhichReceivers }
  /**
   * This node is about to release an outbox that it owns under an epoch, so that another one sends what it holds: nothing of it is begun
   * under this epoch any more. `done` says that what was under way has ended and its outcome is on disk, or that the time is over.
   */
  | {
      readonly kind: 'release'
      readonly ticket: number
      readonly source: SourceNumber
      readonly epoch: number
      readonly limit_ms: number
    }
  /** Begin nothing that would have to wait, finish what is under way for at most this long, store the outcomes. */
  | { readonly kind: 'drain'; readonly limit_ms: number }

/** What the courier tells the coordinator. */
export type CourierReport =
  /** Everything that waits is known; clocks are set. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly ticket: number }
  /** To be stored in the coordinator's own outbox. */
  | { readonly kind: 'ack'; readonly ticket: number; readonly acks: readonly NoticeAck[] }
  /** The states of the recipients asked for, those that are known; of all without ids. */
  | { readonly kind: 'states'; readonly ticket: number; readonly states: readonly KnownState[] }
  | { readonly kind: 'inspected'; readonly ticket: number; readonly inspected: InspectedQueue }
  | { readonly kind: 'receivers'; readonly ticket: number; readonly page: ReceiverPage }
  /** An attempt failed, or succeeded again, at this URL or MQTT broker [management 10.7]. */
  | {
      readonly kind: 'alarm'
      readonly alarm: AttemptAlarm
      readonly subject: string
      readonly reason: string | undefined
    }
  /** So many attempts in a row have failed that the subscription has to end [NGSIv2 subscriptions 8.3]. */
  | { readonly kind: 'failing'; readonly id: SubscriptionId; readonly fails: number }
  | { readonly kind: 'drained' }

export interface KnownState {
  readonly id: SubscriptionId
  readonly delivery: DeliveryState
}

/** The deliveries of a subscription of which nothing has been sent and nothing waits. */
export const neverDelivered: DeliveryState = {
  timesSent: 0,
  failsCounter: 0,
  queueDepth: 0,
  queueBytes: 0,
  discarded: 0,
}

/** How the deliveries of a subscription go, over all outboxes [subscriptions 5.7]. What never happened is absent. */
export interface DeliveryState {
  readonly timesSent: number
  readonly lastNotification?: Milliseconds
  readonly lastSuccess?: Milliseconds
  readonly lastSuccessCode?: number
  readonly lastFailure?: Milliseconds
  readonly lastFailureReason?: string
  readonly failsCounter: number
  readonly queueDepth: number
  readonly queueBytes: number
  readonly oldestQueued?: Milliseconds
  readonly nextAttempt?: Milliseconds
  readonly discarded: number
}

/** An attempt that has failed. */
export interface FailedAttempt {
  readonly at: Milliseconds
  /** `trouble: timeout`, `refused: 404` [subscriptions 5.7]. */
  readonly reason: string
}

/** What waits for one subscription. */
export interface InspectedQueue {
  /** Why nothing is begun now, if something waits. */
  readonly state: 'idle' | 'sending' | 'pausing after a failure' | 'inactive' | 'on hold'
  readonly underWay: number
  /** The last ones since the courier began, the newest first. */
  readonly failures: readonly FailedAttempt[]
}

/** Which receivers are asked for: those whose name has the text, in lower case. */
export interface WhichReceivers {
  readonly text?: string | undefined
  readonly offset: number
  readonly limit: number
}

/** Those for which most waits first. */
export interface ReceiverPage {
  /** Of all that fit. */
  readonly count: number
  readonly receivers: readonly ReceiverState[]
}

/** One scheme, host and port, or MQTT broker and user, with all subscriptions that notify it [console: data]. */
export interface ReceiverState extends Partial<ReceiverCounts> {
  /** Without secrets. */
  readonly receiver: string
  readonly subscriptions: number
  /** The first of them. */
  readonly ids: readonly SubscriptionId[]
  readonly underWay: number
  /** Notices that wait or are under way, and their bytes. */
  readonly queueDepth: number
  readonly queueBytes: number
  readonly oldestQueued?: Milliseconds | undefined
  /** When the first of its subscriptions that pause is tried again. */
  readonly nextAttempt?: Milliseconds | undefined
}

/** How the attempts at a receiver went since the courier began. */
export interface ReceiverCounts {
  readonly accepted: number
  readonly failed: number
  /** How long attempts took lately, on average, and the last one. */
  readonly meanLatency_ms: number
  readonly lastLatency_ms: number
  readonly lastSuccess?: Milliseconds | undefined
  readonly lastFailure?: Milliseconds | undefined
  readonly lastFailureReason?: string | undefined
}
