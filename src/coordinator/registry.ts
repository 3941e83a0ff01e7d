import type { Tenant } from '../context/entity.js'
import type { Log } from '../log/log.js'
import type { Recipient } from '../outbox/message.js'
import { granted, type Outcome, refused } from '../outcome.js'
import { Copies, withoutTold } from '../registration/copies.js'
import type { Registration, RegistrationChange, RegistrationId } from '../registration/registration.js'
import { RegistrationIndex } from '../registration/registration-index.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { type Milliseconds, now } from '../time.js'
import { traceArea } from '../trace-area.js'
import { Availability, type AvailabilityParts, transacted } from './availability.js'
import { newId } from './new-id.js'
import type {
  AvailabilityAsked,
  AvailabilityChange,
  AvailabilityTold,
  RegistrationAsked,
  RegistrationUnknown,
  RegistryDesk,
} from './registry-desk.js'
import type { SubscriptionState, SubscriptionUnknown } from './subscription-state.js'
import type { Unavailable } from './unavailable.js'

export interface RegistryParts extends Omit<AvailabilityParts, 'clock'> {
  /** Brings changes, in this order, into the index of every other thread; resolves when they are in force there. */
  readonly publish: (changes: readonly RegistrationChange[]) => Promise<void>
  /** How long what has expired is kept; 0: for ever [subscriptions 2.5]. */
  readonly grace_days: number
  /** Hears of each registration that could not be stored [management 4.4]. */
  readonly notStored: () => void
  readonly log: Log
  readonly clock?: () => Milliseconds
}

/** How long lives what another registry has told [subscriptions 7.5]. */
const copyDuration_ms = 24 * 3_600_000
const day_ms = 24 * 3_600_000

/** The owner of registrations and availability subscriptions: the only one that stores them and gives them ids. */
export class Registry implements RegistryDesk {
  readonly index = new RegistrationIndex()
  readonly #parts: RegistryParts
  readonly #clock: () => Milliseconds
  readonly #copies = new Copies()
  readonly #availability: Availability
  #order = 0
  #swept: Milliseconds

  /** Begins with what is stored. */
  constructor(parts: RegistryParts) {
    this.#parts = parts
    this.#clock = parts.clock ?? now
    this.#swept = this.#clock()
    for (const registration of parts.store.registrations()) {
      this.#enact([{ kind: 'put', registration }])
      this.#order = Math.max(this.#order, registration.order)
    }
    this.#availability = new Availability({ ...parts, clock: this.#clock }, this.index)
  }

  /** Everybody who is sent availability notifications, for a courier that starts. */
  recipients(): readonly Recipient[] {
    return this.#availability.recipients()
  }

  async register(asked: RegistrationAsked): Promise<Outcome<RegistrationId, RegistrationUnknown | Unavailable>> {
    const { tenant, path, contexts, duration_ms, correlator } = asked
    const time = this.#clock()
    const held = asked.id === undefined ? undefined : this.index.get(asked.id)
    if (asked.id !== undefined && (held?.tenant !== tenant || held.path !== path)) {
      return refused({ kind: 'registrationUnknown' })
    }
    const { id, order } = held ?? this.#next(time)
    const registration = { id, order, tenant, path, contexts, expires: (time + duration_ms) as Milliseconds }
    const stored = await this.#store([{ kind: 'put', registration }], registration, time, correlator)
    if (!stored.ok) return stored
    this.#trace(id, held ? 'updated' : 'created')
    return granted(id)
  }

  async notified(told: AvailabilityTold): Promise<Outcome<undefined, Unavailable>> {
    const { tenant, path, contexts, correlator, subscription } = told
    if (contexts.length === 0) return granted(undefined)
    const time = this.#clock()
    const source = { tenant, path, copiedFrom: subscription }
    const registration = { ...source, ...this.#next(time), contexts, expires: (time + copyDuration_ms) as Milliseconds }
    const changes = [...this.#copies.holders(source, contexts)].flatMap((id) => {
      const copy = this.index.get(id)
      return copy ? [withoutTold(copy, contexts)] : []
    })
    const stored = await this.#store([...changes, { kind: 'put', registration }], registration, time, correlator)
    if (stored.ok) this.#trace(registration.id, 'created')
    return stored
  }

  subscribe(asked: AvailabilityAsked): Promise<Outcome<SubscriptionId, Unavailable>> {
    return this.#availability.subscribe(asked)
  }

  change(asked: AvailabilityChange): Promise<Outcome<undefined, SubscriptionUnknown | Unavailable>> {
    return this.#availability.change(asked)
  }

  unsubscribe(tenant: Tenant, id: SubscriptionId): Promise<Outcome<undefined, SubscriptionUnknown | Unavailable>> {
    return this.#availability.unsubscribe(tenant, id)
  }

  states(which: { readonly tenant?: Tenant; readonly id?: SubscriptionId }): Promise<readonly SubscriptionState[]> {
    return this.#availability.states(which)
  }

  /** Removes what expired longer ago than the grace time; to be called now and then [subscriptions 2.5, 7.1]. */
  async removeExpired(): Promise<void> {
    const { store, grace_days, publish } = this.#parts
    const time = this.#clock()
    this.#traceExpired(time)
    if (grace_days === 0) return
    const since = (time - grace_days * day_ms) as Milliseconds
    const expired = [...this.index.all()].filter(({ expires }) => expires <= since)
    const changes = expired.map(({ id }) => ({ kind: 'remove', id }) as const)
    const subscriptions = this.#availability.expiredBy(since)
    if (changes.length === 0 && subscriptions.length === 0) return
    const removed = transacted(store, () => {
      store.write(changes)
      for (const id of subscriptions) store.removeAvailability(id)
    })
    if (!removed.ok) return // It is tried again the next time.
    this.#enact(changes)
    for (const { id } of changes) this.#trace(id, 'removed')
    await Promise.all([publish(changes), this.#availability.forget(subscriptions)])
  }

  #next(time: Milliseconds): Pick<Registration, 'id' | 'order'> {
    this.#order += 1
    return { id: newId(time) as RegistrationId, order: this.#order }
  }

  /** Stores changes with the notices that the new registration causes, and answers when they are in force everywhere. */
  async #store(
    changes: readonly RegistrationChange[],
    registration: Registration,
    time: Milliseconds,
    correlator: string,
  ): Promise<Outcome<undefined, Unavailable>> {
    const { store, bell, publish, notStored } = this.#parts
    // What is known is asked with the change in it, before it is stored; nobody else looks meanwhile.
    const before = this.#enact(changes)
    let stored: Outcome<undefined, Unavailable> | undefined
    let notices: ReturnType<Availability['noticesOf']> = []
    try {
      notices = this.#availability.noticesOf(registration, time, correlator)
      stored = store.hasRoom
        ? transacted(store, () => {
            store.write(changes)
            store.enqueue(notices)
          })
        : refused({ kind: 'storageFull' })
    } finally {
      if (stored?.ok !== true) {
        this.#enact(before)
        notStored()
      }
    }
    if (!stored.ok) return stored
    if (notices.length > 0) bell.ring()
    await publish(changes)
    return stored
  }

  /** Carries out changes in memory; gives those that undo them. */
  #enact(changes: readonly RegistrationChange[]): readonly RegistrationChange[] {
    const undoing: RegistrationChange[] = []
    for (const change of changes) {
      const id = change.kind === 'put' ? change.registration.id : change.id
      const held = this.index.get(id)
      undoing.unshift(held ? { kind: 'put', registration: held } : { kind: 'remove', id })
      if (held) this.#copies.forget(held)
      if (change.kind === 'put') this.#copies.keep(change.registration)
      this.index.apply([change])
    }
    return undoing
  }

  /** Nothing happens at the moment of expiry itself, so that is told of the next time that somebody looks. */
  #traceExpired(time: Milliseconds): void {
    const since = this.#swept
    this.#swept = time
    if (this.#parts.log.traces[traceArea.registration] !== 1) return
    for (const { id, expires } of this.index.all()) if (expires > since && expires <= time) this.#trace(id, 'expired')
  }

  #trace(id: RegistrationId, what: 'created' | 'updated' | 'removed' | 'expired'): void {
    const { log } = this.#parts
    if (log.traces[traceArea.registration] === 1) log.trace('registration', `registration ${id} ${what}`)
  }
}
