import type { Result } from '../../result.js'
import type { Milliseconds } from '../../time.js'
import type { StepBudget } from '../context/step-budget.js'
import type { Cause, Change } from './change.js'
import { termsOf } from './patch.js'
import type { Subscription } from './subscription.js'
import type { NotificationTerms } from './terms.js'

/**
 * The message of a notice, rendered with the update that caused it, so that it does not depend on later state [NGSIv2
 * subscriptions 6]. Absent members are as in the subscription, or as in all notifications.
 */
export interface NoticeMessage {
  /** The header `Ngsiv2-AttrsFormat`. */
  readonly format?: string | undefined
  readonly url?: string | undefined
  readonly method?: string | undefined
  /** The header `Content-Type`; empty for none. */
  readonly contentType?: string | undefined
  /** Names in lower case, and values; an empty value leaves the header out. */
  readonly headers?: readonly (readonly [name: string, value: string])[] | undefined
  /** The MQTT topic. */
  readonly topic?: string | undefined
  readonly undeliverable?: Undeliverable | undefined
}

/** Why a notice cannot be sent: it is dropped in its turn, with a log line of this level. */
export interface Undeliverable {
  readonly level: 'error' | 'warn'
  readonly reason: string
}

/**
 * Renders messages about changes in the forms of NGSIv2 [NGSIv2 subscriptions 5, 6]. Templates take their steps from the budget.
 */
export interface MessageRenderer {
  /** The parts of a message beside its body; undefined when there is nothing to show. */
  readonly head: (
    subscription: Subscription,
    change: Change,
    cause: Cause,
    budget: StepBudget,
  ) => NoticeMessage | undefined
  readonly body: BodyRenderer
}

/** Renders the body of a message whose head can be delivered. */
export type BodyRenderer = (
  terms: BodyTerms,
  change: Change,
  cause: BodyCause,
  budget: StepBudget,
) => Result<string, Undeliverable>

/** The parts of a cause that bodies show. */
export interface BodyCause extends Pick<Cause, 'time'> {
  readonly origin: Pick<Cause['origin'], 'token' | 'service'>
}

/**
 * A message with its body; undefined when there is nothing to show. One that cannot be delivered has an empty body, and says why.
 */
export function renderedMessage(
  { head, body }: MessageRenderer,
  subscription: Subscription,
  change: Change,
  cause: Cause,
  budget: StepBudget,
): { readonly message: NoticeMessage; readonly body: string } | undefined {
  const message = head(subscription, change, cause, budget)
  if (message === undefined || message.undeliverable !== undefined) return message && { message, body: '' }
  const rendered = body(bodyTermsOf(subscription), change, cause, budget)
  return rendered.ok ? { message, body: rendered.value } : { message: { undeliverable: rendered.error }, body: '' }
}

/** A message of a shared change: its parts beside the body, and the terms that the body is rendered by. */
export interface BodilessMessage {
  readonly correlator: string
  readonly message?: NoticeMessage | undefined
  readonly terms: BodyTerms
}

/** What decides the body of a message about a change, as it was when the change was made. */
export interface BodyTerms extends Pick<Subscription, 'id' | 'attributes'> {
  readonly notification: NotificationTerms
  readonly onMetadata: boolean
}

/** A change as bodies show it, whatever is stored of its entity later. */
export interface ShownChange {
  readonly change: Change
  /** The time of its command. */
  readonly time: Milliseconds
  /** The step budget of each template. */
  readonly steps: number
}

/** The terms by which the bodies of a subscription's messages are rendered. */
export function bodyTermsOf(subscription: Pick<Subscription, 'id' | 'attributes' | 'terms'>): BodyTerms {
  const { id, attributes } = subscription
  const { condition, notification } = termsOf(subscription)
  return { id, attributes, notification, onMetadata: condition?.onMetadata ?? true }
}
