import type { Entity, Tenant } from '../../model/context/entity.js'
import type { AvailabilitySubscription } from '../../model/registration/availability.js'
import type { Registration } from '../../model/registration/registration.js'
import type { DeliveryStats } from '../../model/subscription/notice.js'
import type { Subscription } from '../../model/subscription/subscription.js'
import type { Milliseconds } from '../../time.js'

/** What is exported and imported, one by one. The order of creation is that in which they come. */
export type Item = EntityItem | SubscriptionItem | RegistrationItem | AvailabilityItem

/** The kinds of things that are moved, as the lines of an export and the option `--kind` name them. */
export const itemKinds = ['entity', 'subscription', 'registration', 'availability'] as const
export type ItemKind = (typeof itemKinds)[number]

/** An entity without the number that only the folder means something to in which it lies. */
export type UnnumberedEntity = Omit<Entity, 'sequence'>

export interface EntityItem {
  readonly kind: 'entity'
  readonly tenant: Tenant
  readonly entity: UnnumberedEntity
}

export interface SubscriptionItem {
  readonly kind: 'subscription'
  readonly subscription: Omit<Subscription, 'order'>
  /** Of all outboxes together; nothing for one that was never notified. */
  readonly stats: DeliveryStats | undefined
  /** When its last tick was due; nothing for one that does not tick, or has not yet. */
  readonly ticked: Milliseconds | undefined
}

export interface RegistrationItem {
  readonly kind: 'registration'
  readonly registration: Omit<Registration, 'order'>
}

/** A subscription to registrations. */
export interface AvailabilityItem {
  readonly kind: 'availability'
  readonly subscription: Omit<AvailabilitySubscription, 'order'>
}

/** How an item is named to people. */
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

/** How many there are of each kind. */
export type ItemCounts = Record<ItemKind, number>

/** Nothing of any kind. */
export function noCounts(): ItemCounts {
  return { entity: 0, subscription: 0, registration: 0, availability: 0 }
}

const plurals: Readonly<Record<ItemKind, string>> = {
  entity: 'entities',
  subscription: 'subscriptions',
  registration: 'registrations',
  availability: 'availability subscriptions',
}

/** Counts in words. */
export function countsText(counts: Readonly<ItemCounts>): string {
  const parts = itemKinds.filter((kind) => counts[kind] > 0).map((kind) => `${counts[kind]} ${plurals[kind]}`)
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

/** What a source of items gives, one after the other. */
export type Sourced =
  | {
      readonly kind: 'item'
      readonly item: Item
      /** Where it stands, for people. */
      readonly where: string
      /** What of it cannot be kept, in sentences; absent where all is. */
      readonly losses?: readonly string[] | undefined
    }
  /** It cannot be imported. */
  | { readonly kind: 'wrong'; readonly where: string; readonly reason: string }

/** Where items are imported from. */
export interface ItemSource {
  /** In pieces that are as large as is handy to read. */
  readonly pieces: AsyncIterable<readonly Sourced[]>
  /** How far it is read, in any unit; nothing where nobody knows how much there is. */
  readonly progress: () => { readonly done: number; readonly total: number } | undefined
}

/** What is done with an item that is there already. */
export const conflictPolicies = ['fail', 'skip', 'replace'] as const
type ConflictPolicy = (typeof conflictPolicies)[number]

/** What a sink is told of an import. */
export interface SinkSettings {
  readonly policy: ConflictPolicy
  /** Whether items behind one that was refused are taken. */
  readonly keepsGoing: boolean
  /** Whether nothing is written, only looked at. */
  readonly dry: boolean
}

/** What became of an item. */
export type Outcome =
  | {
      readonly kind: 'created' | 'replaced' | 'skipped'
      /** What of it could not be kept, in sentences; absent where all was. */
      readonly losses?: readonly string[] | undefined
    }
  /** `reason` is a sentence for whoever imports. */
  | { readonly kind: 'refused'; readonly reason: string }

/** Where items are imported to. */
export interface Sink {
  /**
   * Takes items, in their order; gives for each of them, in the same order, what became of it. Those behind one that was
   * refused may be left out, if the import is to stop there.
   */
  put(items: readonly Item[]): Promise<readonly Outcome[]>
  /** Everything that was taken is on disk when it resolves. */
  close(): Promise<void>
}

/** What is said of an item that is there already. */
export const isThere = 'it is there already (see --on-conflict)'
