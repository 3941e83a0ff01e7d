import type { ServicePath, Tenant } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import type { DeliveryState, KnownState, Recipient } from '../outbox/message.js'
import { granted, type Outcome, refused } from '../outcome.js'
import { StorageFull } from '../partition/store.js'
import type { AvailabilitySubscription, AvailabilityWording } from '../registration/availability.js'
import { AvailabilityIndex } from '../registration/availability-index.js'
import { inForce, type Registration } from '../registration/registration.js'
import type { Discovery, RegistrationIndex } from '../registration/registration-index.js'
import type { RegistryStore } from '../registration/store.js'
import type { Bell } from '../subscription/bell.js'
import type { Notice } from '../subscription/notice.js'
import type { SubscriptionClock, SubscriptionId } from '../subscription/subscription.js'
import type { Milliseconds } from '../time.js'
import { newId } from './new-id.js'
import type { AvailabilityAsked, AvailabilityChange, RegistryDesk } from './registry-desk.js'
import type { SubscriptionState, SubscriptionUnknown } from './subscription-state.js'
import type { Unavailable } from './unavailable.js'

/** What is told to whom sends availability notifications, and asked of it, see `CourierInstruction`. */
export interface AvailabilityCourier {
  /** A new recipient, or a changed one: its failures are forgotten. Told before its first notice is on disk. */
  put(recipient: Recipient): void
  /** Resolves when no attempt for this subscription will begin any more; what waits is dropped. */
  remove(id: SubscriptionId): Promise<void>
  /** Resolves when what waits for an expired subscription has been dropped on disk. */
  expire(id: SubscriptionId): Promise<void>
  /** How the deliveries go, of those subscriptions that are known. */
  states(ids: readonly SubscriptionId[]): Promise<readonly KnownState[]>
}

export interface AvailabilityParts {
  readonly store: RegistryStore
  readonly courier: AvailabilityCourier
  readonly bell: Pick<Bell, 'ring'>
  readonly word: AvailabilityWording
  readonly clock: () => Milliseconds
}

/** Such a subscription hears of every path, and its notifications tell of none [subscriptions 7.4]. */
const root = '/' as ServicePath
const everywhere: PathRange = { path: root, below: true }

/** The availability subscriptions and what they are sent: the part of the registry that others are told by. */
export class Availability implements Pick<RegistryDesk, 'subscribe' | 'change' | 'unsubscribe' | 'states'> {
  readonly #parts: AvailabilityParts
  readonly #registrations: RegistrationIndex
  readonly #index = new AvailabilityIndex()
  readonly #clocks = new Map<SubscriptionId, SubscriptionClock>()
  #order = 0

  /** Begins with what is stored; `registrations` is the owner's index. */
  constructor(parts: AvailabilityParts, registrations: RegistrationIndex) {
    this.#parts = parts
    this.#registrations = registrations
    for (const subscription of parts.store.availability()) {
      this.#index.put(subscription)
      this.#order = Math.max(this.#order, subscription.order)
    }
  }

  /** Everybody who is sent notices, for a courier that starts. */
  recipients(): readonly Recipient[] {
    return this.#inOrder().map((subscription) => this.#recipient(subscription))
  }

  /** The notices that a registration causes, once it is in the index [subscriptions 7.4]. */
  noticesOf(registration: Registration, made: Milliseconds, correlator: string): readonly Notice[] {
    return this.#index
      .awakenedBy(registration, made)
      .flatMap(({ subscription, discovery }) => this.#notice(subscription, discovery, made, correlator))
  }

  async subscribe(asked: AvailabilityAsked): Promise<Outcome<SubscriptionId, Unavailable>> {
    const { duration_ms, correlator, ...what } = asked
    if (!this.#parts.store.hasRoom) return refused({ kind: 'storageFull' })
    const time = this.#parts.clock()
    const expires = (time + duration_ms) as Milliseconds
    const subscription = { ...what, id: newId(time) as SubscriptionId, order: this.#order + 1, expires }
    const stored = this.#store(subscription, undefined, time, correlator)
    if (!stored.ok) return stored
    this.#order = subscription.order
    return granted(subscription.id)
  }

  async change(asked: AvailabilityChange): Promise<Outcome<undefined, SubscriptionUnknown | Unavailable>> {
    const { duration_ms, correlator, ...what } = asked
    const before = this.#known(asked.tenant, asked.id)
    // What waited when it expired is not to be sent after all once it is revived [subscriptions 5.6].
    if (before && !inForce(before, this.#parts.clock())) await this.#parts.courier.expire(asked.id)
    const held = this.#known(asked.tenant, asked.id)
    if (held === undefined) return refused({ kind: 'subscriptionUnknown' })
    if (!this.#parts.store.hasRoom) return refused({ kind: 'storageFull' })
    const time = this.#parts.clock()
    const expires = duration_ms === undefined ? held.expires : ((time + duration_ms) as Milliseconds)
    return this.#store({ ...held, ...what, expires }, held, time, correlator)
  }

  async unsubscribe(
    tenant: Tenant,
    id: SubscriptionId,
  ): Promise<Outcome<undefined, SubscriptionUnknown | Unavailable>> {
    if (this.#known(tenant, id) === undefined) return refused({ kind: 'subscriptionUnknown' })
    const { store } = this.#parts
    const removed = transacted(store, () => store.removeAvailability(id))
    if (!removed.ok) return removed
    await this.forget([id])
    return removed
  }

  async states(which: {
    readonly tenant?: Tenant
    readonly id?: SubscriptionId
  }): Promise<readonly SubscriptionState[]> {
    const meant = this.#inOrder().filter(
      ({ tenant, id }) =>
        (which.tenant === undefined || tenant === which.tenant) && (which.id === undefined || id === which.id),
    )
    if (meant.length === 0) return []
    const known = await this.#parts.courier.states(meant.map(({ id }) => id))
    const deliveries = new Map(known.map(({ id, delivery }) => [id, delivery]))
    return meant.map(({ id, tenant, reference, expires }) => {
      const delivery = deliveries.get(id) ?? neverDelivered
      return { id, tenant, path: everywhere, reference, expires, throttling_ms: 0, delivery }
    })
  }

  /** Those that expired at this moment or before. */
  expiredBy(moment: Milliseconds): readonly SubscriptionId[] {
    return [...this.#index.all()].filter(({ expires }) => expires <= moment).map(({ id }) => id)
  }

  /** Ends what is no longer stored; resolves when no notification of it starts any more. */
  async forget(ids: readonly SubscriptionId[]): Promise<void> {
    for (const id of ids) {
      this.#index.remove(id)
      this.#clocks.delete(id)
    }
    await Promise.all(ids.map((id) => this.#parts.courier.remove(id)))
  }

  /** Stores a new or changed subscription with what it is sent of what is known. */
  #store(
    subscription: AvailabilitySubscription,
    held: AvailabilitySubscription | undefined,
    time: Milliseconds,
    correlator: string,
  ): Outcome<undefined, Unavailable> {
    const { store, courier, bell } = this.#parts
    const notices = this.#notice(subscription, subscription, time, correlator)
    courier.put(this.#recipient(subscription))
    let stored: Outcome<undefined, Unavailable> | undefined
    try {
      stored = transacted(store, () => {
        store.putAvailability(subscription)
        store.enqueue(notices)
      })
    } finally {
      if (stored?.ok !== true) this.#withdraw(subscription.id, held)
    }
    if (!stored.ok) return stored
    this.#index.put(subscription)
    if (notices.length > 0) bell.ring()
    return stored
  }

  /** What the courier was told of a subscription was not stored. */
  #withdraw(id: SubscriptionId, held: AvailabilitySubscription | undefined): void {
    if (held) this.#parts.courier.put(this.#recipient(held))
    else void this.forget([id])
  }

  /** What is known of what is asked for; there is nothing to send when nothing is, or to one that has expired. */
  #notice(
    subscription: AvailabilitySubscription,
    discovery: Discovery,
    made: Milliseconds,
    correlator: string,
  ): readonly Notice[] {
    const { id, tenant } = subscription
    if (!inForce(subscription, made)) return []
    const { contexts } = this.#registrations.discover({ tenant, paths: [everywhere], now: made }, discovery)
    if (contexts.length === 0) return []
    const body = this.#parts.word(id, contexts)
    return [
      { subscription: id, line: { kind: 'availability' }, made, tenant, paths: [root], correlator, token: '', body },
    ]
  }

  #known(tenant: Tenant, id: SubscriptionId): AvailabilitySubscription | undefined {
    const held = this.#index.get(id)
    return held?.tenant === tenant ? held : undefined
  }

  #recipient({ id, reference, expires }: AvailabilitySubscription): Recipient {
    const clock = this.#clocks.get(id) ?? new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)
    this.#clocks.set(id, clock)
    return { id, kind: 'availability', reference, expires, clock }
  }

  #inOrder(): readonly AvailabilitySubscription[] {
    return [...this.#index.all()].sort((a, b) => a.order - b.order)
  }
}

/** The deliveries of a subscription that the courier does not know yet. */
const neverDelivered: DeliveryState = { timesSent: 0, failsCounter: 0, queueDepth: 0, queueBytes: 0, discarded: 0 }

/** Carries out a write transaction; that the disk is full is an answer, every other failure is a fault. */
export function transacted(store: RegistryStore, work: () => void): Outcome<undefined, Unavailable> {
  try {
    store.transact(work)
    return granted(undefined)
  } catch (fault) {
    if (fault instanceof StorageFull) return refused({ kind: 'storageFull' })
    throw fault
  }
}
