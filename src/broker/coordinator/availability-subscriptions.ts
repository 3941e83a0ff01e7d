import { neverDelivered, type Recipient } from '../../delivery/queue/courier-protocol.js'
import type { ServicePath, Tenant } from '../../model/context/entity.js'
import type { PathRange } from '../../model/context/query.js'
import {
  AvailabilityIndex,
  type AvailabilityRenderer,
  type AvailabilitySubscription,
  type RegistryChange,
} from '../../model/registration/availability.js'
import { type DiscoveryOfRegistered, discovering, wholeDiscovery } from '../../model/registration/discovery.js'
import { inForce, type Registration, type RegistrationChange } from '../../model/registration/registration.js'
import type { RegistrationIndex } from '../../model/registration/registration-index.js'
import { advanceClock } from '../../model/subscription/clocks.js'
import type { Notice } from '../../model/subscription/notice.js'
import { newId, type SubscriptionClock, type SubscriptionId } from '../../model/subscription/subscription.js'
import type { Log } from '../../observe/log/log.js'
import { err, ok, type Result } from '../../result.js'
import { inSlicesUntil, mapInSlices, type Steps } from '../../slices.js'
import type { MetadataStore } from '../../storage/store/metadata-store.js'
import type { Bell } from '../../threads/shared-memory/signals.js'
import { after, type Milliseconds } from '../../time.js'
import type {
  AvailabilityChange,
  AvailabilityRequest,
  RegistryOrigin,
  SubscriptionState,
  SubscriptionUnknown,
  WhichSubscriptions,
} from '../front-end/services.js'
import type { Unavailable } from '../front-end/unavailable.js'
import { Capacity, resultOf, sizeOfAvailability } from './capacity.js'
import type { CourierThread } from './courier-thread.js'
import { Clocks } from './held-subscriptions.js'

export interface AvailabilityLimits {
  /** Availability subscriptions, of 1 KiB each on average. */
  readonly subscriptionsMax: number
  /** How long the notices of one registration, or of one subscription, may take to compose; ten seconds by default. */
  readonly composing_ms?: number
}

export interface AvailabilitySubscriptionsParts {
  readonly store: MetadataStore
  readonly courier: Pick<CourierThread<object>, 'put' | 'hold' | 'remove' | 'expire' | 'report'>
  readonly bell: Pick<Bell, 'ring'>
  readonly render: AvailabilityRenderer
  readonly clock: () => Milliseconds
  readonly limits: AvailabilityLimits
  readonly log: Log
}

/** The subscription that is stored under an id; undefined after its removal. */
export interface AvailabilityState {
  readonly id: SubscriptionId
  readonly subscription: AvailabilitySubscription | undefined
}

/** When a notice of a subscription was made. */
export interface NotifiedMoment {
  readonly id: SubscriptionId
  readonly made: Milliseconds
}

/**
 * What the notices of one registration may have in characters, all together, and what each counts as at least: they are
 * composed before any of them is stored, and stored with the registration in one piece.
 */
const mostNotices_characters = 16 * 2 ** 20
const leastNotice_characters = 1024

/** Nobody else registers or subscribes to registrations meanwhile. */
const mostComposing_ms = 10_000

/** An availability subscription applies to every path, and its notifications name none [subscriptions 7.4]. */
const root = '/' as ServicePath
const everywhere: PathRange = { path: root, below: true }

/**
 * The availability subscriptions and what they are sent: the part of the registry that others are told by. Whoever uses
 * it lets one operation end before the next begins.
 */
export class AvailabilitySubscriptions {
  readonly #parts: AvailabilitySubscriptionsParts
  readonly #registrations: RegistrationIndex
  readonly #index = new AvailabilityIndex()
  readonly #clocks = new Map<SubscriptionId, SubscriptionClock>()
  readonly #newClocks = new Clocks()
  readonly #capacity: Capacity
  #order = 0

  /** Empty before `loading`; `registrations` is the index of the owner. */
  constructor(parts: AvailabilitySubscriptionsParts, registrations: RegistrationIndex) {
    this.#parts = parts
    this.#registrations = registrations
    this.#capacity = new Capacity(parts.limits.subscriptionsMax)
  }

  /** Reads the stored subscriptions, step by step. */
  *loading(): Generator<void> {
    for (const subscription of this.#parts.store.availability()) {
      this.#put(subscription)
      yield
    }
  }

  /** All recipients of availability notifications, for a courier that starts. */
  recipients(): readonly Recipient[] {
    return this.#inOrder().map((subscription) => this.#recipient(subscription))
  }

  /**
   * The notices that a registration causes, of what is known with the changes of which it is one; none of one that came
   * round [subscriptions 7.4, 8.4]. Refuses what would take too much, or too long. In slices: nothing else may change meanwhile.
   */
  async noticesOf(
    registration: Registration,
    changes: readonly RegistrationChange[],
    made: Milliseconds,
    origin: RegistryOrigin,
  ): Promise<Result<readonly Notice[], Unavailable>> {
    const notices = await this.#inTime(this.#composing(registration, changes, made, origin))
    return notices ?? err({ kind: 'noticesFull' })
  }

  *#composing(
    registration: Registration,
    changes: readonly RegistrationChange[],
    made: Milliseconds,
    origin: RegistryOrigin,
  ): Steps<Result<readonly Notice[], Unavailable>> {
    const notices: Notice[] = []
    if (origin.ends) return ok(notices)
    let characters = 0
    const head_characters = origin.correlator.length + (origin.via?.length ?? 0)
    for (const awakened of this.#index.matchesOf(registration, made)) {
      yield
      if (awakened === undefined) continue
      const { subscription, discovery } = awakened
      const told = `subscription ${subscription.id} is notified of registration ${registration.id}`
      this.#parts.log.trace('availability', told)
      for (const notice of yield* this.#notice(subscription, discovery, made, origin, changes)) {
        notices.push(notice)
        characters += Math.max(leastNotice_characters, head_characters + notice.body.length)
      }
      if (characters > mostNotices_characters) return err({ kind: 'noticesFull' })
    }
    return ok(notices)
  }

  async subscribe(request: AvailabilityRequest): Promise<Result<SubscriptionId, Unavailable>> {
    const { duration_ms, correlator, service, ...what } = request
    const time = this.#parts.clock()
    const id = newId(time) as SubscriptionId
    const subscription = { ...what, id, order: this.#order + 1, expires: after(time, duration_ms) }
    if (!this.#capacity.hasRoom(sizeOfAvailability(subscription))) return err({ kind: 'subscriptionsFull' })
    const stored = await this.#store(subscription, time, { correlator, service }, () => this.forget([id]))
    return stored.ok ? ok(id) : stored
  }

  async change(request: AvailabilityChange): Promise<Result<undefined, SubscriptionUnknown | Unavailable>> {
    const { duration_ms, correlator, service, ...what } = request
    const held = this.#of(request.tenant, request.id)
    if (held === undefined) return err({ kind: 'subscriptionUnknown' })
    const { clock, courier } = this.#parts
    const time = clock()
    // What waited when it expired is not to be sent after all once it is revived [subscriptions 5.6].
    if (!inForce(held, time) && !(await courier.expire(request.id))) return err({ kind: 'partitionLost' })
    const expires = duration_ms === undefined ? held.expires : after(time, duration_ms)
    const subscription = { ...held, ...what, expires }
    if (!this.#capacity.hasRoom(sizeOfAvailability(subscription), sizeOfAvailability(held))) {
      return err({ kind: 'subscriptionsFull' })
    }
    return this.#store(subscription, time, { correlator, service }, async () => courier.put(this.#recipient(held)))
  }

  async unsubscribe(tenant: Tenant, id: SubscriptionId): Promise<Result<undefined, SubscriptionUnknown | Unavailable>> {
    if (this.#of(tenant, id) === undefined) return err({ kind: 'subscriptionUnknown' })
    const removed = await committed(this.#parts, { remove: [id] })
    if (removed.ok) await this.forget([id])
    return removed
  }

  async states(which: WhichSubscriptions): Promise<readonly SubscriptionState[]> {
    const meant = this.#inOrder().filter(
      ({ tenant, id }) =>
        (which.tenant === undefined || tenant === which.tenant) && (which.id === undefined || id === which.id),
    )
    const deliveries = await this.#parts.courier.report(meant.map(({ id }) => id))
    return mapInSlices(meant, ({ id, tenant, reference, expires }) => {
      const delivery = deliveries.get(id) ?? neverDelivered
      return { id, tenant, path: everywhere, reference, expires, throttling_ms: 0, delivery }
    })
  }

  /** In a cluster: brings changes of the log into force; resolves when they are in force on this node. */
  async enforce(states: readonly AvailabilityState[]): Promise<void> {
    for (const { subscription } of states) {
      if (subscription === undefined) continue
      this.#put(subscription)
      this.#parts.courier.put(this.#recipient(subscription))
    }
    await this.forget(states.flatMap(({ id, subscription }) => (subscription === undefined ? [id] : [])))
  }

  /** A notice of a subscription is stored: moves its clock forward to it, which says when it was last notified [subscriptions 5.7]. */
  notified(id: SubscriptionId, made: Milliseconds): void {
    if (this.#index.get(id) !== undefined) advanceClock(this.#clockOf(id), made)
  }

  /** The subscriptions that had expired at a moment; of these, if some are named. */
  expiredBy(moment: Milliseconds, ids?: readonly SubscriptionId[]): readonly SubscriptionId[] {
    const meant = ids === undefined ? [...this.#index.all()] : ids.flatMap((id) => this.#index.get(id) ?? [])
    return meant.filter(({ expires }) => expires <= moment).map(({ id }) => id)
  }

  /** Ends subscriptions that are not stored any more. Resolves when no further notification of them begins. */
  async forget(ids: readonly SubscriptionId[]): Promise<void> {
    for (const id of ids) {
      const held = this.#index.get(id)
      if (held) this.#capacity.remove(sizeOfAvailability(held))
      this.#index.remove(id)
      this.#clocks.delete(id)
    }
    await Promise.all(ids.map((id) => this.#parts.courier.remove(id)))
  }

  /**
   * Stores a new or changed subscription with what it is sent of what is known. When that fails, `withdraw` tells the
   * courier how things stood before.
   */
  async #store(
    subscription: AvailabilitySubscription,
    time: Milliseconds,
    origin: RegistryOrigin,
    withdraw: () => Promise<void>,
  ): Promise<Result<undefined, Unavailable>> {
    const { courier, bell } = this.#parts
    const notices = await this.#inTime(this.#notice(subscription, subscription, time, origin, []))
    if (notices === undefined) return err({ kind: 'queryLate' })
    // The courier may see the first notice before it is told whom it is for.
    await courier.hold(subscription.id)
    let stored: Result<undefined, Unavailable> | undefined
    try {
      stored = await committed(this.#parts, { put: subscription, notices })
    } finally {
      if (stored?.ok !== true) await withdraw()
    }
    if (!stored.ok) return stored
    this.#put(subscription)
    if (notices.length > 0) bell.ring()
    courier.put(this.#recipient(subscription))
    for (const { made } of notices) this.notified(subscription.id, made)
    return stored
  }

  /** The notice about matching registrations; none when nothing matches, or when the subscription has expired. */
  *#notice(
    subscription: AvailabilitySubscription,
    discovery: DiscoveryOfRegistered,
    made: Milliseconds,
    { correlator, service, via }: RegistryOrigin,
    changes: readonly RegistrationChange[],
  ): Steps<readonly Notice[]> {
    const { id, tenant } = subscription
    if (!inForce(subscription, made)) return []
    const lookup = { tenant, paths: [everywhere], now: made }
    const { contexts } = yield* discovering(this.#registrations, lookup, discovery, wholeDiscovery, changes)
    if (contexts.length === 0) return []
    const body = yield* this.#parts.render(id, contexts)
    const orderingKey = { kind: 'availability' } as const
    const from = { correlator, token: '', service, via }
    return [{ subscription: id, orderingKey, made, tenant, paths: [root], ...from, body }]
  }

  /** Composes in slices; undefined when that takes too long. */
  #inTime<Composed>(steps: Steps<Composed>): Promise<Composed | undefined> {
    const until = performance.now() + (this.#parts.limits.composing_ms ?? mostComposing_ms)
    return inSlicesUntil(steps, () => performance.now() > until)
  }

  #put(subscription: AvailabilitySubscription): void {
    const held = this.#index.get(subscription.id)
    if (held) this.#capacity.remove(sizeOfAvailability(held))
    this.#order = Math.max(this.#order, subscription.order)
    this.#index.put(subscription)
    this.#capacity.add(sizeOfAvailability(subscription))
  }

  #of(tenant: Tenant, id: SubscriptionId): AvailabilitySubscription | undefined {
    const held = this.#index.get(id)
    return held?.tenant === tenant ? held : undefined
  }

  #recipient({ id, reference, expires }: AvailabilitySubscription): Recipient {
    return { id, kind: 'availability', reference, attributes: [], expires, clock: this.#clockOf(id) }
  }

  #clockOf(id: SubscriptionId): SubscriptionClock {
    const clock = this.#clocks.get(id) ?? this.#newClocks.next()
    this.#clocks.set(id, clock)
    return clock
  }

  #inOrder(): readonly AvailabilitySubscription[] {
    return [...this.#index.all()].sort((a, b) => a.order - b.order)
  }
}

/** Stores a change; refuses when there is no room for it. */
export function committed(
  { store, log }: Pick<AvailabilitySubscriptionsParts, 'store' | 'log'>,
  change: RegistryChange,
): Promise<Result<undefined, Unavailable>> {
  return resultOf(store.commitRegistry(change), log, 'registry:store', 'a change of the registry was not stored')
}
