import type { MessagePort } from 'node:worker_threads'
import type { NoticeAck } from '../../model/subscription/notice.js'
import type {
  Decisions,
  SubscriptionClock,
  SubscriptionId,
  SubscriptionInForce,
} from '../../model/subscription/subscription.js'
import type { NotificationTarget, SubscriptionTerms } from '../../model/subscription/terms.js'
import type { Operations } from '../../threads/calls/service.js'
import type { Milliseconds } from '../../time.js'
import type { OutboxNumber } from './outboxes.js'
import type { AttemptAlarm, AttemptOutcome } from './outgoing.js'

/** A subscription of either kind as a courier knows it. */
export interface Recipient {
  readonly id: SubscriptionId
  readonly kind: 'context' | 'availability'
  readonly reference: string
  /** Names of the attributes that a body shows which is rendered in the form of NGSIv1 when it is sent; empty for all. */
  readonly attributes: readonly string[]
  /** Nothing for those that only NGSIv1 knows. */
  readonly terms?: RecipientTerms | undefined
  /** From this moment on nothing is sent, and what waits is dropped [subscriptions 5.6]. */
  readonly expires: Milliseconds
  /** How changes of it were decided; nothing where none but its creation was ever proposed. */
  readonly decisions?: Pick<Decisions, 'last' | 'withdrawn'> | undefined
  /** Where the courier notes, while it starts, when the last notice was made. */
  readonly clock: SubscriptionClock
  /** What its clock decides; nothing where it is only shown. */
  readonly clocked?: Clocked | undefined
}

/** A notice decides for a while, or for good, whether further ones are made. */
export interface Clocked {
  /** 0 without throttling. */
  readonly throttling_ms: number
  /** Of a oneshot, which fires once from then on. */
  readonly armed?: Milliseconds | undefined
}

/** The oldest notice that the clock of a subscription has to be set to when the broker starts. */
export function clockedSince({ throttling_ms, armed }: Clocked, now: Milliseconds): Milliseconds {
  return Math.min(now - throttling_ms, armed ?? now) as Milliseconds
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
  const { id, reference, attributes, expires, terms, decisions, throttling_ms } = subscription
  const armed = terms?.status === 'oneshot' ? terms.armed : undefined
  return {
    ...{ id, kind: 'context', reference, expires, clock },
    // What waits for a body was made with a list of names to show; names to leave out would be taken for one.
    attributes: terms?.notification.excepts ? [] : attributes,
    ...((throttling_ms > 0 || armed !== undefined) && { clocked: { throttling_ms, armed } }),
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
  readonly closed: readonly (readonly [outbox: OutboxNumber, epoch: number])[]
}

/** What the coordinator has a courier do that has begun. */
export interface DeliveryOperations {
  /** The clients of a front end ask for streams by this port. */
  connectStreams(port: MessagePort): void
  /** A new recipient, or a changed one: its failures are forgotten, and a hold ends. */
  put(recipient: Recipient): void
  /** Nothing of this subscription is begun from the response on, until it is put again; it need not be known yet. */
  hold(id: SubscriptionId): Promise<void>
  /** The subscription has ended: what waits is dropped, and no attempt begins from the response on. */
  remove(id: SubscriptionId): Promise<void>
  /** Drops what waits, since an expired subscription is about to be revived. Answers when that is on disk. */
  expire(id: SubscriptionId): Promise<void>
  /**
   * This node is about to release an outbox that it owns under an epoch, so that another one sends what it holds: nothing of it is begun
   * under this epoch any more. Answers when what was under way has ended and its outcome is on disk, or when the time is over.
   */
  release(outbox: OutboxNumber, epoch: number, limit_ms: number): Promise<void>
  /** The states of these recipients, of those that are known. */
  report(ids: readonly SubscriptionId[]): Promise<readonly KnownState[]>
  /** What waits for one subscription, and which attempts have failed. */
  inspect(id: SubscriptionId): Promise<InspectedQueue>
  /** A page of the receivers. */
  receivers(which: WhichReceivers): Promise<ReceiverPage>
}

/** What the coordinator has the thread of the courier do. */
export interface CourierOperations extends DeliveryOperations {
  connect(partition: number, port: MessagePort): void
  /** All partitions are there, and with them the outboxes: comes first of all but `connect`. Answers when all that waits is known. */
  begin(): Promise<void>
  /** Begins nothing that would have to wait, finishes what is under way for at most this long, stores the outcomes; the thread ends then. */
  drain(limit_ms: number): Promise<void>
}

export const deliveryOperations: Operations<DeliveryOperations> = {
  connectStreams: 'tell',
  put: 'tell',
  hold: 'ask',
  remove: 'ask',
  expire: 'ask',
  release: 'ask',
  report: 'ask',
  inspect: 'ask',
  receivers: 'ask',
}

export const courierOperations: Operations<CourierOperations> = {
  ...deliveryOperations,
  connect: 'tell',
  begin: 'ask',
  drain: 'ask',
}

/** What the courier tells the coordinator. */
export interface CourierEvents {
  /** Stores acks in the coordinator's own outbox. Says whether they are on disk, or were refused, since another node coordinates. */
  ack(acks: readonly NoticeAck[]): Promise<boolean>
  /** An attempt failed, for a reason, or succeeded again, at this URL or MQTT broker [management 10.7]. */
  alarm(alarm: AttemptAlarm, subject: string, reason: string | undefined): void
  /** So many attempts in a row have failed that the subscription has to end [NGSIv2 subscriptions 8.3]. */
  failing(id: SubscriptionId, fails: number): void
}

export const courierEvents: Operations<CourierEvents> = { ack: 'ask', alarm: 'tell', failing: 'tell' }

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

/** An attempt that has ended, without secrets. */
export interface PastAttempt {
  /** When it was begun. */
  readonly at: Milliseconds
  /** Up to the head of the response. */
  readonly duration_ms: number
  readonly result: AttemptOutcome['kind']
  /** Of the response, if there was one. */
  readonly status?: number
  /** Why there was none: `timeout`. */
  readonly reason?: string
  /** The start of the body of the response, if it has one; it comes after the head. */
  readonly response?: string
}

/** What waits for one subscription. */
export interface InspectedQueue {
  /** Why nothing is begun now, if something waits. */
  readonly state: 'idle' | 'sending' | 'pausing after a failure' | 'inactive' | 'on hold'
  readonly underWay: number
  /** The last ones of this node since the courier began, the newest first. */
  readonly attempts: readonly PastAttempt[]
}

/** Where no courier is any more. */
export const nothingInspected: InspectedQueue = { state: 'idle', underWay: 0, attempts: [] }

/** Which receivers are asked for: those whose name has the text, in lower case. */
export interface WhichReceivers {
  readonly text?: string | undefined
  /** Only subscriptions of which something waits to be sent count: none that is inactive, on hold, or has listeners. */
  readonly onlyWaiting?: boolean | undefined
  readonly offset: number
  readonly limit: number
}

/** Those for which most waits first. */
export interface ReceiverPage {
  /** Of all that fit. */
  readonly count: number
  readonly receivers: readonly ReceiverState[]
}

/** Where no courier is any more. */
export const noReceivers: ReceiverPage = { count: 0, receivers: [] }

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
