import type { Milliseconds } from '../../time.js'
import type { Value } from '../context/entity.js'
import type { Scope } from '../context/query.js'

/** What an update did to its entity [NGSIv2 subscriptions 4.2]. */
export const alterations = ['entityCreate', 'entityChange', 'entityUpdate', 'entityDelete'] as const
export type Alteration = (typeof alterations)[number]

/** How NGSIv2 shows entities in notifications; `legacy` is the form of NGSIv1 [NGSIv2 subscriptions 5.2, 9]. */
export const attributeFormats = [
  'normalized',
  'simplifiedNormalized',
  'keyValues',
  'simplifiedKeyValues',
  'values',
  'legacy',
] as const
export type AttributesFormat = (typeof attributeFormats)[number]

/** What a client may set; that a subscription has expired, or has fired once, is found out [NGSIv2 subscriptions 8.2]. */
export const statuses = ['active', 'inactive', 'oneshot'] as const
export type SetStatus = (typeof statuses)[number]

/** What a subscription says that has gone through NGSIv2, beside what all of them say [NGSIv2 subscriptions 2.1]. */
export interface SubscriptionTerms {
  /** The empty text without one. */
  readonly description: string
  readonly status: SetStatus
  /** When the status was last set to `oneshot`: it has fired when it was notified at this moment or later. */
  readonly armed: Milliseconds
  /** Nothing while the rules of NGSIv1 decide what fires it [NGSIv2 subscriptions 9]. */
  readonly condition: FiringCondition | undefined
  readonly notification: NotificationTerms
  /** It ends when more attempts than these have failed in a row. */
  readonly maxFails: number | undefined
}

/** What fires a subscription, beside its entities and the attributes that trigger it [NGSIv2 subscriptions 4.1]. */
export interface FiringCondition {
  /** Empty for those that count without a list. */
  readonly alterations: readonly Alteration[]
  readonly onMetadata: boolean
  /** As it was given, and what it means. */
  readonly expression: ExpressionTexts
  readonly scopes: readonly Scope[]
  /** An expression of templates; nothing without one. */
  readonly jexl: string | undefined
}

/** The parts of an expression as they were given, checked; each may be absent. */
export interface ExpressionTexts {
  readonly q?: string
  readonly mq?: string
  readonly georel?: string
  readonly geometry?: string
  readonly coords?: string
}

/** What a notification shows and where it goes [NGSIv2 subscriptions 5, 6]. */
export interface NotificationTerms {
  readonly target: NotificationTarget
  readonly format: AttributesFormat
  /** Whether the attributes of the subscription are those that are left out. */
  readonly excepts: boolean
  /** Names; empty for all of the client's. */
  readonly metadata: readonly string[]
  readonly onlyChanged: boolean
  readonly covered: boolean
}

/** Where notifications go; the URL is the subscription's reference. */
export type NotificationTarget = HttpTarget | MqttTarget

export interface HttpTarget {
  readonly kind: 'http'
  /** 0 for that of all notifications. */
  readonly timeout_ms: number
  readonly custom: HttpTemplate | undefined
}

export interface MqttTarget {
  readonly kind: 'mqtt'
  readonly topic: string
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
  /** Nothing without credentials. */
  readonly user: string | undefined
  readonly passwd: string | undefined
  readonly custom: Template | undefined
}

/** What the body of a custom notification is made of: nothing, a text, none at all (null), JSON, or attributes [NGSIv2 subscriptions 6.2]. */
export interface Template {
  readonly payload?: string | null
  readonly json?: Value
  readonly ngsi?: { readonly [name: string]: Value }
}

export interface HttpTemplate extends Template {
  readonly method?: string
  readonly qs?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
}
