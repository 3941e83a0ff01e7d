import type { Entity, Tenant } from '../../model/context/entity.js'
import type { AvailabilitySubscription } from '../../model/registration/availability.js'
import type { Registration } from '../../model/registration/registration.js'
import type { DeliveryStats } from '../../model/subscription/notice.js'
import type { Subscription } from '../../model/subscription/subscription.js'
import type { Milliseconds } from '../../time.js'

/** An exported or imported item. Items come in their order of creation. */
export type Item = EntityItem | SubscriptionItem | RegistrationItem | AvailabilityItem

/** The kinds of items, by their names in the lines of an export and in the option `--kind`. */
export const itemKinds = ['entity', 'subscription', 'registration', 'availability'] as const
export type ItemKind = (typeof itemKinds)[number]

/** An entity without its sequence, which has a meaning only in its own folder. */
export type UnnumberedEntity = Omit<Entity, 'sequence'>

export interface EntityItem {
  readonly kind: 'entity'
  readonly tenant: Tenant
  readonly entity: UnnumberedEntity
}

export interface SubscriptionItem {
  readonly kind: 'subscription'
  readonly subscription: Omit<Subscription, 'order'>
  /** Merged over all outboxes; undefined for one that was never notified. */
  readonly stats: DeliveryStats | undefined
  /** When its last tick was due; undefined for one that has not ticked. */
  readonly ticked: Milliseconds | undefined
}

export interface RegistrationItem {
  readonly kind: 'registration'
  readonly registration: Omit<Registration, 'order'>
}

/** An availability subscription. */
export interface AvailabilityItem {
  readonly kind: 'availability'
  readonly subscription: Omit<AvailabilitySubscription, 'order'>
}

/** The name of an item for people. */
export function itemName(item: Item): string {
  if (item.kind === 'entity') {
    const { id, type, path } = item.entity
    const typed = type === '' ? '' : ` of type ${type}`
    return `entity ${id}${typed} in ${path}${ofTenant(item.tenant)}`
  }
  const { id, tenant } = item.kind === 'registration' ? item.registration : item.subscription
  const kind = item.kind === 'availability' ? 'availability subscription' : item.kind
  return `${kind} ${id}${ofTenant(tenant)}`
}

function ofTenant(tenant: Tenant): string {
  return tenant === '' ? '' : ` of tenant ${tenant}`
}

/** The number of items of each kind. */
export type ItemCounts = Record<ItemKind, number>

export function noCounts(): ItemCounts {
  return { entity: 0, subscription: 0, registration: 0, availability: 0 }
}

const names: Readonly<Record<ItemKind, readonly [one: string, several: string]>> = {
  entity: ['entity', 'entities'],
  subscription: ['subscription', 'subscriptions'],
  registration: ['registration', 'registrations'],
  availability: ['availability subscription', 'availability subscriptions'],
}

/** Counts as a text. */
export function countsText(counts: Readonly<ItemCounts>): string {
  const parts = itemKinds
    .filter((kind) => counts[kind] > 0)
    .map((kind) => `${counts[kind]} ${names[kind][counts[kind] === 1 ? 0 : 1]}`)
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

/** A part of an item that is not kept as it was: it is left out, or something else takes its place. */
export interface PartLoss {
  readonly kind: 'leftOut' | 'changed'
  /** The part, and why; for example `attribute a, whose value is binary`. */
  readonly what: string
}

export function leftOut(what: string): PartLoss {
  return { kind: 'leftOut', what }
}

export function changed(what: string): PartLoss {
  return { kind: 'changed', what }
}

/** The kind and the tenant of an item. */
export interface Classified {
  readonly kind: ItemKind
  readonly tenant: Tenant
}

export function classOf(item: Item): Classified {
  if (item.kind === 'entity') return item
  return { kind: item.kind, tenant: item.kind === 'registration' ? item.registration.tenant : item.subscription.tenant }
}

/** An element of a source. */
export type Sourced =
  | {
      readonly kind: 'item'
      readonly item: Item
      /** Its place in the source, for people. */
      readonly where: string
      /** Absent for none. */
      readonly losses?: readonly PartLoss[] | undefined
    }
  /** It cannot be imported. */
  | {
      readonly kind: 'wrong'
      readonly where: string
      readonly reason: string
      /** Absent where nobody knows what it is. */
      readonly of?: Classified | undefined
    }
  /** It is nothing that is imported. */
  | { readonly kind: 'passedOver'; readonly where: string; readonly reason: string }

/** An element that cannot be imported, with the reason for people. */
export function wrong(where: string, reason: string): Extract<Sourced, { kind: 'wrong' }> {
  return { kind: 'wrong', where, reason }
}

export interface ItemSource {
  /**
   * Reads the source to its end, without importing anything, and gives the reason why it is not whole. Absent where it can be read
   * only once.
   */
  readonly faultAtEnd?: (() => Promise<string | undefined>) | undefined
  /** In groups of a convenient size. */
  readonly pieces: AsyncIterable<readonly Sourced[]>
  /** How much has been read, in any unit; undefined where the total is unknown. */
  readonly progress: () => { readonly done: number; readonly total: number } | undefined
}

/** What to do with an item that exists already. */
export const conflictPolicies = ['fail', 'skip', 'replace'] as const
type ConflictPolicy = (typeof conflictPolicies)[number]

/** The settings of an import for its sink. */
export interface SinkSettings {
  readonly policy: ConflictPolicy
  /** Whether items behind a refused one are taken. */
  readonly keepsGoing: boolean
  /** Whether nothing is written, only checked. */
  readonly dry: boolean
}

/** The outcome of an item. */
export type Outcome =
  | {
      readonly kind: 'created' | 'replaced' | 'skipped'
      /** Absent for none. */
      readonly losses?: readonly PartLoss[] | undefined
    }
  /** `reason` is a sentence for the operator. */
  | { readonly kind: 'refused'; readonly reason: string }

/** The destination of an import. */
export interface Sink {
  /**
   * Takes items in order; gives the outcome of each, in the same order. If the import is to stop at a refused item, those behind
   * it may have no outcome.
   */
  put(items: readonly Item[]): Promise<readonly Outcome[]>
  /** Resolves when everything that was taken is durable. */
  close(): Promise<void>
}

/** The reason of the refusal of an item that exists already. */
export const isThere = 'it is there already (see --on-conflict)'
