import { randomBytes } from 'node:crypto'
import { type Brand, err, ok, type Result } from '../../result.js'
import type { Milliseconds } from '../../time.js'
import type { Tenant } from '../context/entity.js'
import type { PathRange, Scope, Selector } from '../context/query.js'
import type { SubscriptionTerms } from './terms.js'

/** 24 lower-case hexadecimal digits, the first eight of which are the second of creation [subscriptions 1.4]. */
export type SubscriptionId = Brand<string, 'SubscriptionId'>

/** A subscription to changes of context, as it is stored and as every partition holds a copy [subscriptions 2.1]. */
export interface Subscription {
  readonly id: SubscriptionId
  /** Its number in the order of creation, over all kinds of subscriptions. */
  readonly order: number
  readonly tenant: Tenant
  readonly path: PathRange
  /** An entity that one of them matches is meant. */
  readonly selectors: readonly Selector[]
  /** Names of the attributes to show, each once; empty for all. Its terms may say that they are those to leave out. */
  readonly attributes: readonly string[]
  /** Where notifications go: an absolute URL, which may have macros where the terms have a template. */
  readonly reference: string
  /** It fires before this moment, not at it; `never` when it does not end. */
  readonly expires: Milliseconds
  /** Least time between two notifications; 0 without throttling. */
  readonly throttling_ms: number
  /** Names of the triggering attributes, empty for any; nothing when changes do not fire it. */
  readonly onChange: readonly string[] | undefined
  /** Time between two ticks; nothing without a time-interval condition. */
  readonly interval_ms: number | undefined
  /** What restricts initial notifications and ticks, and no others [subscriptions 2.1.2]. */
  readonly scopes: readonly Scope[]
  /** Undefined while only NGSIv1 has created and changed the subscription. */
  readonly terms?: SubscriptionTerms | undefined
  /** Undefined while no change but the creation was proposed. */
  readonly decisions?: Decisions | undefined
}

/** How proposed changes of a subscription were decided. Changes are numbered from 1, the creation. */
export interface Decisions {
  /** The number of the last one that was decided. */
  readonly last: number
  /** Withdrawn changes up to `last`, as ranges in ascending order: the first and the last number of each. */
  readonly withdrawn: readonly number[]
  /** What is proposed and not decided yet. Its number is `last + 1`. */
  readonly proposal?: Proposal | undefined
}

/** What a subscription is to become. */
export type Proposal =
  /** The subscription is created as the record with this proposal says. */
  | { readonly kind: 'create' }
  /** It is replaced by this version. */
  | { readonly kind: 'replace'; readonly by: Subscription }
  | { readonly kind: 'remove' }

/**
 * When a subscription was last notified, in milliseconds since 1970, 0 before the first time: one 64-bit integer in memory
 * that all partitions share, since throttling holds over all of them [subscriptions 3.4]. Many clocks lie in one piece of
 * memory and share its view: a view for each would take more than the subscription's own record.
 */
export interface SubscriptionClock {
  /** Over shared memory. */
  readonly moments: BigInt64Array
  /** Which of them is this one's. */
  readonly at: number
}

/** A subscription as it comes into force in a partition. */
export interface SubscriptionInForce {
  readonly subscription: Subscription
  /** The clock of the version in force; while a change is undecided, `otherClock` gives that of the proposed version. */
  readonly clock: SubscriptionClock
}

/** What stands for no subscription and no registration. */
export const unknownId = '000000000000000000000000'

/** The id of a subscription or registration as a client gives it, in lower case; refuses with the text of [subscriptions 1.4]. */
export function parseGivenId(text: string): Result<string, string> {
  if (text.length !== unknownId.length) return err('bad length - 24 chars expected')
  return /^[0-9a-fA-F]*$/.test(text) ? ok(text.toLowerCase()) : err('invalid char in ID string')
}

/**
 * An id for a subscription or registration: the second of its creation in eight hexadecimal digits, and sixteen at
 * random, so that no two are equal, not even after a restart within the second [subscriptions 1.4].
 */
export function newId(created: Milliseconds): string {
  const second = Math.floor(created / 1000) % 2 ** 32
  return `${second.toString(16).padStart(8, '0')}${randomBytes(8).toString('hex')}`
}
