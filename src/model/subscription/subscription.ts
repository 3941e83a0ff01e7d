import { randomBytes } from 'node:crypto'
import { type Brand, err, ok, type Result } from '../../result.js'
import type { Milliseconds } from '../../time.js'
import type { Tenant } from '../context/entity.js'
import type { PathRange, Scope, Selector } from '../context/query.js'
import type { SubscriptionTerms } from './terms.js'

/** 24 lower-case hexadecimal digits; the first eight are the second of creation [subscriptions 1.4]. */
export type SubscriptionId = Brand<string, 'SubscriptionId'>

/** A subscription to changes of context, as it is stored and as every partition holds it [subscriptions 2.1]. */
export interface Subscription {
  readonly id: SubscriptionId
  /** Its number in the order of creation, over all kinds of subscriptions. */
  readonly order: number
  readonly tenant: Tenant
  readonly path: PathRange
  /** The subscription means entities that match one of them. */
  readonly selectors: readonly Selector[]
  /** Names of the attributes to show, each once; empty for all. The terms may turn them into those to leave out. */
  readonly attributes: readonly string[]
  /** The receiver: an absolute URL, which may have macros where the terms have a template. */
  readonly reference: string
  /** The subscription triggers before this moment, not at it; `never` when it does not expire. */
  readonly expires: Milliseconds
  /** The least time between two notifications; 0 without throttling. */
  readonly throttling_ms: number
  /** Names of the triggering attributes, empty for any; undefined when changes do not trigger it. */
  readonly onChange: readonly string[] | undefined
  /** The time between two ticks; undefined without a time-interval condition. */
  readonly interval_ms: number | undefined
  /** Restrict initial notifications and ticks, and no others [subscriptions 2.1.2]. */
  readonly scopes: readonly Scope[]
  /** Absent while only NGSIv1 has created and changed the subscription. */
  readonly terms?: SubscriptionTerms | undefined
  /** Absent while no change but the creation was proposed. */
  readonly decisions?: Decisions | undefined
}

/** The decisions about proposed changes of a subscription. Changes are numbered from 1, the creation. */
export interface Decisions {
  /** The number of the last decided change. */
  readonly last: number
  /** Withdrawn changes up to `last`, as ranges in ascending order: the first and the last number of each. */
  readonly withdrawn: readonly number[]
  /** The undecided proposal. Its number is `last + 1`. */
  readonly proposal?: Proposal | undefined
}

export type Proposal =
  /** Creates the subscription of the record that holds this proposal. */
  | { readonly kind: 'create' }
  /** Replaces the subscription by this version. */
  | { readonly kind: 'replace'; readonly by: Subscription }
  | { readonly kind: 'remove' }

/**
 * When a subscription was last notified, in ms since 1970, 0 for never: a 64-bit integer in memory that all partitions share,
 * since throttling holds over all of them [subscriptions 3.4]. Many clocks share one view of memory: a view for each would take
 * more memory than the subscription's own record.
 */
export interface SubscriptionClock {
  /** Over shared memory. */
  readonly moments: BigInt64Array
  /** The index of this clock. */
  readonly at: number
}

/** A subscription as it comes into force in a partition. */
export interface SubscriptionInForce {
  readonly subscription: Subscription
  /** The clock of the version in force; for the proposed version of an undecided change use `otherClock`. */
  readonly clock: SubscriptionClock
}

/** The id of no subscription and no registration, for answers without one. */
export const unknownId = '000000000000000000000000'

/** Parses the id of a subscription or registration, which becomes lower case; refuses with the text of [subscriptions 1.4]. */
export function parseGivenId(text: string): Result<string, string> {
  if (text.length !== unknownId.length) return err('bad length - 24 chars expected')
  return /^[0-9a-fA-F]*$/.test(text) ? ok(text.toLowerCase()) : err('invalid char in ID string')
}

/**
 * A new id for a subscription or registration: the second of its creation in eight hexadecimal digits, and sixteen random ones,
 * so that ids are unique also after a restart within the second [subscriptions 1.4].
 */
export function newId(created: Milliseconds): string {
  const second = Math.floor(created / 1000) % 2 ** 32
  return `${second.toString(16).padStart(8, '0')}${randomBytes(8).toString('hex')}`
}
