import { err, ok, type Result } from '../../result.js'
import type { Milliseconds } from '../../time.js'
import type { Tenant } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import type { Subscription, SubscriptionId } from './subscription.js'
import {
  type FiringCondition,
  hiddenPassword,
  type NotificationTarget,
  type NotificationTerms,
  type SetStatus,
  type SubscriptionTerms,
} from './terms.js'

/** The members of a PATCH of NGSIv2; absent ones stay [NGSIv2 subscriptions 3.4]. */
export interface SubscriptionPatch {
  readonly tenant: Tenant
  readonly id: SubscriptionId
  readonly path: PathRange | undefined
  readonly description: string | undefined
  readonly subject: SubjectPatch | undefined
  readonly notification: NotificationPatch | undefined
  readonly expires: Milliseconds | undefined
  readonly status: SetStatus | undefined
  readonly throttling_ms: number | undefined
}

/** Replaces the subject of a subscription, except for undefined members. */
export interface SubjectPatch extends Pick<Subscription, 'selectors'>, Omit<FiringCondition, 'onMetadata'> {
  readonly onChange: readonly string[]
  readonly onMetadata: boolean | undefined
}

/** Replaces the notification, except for the two flags where they are undefined. */
export interface NotificationPatch
  extends Pick<Subscription, 'attributes' | 'reference'>,
    Pick<SubscriptionTerms, 'maxFails'>,
    Omit<NotificationTerms, 'onlyChanged' | 'covered'> {
  readonly onlyChanged: boolean | undefined
  readonly covered: boolean | undefined
}

/** A `covered` subscription would have no list of attributes to cover. */
export interface CoversNothing {
  readonly kind: 'coversNothing'
}

/** The terms of a subscription that NGSIv1 has made [NGSIv2 subscriptions 9]. */
const legacyTerms: SubscriptionTerms = {
  description: '',
  status: 'active',
  armed: 0 as Milliseconds,
  condition: undefined,
  notification: {
    target: { kind: 'http', timeout_ms: 0, custom: undefined },
    format: 'legacy',
    excepts: false,
    metadata: [],
    onlyChanged: false,
    covered: false,
  },
  maxFails: undefined,
}

/** The terms of a subscription of either interface. */
export function termsOf({ terms }: Pick<Subscription, 'terms'>): SubscriptionTerms {
  return terms ?? legacyTerms
}

/** Whether a subscription is notified in the form of NGSIv1, without a template [NGSIv2 subscriptions 9]. */
export function isLegacy({ terms }: Pick<Subscription, 'terms'>): boolean {
  if (terms === undefined) return true
  const { format, target } = terms.notification
  return format === 'legacy' && target.custom === undefined
}

/**
 * Whether its list of names alone says what notifications in the form of NGSIv1 show, as it does for subscriptions that NGSIv1 has
 * made.
 */
export function isPlainLegacy(subscription: Pick<Subscription, 'terms'>): boolean {
  const { excepts, metadata, onlyChanged } = termsOf(subscription).notification
  return isLegacy(subscription) && !excepts && !onlyChanged && metadata.length === 0
}

/**
 * A subscription after a PATCH. A oneshot that is set again may fire again.
 *
 * @param lastNotified when it was last notified; 0 for never
 */
export function patched(
  before: Subscription,
  patch: SubscriptionPatch,
  made: Milliseconds,
  lastNotified: number,
): Result<Subscription, CoversNothing> {
  const { path, description, subject, notification, expires, status, throttling_ms } = patch
  const terms = termsOf(before)
  const shown = notification ? patchedNotification(before, notification) : terms.notification
  const attributes = notification?.attributes ?? before.attributes
  if (coversNothing({ ...shown, attributes })) return err({ kind: 'coversNothing' })
  return ok({
    ...before,
    path: path ?? before.path,
    selectors: subject?.selectors ?? before.selectors,
    onChange: subject?.onChange ?? before.onChange,
    attributes,
    reference: notification?.reference ?? before.reference,
    expires: expires ?? before.expires,
    throttling_ms: throttling_ms ?? before.throttling_ms,
    terms: {
      description: description ?? terms.description,
      status: status ?? terms.status,
      armed: status === 'oneshot' ? armedAt(made, lastNotified) : terms.armed,
      condition: subject ? patchedCondition(subject) : terms.condition,
      notification: shown,
      maxFails: notification ? notification.maxFails : terms.maxFails,
    },
  })
}

/** Whether a notification is `covered` without a list of attributes to cover [NGSIv2 subscriptions 2.2]. */
export function coversNothing({
  covered,
  excepts,
  attributes,
}: Pick<NotificationTerms, 'covered' | 'excepts'> & Pick<Subscription, 'attributes'>): boolean {
  return covered && (excepts || attributes.length === 0)
}

/** The moment from which a notification uses up a oneshot that is set now: later than all notifications before. */
export function armedAt(made: Milliseconds, lastNotified: number): Milliseconds {
  return Math.max(made, lastNotified + 1) as Milliseconds
}

/** Whether a oneshot has fired, so that it is inactive [NGSIv2 subscriptions 8.2]. */
export function hasFired(
  { status, armed }: Pick<SubscriptionTerms, 'status' | 'armed'>,
  lastNotified: number,
): boolean {
  return status === 'oneshot' && lastNotified >= armed
}

/** Whether a subscription makes notifications: it is not inactive, and no oneshot that has fired [NGSIv2 subscriptions 8.2]. */
export function isActive({ terms }: Pick<Subscription, 'terms'>, lastNotified: number): boolean {
  return terms === undefined || (terms.status !== 'inactive' && !hasFired(terms, lastNotified))
}

/** The status that operators see; `failed`: active, and the last attempts have failed [subscriptions 5.7]. */
export type ShownStatus = SetStatus | 'expired' | 'failed'

/** The status of a subscription at a moment, after this many failed attempts in a row. */
export function shownStatus(status: SetStatus, expires: Milliseconds, fails: number, at: Milliseconds): ShownStatus {
  if (at >= expires) return 'expired'
  return status === 'active' && fails > 0 ? 'failed' : status
}

/** A given subject replaces the whole condition: absent members are reset [NGSIv2 subscriptions 3.4]. */
function patchedCondition({ alterations, expression, scopes, jexl, onMetadata = true }: SubjectPatch): FiringCondition {
  return { alterations, expression, scopes, jexl, onMetadata }
}

function patchedNotification(subscription: Subscription, patch: NotificationPatch): NotificationTerms {
  const before = termsOf(subscription).notification
  const { format, excepts, metadata } = patch
  const { onlyChanged = before.onlyChanged, covered = before.covered } = patch
  const isSameReceiver = patch.reference === subscription.reference
  const target = isSameReceiver ? withKeptPassword(before.target, patch.target) : patch.target
  return { target, format, excepts, metadata, onlyChanged, covered }
}

/**
 * A client may send back what it read: a hidden password stands for the one that is stored for this user [NGSIv2 subscriptions 1.2,
 * 2.1]. It is for the receiver that it was given for, and goes to no other one.
 */
function withKeptPassword(before: NotificationTarget, given: NotificationTarget): NotificationTarget {
  if (given.kind !== 'mqtt' || given.passwd !== hiddenPassword) return given
  return before.kind === 'mqtt' && before.user === given.user ? { ...given, passwd: before.passwd } : given
}
