import type { Recipient } from '../../delivery/queue/courier-protocol.js'
import { InTurn } from '../../in-turn.js'
import type { Tenant } from '../../model/context/entity.js'
import {
  Copies,
  type CopySource,
  eachOnce,
  type ToldContexts,
  withoutContexts,
  withoutRepeated,
} from '../../model/registration/contexts.js'
import type { Registration, RegistrationChange, RegistrationId } from '../../model/registration/registration.js'
import { RegistrationIndex } from '../../model/registration/registration-index.js'
import { newId, type SubscriptionId } from '../../model/subscription/subscription.js'
import { errorFacts } from '../../observe/log/log.js'
import { err, ok, type Result } from '../../result.js'
import { inSlices, type Steps } from '../../slices.js'
import { after, type Milliseconds, now } from '../../time.js'
import type {
  AvailabilityChange,
  AvailabilityNotification,
  AvailabilityRequest,
  NewRegistration,
  RegistrationRequest,
  RegistrationUnknown,
  RegistryOrigin,
  RegistryService,
  SubscriptionState,
  SubscriptionUnknown,
  WhichSubscriptions,
} from '../front-end/services.js'
import type { Unavailable } from '../front-end/unavailable.js'
import {
  type AvailabilityLimits,
  type AvailabilityState,
  AvailabilitySubscriptions,
  type AvailabilitySubscriptionsParts,
  committed,
  type NotifiedMoment,
} from './availability-subscriptions.js'
import { Capacity, sizeOfRegistration } from './capacity.js'

/** The limits of registrations and availability subscriptions. */
interface RegistryLimits extends AvailabilityLimits {
  /** Registrations, of 1 KiB each on average. */
  readonly registrationsMax: number
}

export interface RegistryParts extends Omit<AvailabilitySubscriptionsParts, 'clock'> {
  /** Brings changes into the index of every other thread, in this order; resolves when they are in force there. */
  readonly publish: (changes: readonly RegistrationChange[]) => Promise<void>
  /** How long what has expired is kept; 0 for ever [subscriptions 2.5]. */
  readonly grace_ms: number
  readonly limits: RegistryLimits
  /** Called for each registration that could not be stored [management 4.4]. */
  readonly notStored: () => void
  readonly clock?: () => Milliseconds
}

/** The duration of registrations that another registry has notified [subscriptions 7.5]. */
const copyDuration_ms = 86_400_000

/** The interval of removals of what has expired. */
const sweep_ms = 60_000

/** Of what has expired, how much is removed at once: each registration may be large. */
const removedAtOnce = 64

/**
 * The owner of registrations and availability subscriptions: the only one that stores them and gives them ids. What it is
 * asked is done one after the other, since a notification tells of everything that was registered before.
 */
export class Registry implements RegistryService {
  readonly index = new RegistrationIndex()
  readonly #parts: RegistryParts
  readonly #clock: () => Milliseconds
  readonly #copies = new Copies()
  readonly #availability: AvailabilitySubscriptions
  readonly #capacity: Capacity
  #order = 0
  readonly #turns = new InTurn()
  /** Changes are carried out in memory in the order in which they are stored. */
  readonly #enactments = new InTurn()
  #swept: Milliseconds
  #sweep: NodeJS.Timeout | undefined

  /** Empty before `loading` and `loadingAvailability`. */
  constructor(parts: RegistryParts) {
    this.#parts = parts
    this.#clock = parts.clock ?? now
    this.#swept = this.#clock()
    this.#capacity = new Capacity(parts.limits.registrationsMax)
    this.#availability = new AvailabilitySubscriptions({ ...parts, clock: this.#clock }, this.index)
  }

  /** Reads the stored registrations, step by step. */
  *loading(): Generator<void> {
    for (const registration of this.#parts.store.registrations()) {
      yield* this.#know(registration)
      yield
    }
  }

  /** Reads the stored availability subscriptions, step by step: a courier that starts has to know them. */
  loadingAvailability(): Generator<void> {
    return this.#availability.loading()
  }

  /** All recipients of availability notifications, for a courier that starts. */
  recipients(): readonly Recipient[] {
    return this.#availability.recipients()
  }

  /** Starts the timers. */
  start(): void {
    this.#sweep = setInterval(() => this.#removeForgotten(), sweep_ms)
    this.#removeForgotten()
  }

  stop(): void {
    clearInterval(this.#sweep)
  }

  /**
   * In a cluster: brings changes of the log into force, with the moments of the notices that they made. Resolves when every thread of
   * this node has them.
   */
  async enforce(
    changes: readonly RegistrationChange[],
    availability: readonly AvailabilityState[],
    notified: readonly NotifiedMoment[],
  ): Promise<void> {
    await this.#enact(changes)
    const enforced = this.#availability.enforce(availability)
    for (const { id, made } of notified) this.#availability.notified(id, made)
    await Promise.all([changes.length > 0 && this.#parts.publish(changes), enforced])
  }

  register(request: RegistrationRequest): Promise<Result<RegistrationId, RegistrationUnknown | Unavailable>> {
    const { tenant, path, contexts, duration_ms } = request
    return this.#turns.run(async () => {
      const time = this.#clock()
      const held = request.id === undefined ? undefined : this.index.get(request.id)
      if (request.id !== undefined && (held?.tenant !== tenant || held.path !== path)) {
        return err({ kind: 'registrationUnknown' })
      }
      const { id, order } = held ?? this.#next(time)
      const registration = { id, order, tenant, path, contexts, expires: after(time, duration_ms) }
      return this.#keep(registration, held, time, request)
    })
  }

  add({
    tenant,
    path,
    contexts,
    expires,
    terms,
    ...origin
  }: NewRegistration): Promise<Result<RegistrationId, Unavailable>> {
    return this.#turns.run(async () => {
      const time = this.#clock()
      const registration = { ...this.#next(time), tenant, path, contexts, expires, terms }
      return this.#keep(registration, undefined, time, origin)
    })
  }

  remove(tenant: Tenant, id: RegistrationId): Promise<Result<undefined, RegistrationUnknown | Unavailable>> {
    return this.#turns.run(async () => {
      const resource = this.index.resource(tenant, id)
      if (resource === undefined) return err({ kind: 'registrationUnknown' })
      const change = withoutContexts(resource.registration, (_, at) => at === resource.at)
      const stored = await committed(this.#parts, { registrations: [change] })
      if (!stored.ok) return stored
      await this.#enact([change])
      await this.#parts.publish([change])
      this.#trace(id, 'removed')
      return stored
    })
  }

  notified(notification: AvailabilityNotification): Promise<Result<undefined, Unavailable>> {
    const { tenant, path, subscription } = notification
    return this.#turns.run(async () => {
      const told = await inSlices(eachOnce(notification.contexts))
      if (told.size === 0) return ok(undefined)
      const time = this.#clock()
      const source = { tenant, path, copiedFrom: subscription }
      const contexts = [...told.values()]
      const registration = { ...source, ...this.#next(time), contexts, expires: after(time, copyDuration_ms) }
      if (!this.#capacity.hasRoom(sizeOfRegistration(registration))) return err({ kind: 'registrationsFull' })
      const replaced = await inSlices(this.#withoutRepeated(source, told))
      const stored = await this.#store(replaced, registration, time, notification)
      if (stored.ok) this.#trace(registration.id, 'created')
      return stored
    })
  }

  subscribe(request: AvailabilityRequest): Promise<Result<SubscriptionId, Unavailable>> {
    return this.#turns.run(() => this.#availability.subscribe(request))
  }

  change(request: AvailabilityChange): Promise<Result<undefined, SubscriptionUnknown | Unavailable>> {
    return this.#turns.run(() => this.#availability.change(request))
  }

  unsubscribe(tenant: Tenant, id: SubscriptionId): Promise<Result<undefined, SubscriptionUnknown | Unavailable>> {
    return this.#turns.run(() => this.#availability.unsubscribe(tenant, id))
  }

  states(which: WhichSubscriptions): Promise<readonly SubscriptionState[]> {
    return this.#availability.states(which)
  }

  /** Removes what expired longer ago than the grace time, a few at a time, with others in between [subscriptions 2.5, 7.1]. */
  async removeExpired(): Promise<void> {
    const time = this.#clock()
    this.#traceExpired(time)
    const { grace_ms } = this.#parts
    if (grace_ms === 0) return
    const since = after(time, -grace_ms)
    const registrations = [...this.index.all()].filter(({ expires }) => expires <= since).map(({ id }) => id)
    const subscriptions = this.#availability.expiredBy(since)
    for (let from = 0; from < Math.max(registrations.length, subscriptions.length); from += removedAtOnce) {
      const few = <Id>(ids: readonly Id[]): readonly Id[] => ids.slice(from, from + removedAtOnce)
      const isRemoved = await this.#turns.run(() => this.#removeThose(few(registrations), few(subscriptions), since))
      if (!isRemoved) return // It is tried again the next time.
    }
  }

  /** Removes those that are still expired by a moment; false when that could not be stored. */
  async #removeThose(
    ids: readonly RegistrationId[],
    subscriptions: readonly SubscriptionId[],
    since: Milliseconds,
  ): Promise<boolean> {
    const registrations = ids.flatMap((id) => {
      const held = this.index.get(id)
      return held !== undefined && held.expires <= since ? { kind: 'remove' as const, id } : []
    })
    const remove = this.#availability.expiredBy(since, subscriptions)
    if (registrations.length === 0 && remove.length === 0) return true
    const removed = await committed(this.#parts, { registrations, remove })
    if (!removed.ok) return false
    await this.#enact(registrations)
    for (const { id } of registrations) this.#trace(id, 'removed')
    await Promise.all([this.#parts.publish(registrations), this.#availability.forget(remove)])
    return true
  }

  #next(time: Milliseconds): Pick<Registration, 'id' | 'order'> {
    this.#order += 1
    return { id: newId(time) as RegistrationId, order: this.#order }
  }

  /** Stores a registration that a client made, or changed, if there is room for it. */
  async #keep(
    registration: Registration,
    held: Registration | undefined,
    time: Milliseconds,
    origin: RegistryOrigin,
  ): Promise<Result<RegistrationId, Unavailable>> {
    if (!this.#capacity.hasRoom(sizeOfRegistration(registration), held && sizeOfRegistration(held))) {
      return err({ kind: 'registrationsFull' })
    }
    const stored = await this.#store([], registration, time, origin)
    if (!stored.ok) return stored
    this.#trace(registration.id, held ? 'updated' : 'created')
    return ok(registration.id)
  }

  /**
   * Stores a registration, and what else it changes, with the notices that it causes. The response waits until every
   * thread's index has it.
   */
  async #store(
    others: readonly RegistrationChange[],
    registration: Registration,
    time: Milliseconds,
    origin: RegistryOrigin,
  ): Promise<Result<undefined, Unavailable>> {
    const { bell, publish, notStored } = this.#parts
    const registrations = [...others, { kind: 'put', registration } as const]
    // The changes must not be visible in the index before they are on disk.
    const notices = await this.#availability.noticesOf(registration, registrations, time, origin)
    if (!notices.ok) return notices
    const stored = await committed(this.#parts, { registrations, notices: notices.value })
    if (!stored.ok) {
      notStored()
      return stored
    }
    await this.#enact(registrations)
    for (const { subscription, made } of notices.value) this.#availability.notified(subscription, made)
    if (notices.value.length > 0) bell.ring()
    await publish(registrations)
    return stored
  }

  /** The changes of the copies from one source that hold what is told again. */
  *#withoutRepeated(source: CopySource, told: ToldContexts): Steps<readonly RegistrationChange[]> {
    const changes: RegistrationChange[] = []
    for (const id of this.#copies.holders(source, told)) {
      const copy = this.index.get(id)
      if (copy) changes.push(yield* withoutRepeated(copy, told))
      yield
    }
    return changes
  }

  /** Carries out changes in memory, in slices. */
  #enact(changes: readonly RegistrationChange[]): Promise<void> {
    return this.#enactments.run(() => inSlices(this.#enacting(changes)))
  }

  *#enacting(changes: readonly RegistrationChange[]): Steps<void> {
    for (const change of changes) {
      const id = change.kind === 'put' ? change.registration.id : change.id
      const held = this.index.get(id)
      if (held) {
        yield* this.#copies.forget(held)
        this.#capacity.remove(sizeOfRegistration(held))
      }
      if (change.kind === 'put') yield* this.#know(change.registration)
      else this.index.remove(id)
      yield
    }
  }

  *#know(registration: Registration): Steps<void> {
    this.#order = Math.max(this.#order, registration.order)
    yield* this.#copies.keep(registration)
    this.#capacity.add(sizeOfRegistration(registration))
    this.index.put(registration)
  }

  #removeForgotten(): void {
    this.removeExpired().catch((fault: unknown) =>
      this.#parts.log.error(
        'registry:sweep',
        'expired registrations and subscriptions to availability could not be removed',
        errorFacts(fault),
      ),
    )
  }

  /** Traces expired registrations. Nothing happens at the moment of expiry itself, so this is done with the next removal. */
  #traceExpired(time: Milliseconds): void {
    const since = this.#swept
    this.#swept = time
    if (!this.#parts.log.isTraced('registration')) return
    for (const { id, expires } of this.index.all()) if (expires > since && expires <= time) this.#trace(id, 'expired')
  }

  #trace(id: RegistrationId, what: 'created' | 'updated' | 'removed' | 'expired'): void {
    this.#parts.log.trace('registration', `registration ${id} ${what}`)
  }
}
