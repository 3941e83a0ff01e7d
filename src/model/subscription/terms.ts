import type { Milliseconds } from '../../time.js'
import type { Scope } from '../context/query.js'
import type { TemplateText } from '../expression/json-template.js'

/** The effects of an update on its entity [NGSIv2 subscriptions 4.2]. */
export const alterations = ['entityCreate', 'entityChange', 'entityUpdate', 'entityDelete'] as const
export type Alteration = (typeof alterations)[number]

/** The forms of entities in notifications; `legacy` is that of NGSIv1 [NGSIv2 subscriptions 5.2, 9]. */
export const attributeFormats = [
  'normalized',
  'simplifiedNormalized',
  'keyValues',
  'simplifiedKeyValues',
  'values',
  'legacy',
] as const
export type AttributesFormat = (typeof attributeFormats)[number]

/** The statuses that a client may set; expired and fired ones follow from other facts [NGSIv2 subscriptions 8.2]. */
export const statuses = ['active', 'inactive', 'oneshot'] as const
export type SetStatus = (typeof statuses)[number]

/** The part of a subscription that only NGSIv2 has [NGSIv2 subscriptions 2.1]. */
export interface SubscriptionTerms {
  /** Empty without one. */
  readonly description: string
  readonly status: SetStatus
  /** When the status was last set to `oneshot`: it has fired if it was notified at this moment or later. */
  readonly armed: Milliseconds
  /** Undefined while the rules of NGSIv1 decide what triggers it [NGSIv2 subscriptions 9]. */
  readonly condition: FiringCondition | undefined
  readonly notification: NotificationTerms
  /** The subscription becomes inactive when more attempts than these have failed in a row. */
  readonly maxFails: number | undefined
}

/** What triggers a subscription, beside its entities and triggering attributes [NGSIv2 subscriptions 4.1]. */
export interface FiringCondition {
  /** Empty for the default ones. */
  readonly alterations: readonly Alteration[]
  readonly onMetadata: boolean
  /** As it was given; `scopes` is its parsed form. */
  readonly expression: ExpressionTexts
  readonly scopes: readonly Scope[]
  /** A template expression; undefined without one. */
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

/** The contents and the receiver of a notification [NGSIv2 subscriptions 5, 6]. */
export interface NotificationTerms {
  readonly target: NotificationTarget
  readonly format: AttributesFormat
  /** Whether the subscription's attributes are those to leave out. */
  readonly excepts: boolean
  /** Names; empty for all metadata that clients have written. */
  readonly metadata: readonly string[]
  readonly onlyChanged: boolean
  readonly covered: boolean
}

/** The receiver of notifications; its URL is the subscription's reference. */
export type NotificationTarget = HttpTarget | MqttTarget

export interface HttpTarget {
  readonly kind: 'http'
  /** 0 for the time limit of all notifications. */
  readonly timeout_ms: number
  readonly custom: HttpTemplate | undefined
}

/** Shown in place of a password [NGSIv2 subscriptions 2.1]. */
export const hiddenPassword = '*****'

export interface MqttTarget {
  readonly kind: 'mqtt'
  readonly topic: string
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
  /** Undefined without credentials. */
  readonly user: string | undefined
  readonly passwd: string | undefined
  readonly custom: Template | undefined
}

/** The body of a custom notification: nothing given, a text, no body (null), JSON, or attributes [NGSIv2 subscriptions 6.2]. */
export interface Template {
  readonly payload?: string | null
  readonly json?: TemplateText
  /** An object with `id`, `type` and attributes in the form `normalized`. */
  readonly ngsi?: TemplateText
}

export interface HttpTemplate extends Template {
  readonly method?: string
  readonly qs?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
}
