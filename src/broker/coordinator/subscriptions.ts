import {
  type InspectedQueue,
  neverDelivered,
  type ReceiverPage,
  type Recipient,
  recipientOf,
  type WhichReceivers,
} from '../../delivery/queue/courier-protocol.js'
import type { Tenant } from '../../model/context/entity.js'
import type { Origin } from '../../model/context/update.js'
import { advanceClock, lastNotified, otherClock, type PackedWithClocks } from '../../model/subscription/clocks.js'
import { isSameProposal, isUndecided, proposed } from '../../model/subscription/decisions.js'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import {
  type CoversNothing,
  hasFired,
  isActive,
  patched,
  type SubscriptionPatch,
  termsOf,
} from '../../model/subscription/patch.js'
import {
  newId,
  type Subscription,
  type SubscriptionId,
  type SubscriptionInForce,
} from '../../model/subscription/subscription.js'
import { errorFacts, type Log } from '../../observe/log/log.js'
import { err, ok, type Result } from '../../result.js'
import { mapInSlices } from '../../slices.js'
import type { MetadataStore } from '../../storage/store/metadata-store.js'
import type { Bell } from '../../threads/shared-memory/signals.js'
import { after, type Milliseconds, now } from '../../time.js'
import type {
  ShownSubscription,
  SilentSubscriptionRequest,
  SubscriptionChange,
  SubscriptionIndexState,
  SubscriptionPage,
  SubscriptionRequest,
  SubscriptionSearch,
  SubscriptionService,
  SubscriptionState,
  SubscriptionUnknown,
  Unavailable,
  WhichPage,
  WhichSubscriptions,
} from '../front-end/broker.js'
import { Activation, type Compose, type Everywhere } from './activation.js'
import type { CourierThread } from './courier-thread.js'
import { HeldSubscriptions, type SubscriptionLimits } from './held-subscriptions.js'
import type { StateParts } from './initial-notices.js'
import type { Partitions } from './partitions.js'
import { listed, searched } from './subscription-search.js'
import { Ticker } from './ticker.js'

interface SubscriptionsParts extends StateParts {
  readonly store: MetadataStore
  readonly partitions: Pick<Partitions<object>, 'subscribe' | 'unsubscribe'>
  readonly courier: Pick<
    CourierThread<object>,
    'put' | 'hold' | 'remove' | 'expire' | 'report' | 'inspected' | 'receivers'
  >
  readonly bell: Bell
  /** How long expired subscriptions are kept; 0 for ever. */
  readonly grace_ms: number
  readonly limits: SubscriptionLimits
  /** In a cluster: resolves when everything stored is in force on all nodes. */
  readonly everywhere?: Everywhere | undefined
  /** The pause after a failed attempt, half a second by default. */
  readonly again_ms?: number
  readonly log: Log
}

const unknown: SubscriptionUnknown = { kind: 'subscriptionUnknown' }
/** Notices of an expired subscription have not left the disk in time. */
const notGone: Unavailable = { kind: 'partitionLost' }

/** Ids that the index tells: no list shows that many. */
const mostIds = 64

/** The interval of removals of subscriptions whose grace time is over. */
const sweep_ms = 60_000

/** Subscriptions whose removal is begun without letting others run: some milliseconds. */
const removedAtOnce = 64

/**
 * The owner of the subscriptions to context: everything about them is stored here, and put in force in every partition
 * and in the courier, before it is answered. What is refused was never in force.
 */
export class Subscriptions implements SubscriptionService {
  readonly #parts: SubscriptionsParts
  readonly #held: HeldSubscriptions
  readonly #ticker: Ticker
  readonly #activation: Activation
  #changes = { refresh: 1, inserts: 0, removes: 0, updates: 0 }
  #sweep: NodeJS.Timeout | undefined
  #isSweeping = false

  constructor(parts: SubscriptionsParts) {
    this.#parts = parts
    this.#held = new HeldSubscriptions(parts.store.packedSubscriptions(), parts.limits)
    this.#ticker = new Ticker({ ...parts, held: this.#held })
    this.#activation = new Activation(parts, {
      enforce: (record) => this.enforce(record),
      enforceRemoval: (id) => this.#forget(id),
      isStill: (record) => isSameProposal(this.#held.get(record.id)?.subscription, record),
      notified: ({ id }, made) => this.notified(id, made),
    })
  }

  /** Loads the stored subscriptions, step by step. */
  *loading(): Generator<void> {
    try {
      yield* this.#held.loading()
    } catch (fault) {
      this.#parts.store.subscriptions() // Read one by one, the one that cannot be read is named.
      throw fault
    }
  }

  /** All recipients of notifications of changes, for a courier that starts. */
  recipients(): readonly Recipient[] {
    return this.#held.all().map(recipientOf)
  }

  /** The subscriptions with an undecided change: a courier that starts holds them back. */
  undecided(): readonly SubscriptionId[] {
    return this.#held.undecided().map(({ id }) => id)
  }

  /** All subscriptions for a partition that starts. */
  packed(): PackedWithClocks<Subscription> {
    return this.#held.packed()
  }

  /** Starts the timers, once the broker serves requests. */
  start(): void {
    const ticked = this.#parts.store.ticks()
    for (const { subscription } of this.#held.all()) this.#ticker.put(subscription, ticked.get(subscription.id))
    this.#sweep = setInterval(() => this.#removeForgotten(), sweep_ms)
    // Before any other operation on these subscriptions.
    for (const record of this.#held.undecided()) this.#withdraw(record)
    this.#removeForgotten()
  }

  /**
   * Whoever coordinated before has ended while a change was undecided. It is withdrawn: nobody was answered that it was carried out,
   * and a client that was answered nothing asks again.
   */
  #withdraw(record: Subscription): void {
    const { log } = this.#parts
    this.#held
      .inTurn(record.id, () => this.#activation.withdraw(record))
      .catch((fault: unknown) =>
        log.error('subscriptions:withdraw', `a change of subscription ${record.id} stays undecided`, errorFacts(fault)),
      )
  }

  stop(): void {
    clearInterval(this.#sweep)
    this.#sweep = undefined
    this.#ticker.stop()
  }

  /**
   * Brings a record of the log, or of the store of a single node, into force on this node. Resolves with the number of the last
   * notice that each partition has made without it.
   */
  async enforce(record: Subscription): Promise<readonly NoticeNumber[]> {
    const { partitions, courier } = this.#parts
    const { id, terms } = record
    const inForce = this.#held.take(record)
    // A record of a partition that says so tells whoever owns it next that the courier holds back what it has.
    if (isUndecided(record)) await courier.hold(id)
    else courier.put(recipientOf(inForce))
    const last = await partitions.subscribe(inForce)
    // A courier that replies has obeyed: of a subscription that is inactive now, nothing is begun any more.
    if (!isUndecided(record) && terms?.status === 'inactive') await courier.report([id])
    return last
  }

  /** Brings the removal of a subscription into force on this node. */
  enforceRemoval(id: SubscriptionId): Promise<void> {
    return this.#forget(id)
  }

  /** Moves the clock of a subscription forward to a notice in the log, whichever node has made it. */
  notified(id: SubscriptionId, made: Milliseconds): void {
    const held = this.#held.get(id)
    if (held === undefined) return
    advanceClock(held.clock, made)
    // The notice is sent whatever is decided.
    if (isUndecided(held.subscription)) advanceClock(otherClock(held.clock), made)
  }

  async subscribe({
    duration_ms,
    origin,
    ...request
  }: SubscriptionRequest): Promise<Result<SubscriptionId, Unavailable>> {
    await this.#held.prepare(request)
    const made = now()
    const dated = { ...request, expires: after(made, duration_ms) }
    return this.#create(dated, made, origin)
  }

  async add(request: SilentSubscriptionRequest): Promise<Result<SubscriptionId, Unavailable>> {
    await this.#held.prepare(request)
    return this.#create(request, now(), undefined)
  }

  /** Creates a subscription; with an origin, it begins with a notification of the current state. */
  async #create(
    request: SilentSubscriptionRequest,
    made: Milliseconds,
    origin: Origin | undefined,
  ): Promise<Result<SubscriptionId, Unavailable>> {
    const id = newId(made) as SubscriptionId
    const subscription: Subscription = { ...request, id, order: this.#held.nextOrder() }
    const objection = this.#held.objection(subscription)
    if (objection) return err(objection)
    this.#held.reserve(subscription)
    return this.#held.inTurn(id, async () => {
      const stored = await this.#made(subscription, made, origin).finally(() => this.#held.unreserve(id))
      if (!stored.ok) return stored
      this.#ticker.put(subscription)
      this.#changes.inserts += 1
      this.#trace('created', subscription)
      return ok(id)
    })
  }

  #made(
    subscription: Subscription,
    made: Milliseconds,
    origin: Origin | undefined,
  ): Promise<Result<undefined, Unavailable>> {
    const compose = origin && this.#initial(subscription, origin, made)
    if (this.#isCertain(compose)) return this.#activation.put(subscription)
    return this.#activation.decide(proposed(subscription, { kind: 'create' }), compose)
  }

  /** On a single node, a subscription that begins without notifications needs no proposal: it is certain once it is on disk. */
  #isCertain(compose: Compose | undefined): boolean {
    return this.#parts.everywhere === undefined && compose === undefined
  }

  #initial(subscription: Subscription, origin: Origin, made: Milliseconds): Compose {
    return (after) => this.#activation.initial(subscription, origin, made, after)
  }

  change(request: SubscriptionChange): Promise<Result<undefined, SubscriptionUnknown | Unavailable>> {
    const { scopes, conditions, origin } = request
    // A restriction is for what the request itself sends [subscriptions 2.2].
    const restricted = (next: Subscription) => ({ ...next, scopes: scopes ?? next.scopes })
    return this.#replace(
      request,
      ({ subscription }, made) => ok(changed(subscription, request, made)),
      (next, made, { clock }) =>
        conditions && isActive(next, lastNotified(clock)) ? this.#initial(restricted(next), origin, made) : undefined,
      (subscription) => {
        if (conditions) this.#ticker.put(restricted(subscription))
      },
    )
  }

  patch(patch: SubscriptionPatch): Promise<Result<undefined, SubscriptionUnknown | CoversNothing | Unavailable>> {
    return this.#replace(
      patch,
      ({ subscription, clock }, made): Result<Subscription, CoversNothing | SubscriptionUnknown> => {
        if (subscription.interval_ms !== undefined) return err(unknown)
        return patched(subscription, patch, made, lastNotified(clock))
      },
      () => undefined,
    )
  }

  /** Replaces the subscription in force by one that is made of it, everywhere. */
  #replace<Refusal>(
    { tenant, id }: Pick<Subscription, 'tenant' | 'id'>,
    make: (before: SubscriptionInForce, made: Milliseconds) => Result<Subscription, Refusal>,
    composing: (next: Subscription, made: Milliseconds, before: SubscriptionInForce) => Compose | undefined,
    activated: (subscription: Subscription) => void = () => {},
  ): Promise<Result<undefined, Refusal | SubscriptionUnknown | Unavailable>> {
    return this.#held.inTurnSoon(id, async () => {
      const before = this.#held.of(tenant, id)
      if (!before) return err(unknown)
      const made = now()
      const next = make(before, made)
      if (!next.ok) return next
      const subscription = next.value
      await this.#held.prepare(subscription)
      const objection = this.#held.objection(subscription)
      if (objection) return err(objection)
      // What waited for a subscription that has expired ends with it, and is not brought back [subscriptions 5.6].
      if (before.subscription.expires <= made && !(await this.#parts.courier.expire(id))) {
        return err(notGone)
      }
      const stored = await this.#replaced(before.subscription, subscription, composing(subscription, made, before))
      if (!stored.ok) return stored
      activated(subscription)
      this.#changes.updates += 1
      this.#trace('updated', subscription)
      return ok(undefined)
    })
  }

  #replaced(
    before: Subscription,
    next: Subscription,
    compose: Compose | undefined,
  ): Promise<Result<undefined, Unavailable>> {
    if (this.#isCertain(compose)) return this.#activation.put(next)
    const { decisions: _, ...by } = next
    return this.#activation.decide(proposed(before, { kind: 'replace', by }), compose)
  }

  unsubscribe(tenant: Tenant, id: SubscriptionId): Promise<Result<undefined, SubscriptionUnknown | Unavailable>> {
    return this.#remove(tenant, id, () => true)
  }

  /** Removes a subscription that is meant when its turn comes. */
  #remove(
    tenant: Tenant,
    id: SubscriptionId,
    isMeant: (subscription: Subscription) => boolean,
  ): Promise<Result<undefined, SubscriptionUnknown | Unavailable>> {
    return this.#held.inTurnSoon(id, async () => {
      const held = this.#held.of(tenant, id)
      if (!held || !isMeant(held.subscription)) return err(unknown)
      const removed = await this.#removed(held.subscription)
      if (!removed.ok) return removed
      this.#changes.removes += 1
      this.#trace('removed', held.subscription)
      return ok(undefined)
    })
  }

  async #removed(subscription: Subscription): Promise<Result<undefined, Unavailable>> {
    const { everywhere } = this.#parts
    if (everywhere) return this.#activation.decide(proposed(subscription, { kind: 'remove' }))
    return this.#activation.remove(subscription.id)
  }

  async states(which: WhichSubscriptions): Promise<readonly SubscriptionState[]> {
    const meant = which.id === undefined ? this.#held.all() : this.#one(which.id)
    const held =
      which.tenant === undefined ? meant : meant.filter(({ subscription }) => subscription.tenant === which.tenant)
    const deliveries = await this.#parts.courier.report(held.map(({ subscription }) => subscription.id))
    return mapInSlices(held, ({ subscription, clock }) => {
      const { id, tenant, path, reference, expires, throttling_ms } = subscription
      const terms = termsOf(subscription)
      const status = hasFired(terms, lastNotified(clock)) ? 'inactive' : terms.status
      const delivery = deliveries.get(id) ?? neverDelivered
      return { id, tenant, path, reference, expires, throttling_ms, status, delivery }
    })
  }

  /** Too many attempts in a row have failed: nothing is sent until a client makes the subscription active again. */
  async disable(id: SubscriptionId, fails: number): Promise<Result<undefined, Unavailable>> {
    return this.#held.inTurn(id, async () => {
      const held = this.#held.get(id)
      const subscription = held?.subscription
      if (subscription?.terms === undefined || subscription.terms.status === 'inactive') return ok(undefined)
      const terms = { ...subscription.terms, status: 'inactive' as const }
      const stored = await this.#replaced(subscription, { ...subscription, terms }, undefined)
      if (!stored.ok) return stored
      this.#parts.log.warn(
        'subscriptions:disabled',
        `Subscription ${id} automatically disabled due to failsCounter (${fails}) overpasses maxFailsLimit (${terms.maxFails})`,
      )
      return ok(undefined)
    })
  }

  async page({ offset, limit, ...which }: WhichPage): Promise<Result<SubscriptionPage, Unavailable>> {
    const found = await listed(this.#held.records(), which, now(), this.#parts.limits.turnLimit_ms)
    if (!found.ok) return found
    const { length: count } = found.value
    return ok({ count, subscriptions: await this.#shown(found.value.slice(offset, offset + limit)) })
  }

  async one(
    tenant: Tenant,
    id: SubscriptionId,
    of: 'ngsi1' | 'ngsi2',
  ): Promise<Result<ShownSubscription | undefined, Unavailable>> {
    const held = this.#held.of(tenant, id)
    if (held === undefined || (of === 'ngsi2' && held.subscription.interval_ms !== undefined)) return ok(undefined)
    const [shown] = await this.#shown([held])
    return ok(shown)
  }

  search(which: SubscriptionSearch): Promise<SubscriptionPage> {
    const meant = which.id === undefined ? this.#held.all() : this.#one(which.id)
    return searched(meant, which, (found) => this.#shown(found), now())
  }

  inspected(id: SubscriptionId): Promise<InspectedQueue> {
    return this.#parts.courier.inspected(id)
  }

  receivers(which: WhichReceivers): Promise<ReceiverPage> {
    return this.#parts.courier.receivers(which)
  }

  async #shown(held: readonly SubscriptionInForce[]): Promise<readonly ShownSubscription[]> {
    const deliveries = await this.#parts.courier.report(held.map(({ subscription }) => subscription.id))
    return held.map(({ subscription, clock }) => ({
      subscription,
      delivery: deliveries.get(subscription.id) ?? neverDelivered,
      fired: hasFired(termsOf(subscription), lastNotified(clock)),
    }))
  }

  async index(reset: boolean): Promise<SubscriptionIndexState> {
    const changes = { ...this.#changes }
    if (reset) this.#changes = { refresh: 0, inserts: 0, removes: 0, updates: 0 }
    const all = this.#held.all()
    const firstIds = all.slice(0, mostIds).map(({ subscription }) => subscription.id)
    return { count: all.length, firstIds, changes }
  }

  #one(id: SubscriptionId): readonly SubscriptionInForce[] {
    const held = this.#held.get(id)
    return held ? [held] : []
  }

  /** Takes a subscription out of memory, everywhere. */
  async #forget(id: SubscriptionId): Promise<void> {
    this.#held.remove(id)
    this.#ticker.remove(id)
    await Promise.all([this.#parts.courier.remove(id), this.#parts.partitions.unsubscribe(id)])
  }

  #removeForgotten(): void {
    const { grace_ms, log } = this.#parts
    if (grace_ms === 0 || this.#isSweeping) return
    this.#isSweeping = true
    this.#sweepOut((now() - grace_ms) as Milliseconds)
      .catch((fault: unknown) =>
        log.error('subscriptions:sweep', 'expired subscriptions could not be removed', errorFacts(fault)),
      )
      .finally(() => {
        this.#isSweeping = false
      })
  }

  /** Removes what expired long enough ago, a few at a time: a client may make any number of subscriptions that have expired. */
  async #sweepOut(since: Milliseconds): Promise<void> {
    const isForgotten = ({ expires }: Subscription): boolean => expires <= since
    const forgotten = this.#held.all().filter(({ subscription }) => isForgotten(subscription))
    for (let from = 0; from < forgotten.length && this.#sweep !== undefined; from += removedAtOnce) {
      const few = forgotten.slice(from, from + removedAtOnce)
      await Promise.all(
        few.map(async ({ subscription: { id, tenant } }) => {
          try {
            await this.#remove(tenant, id, isForgotten)
          } catch (fault) {
            const message = `the expired subscription ${id} could not be removed`
            this.#parts.log.error('subscriptions:sweep', message, errorFacts(fault))
          }
        }),
      )
    }
  }

  #trace(what: string, { id, tenant }: Subscription): void {
    this.#parts.log.trace('subscription', `subscription ${id} ${what}`, { subscription: id, tenant })
  }
}

function changed(before: Subscription, request: SubscriptionChange, made: Milliseconds): Subscription {
  const { path, duration_ms, throttling_ms, conditions } = request
  return {
    ...before,
    // A request of another node leaves out what is undefined.
    ...(conditions && { onChange: conditions.onChange, interval_ms: conditions.interval_ms }),
    path: path ?? before.path,
    expires: duration_ms === undefined ? before.expires : after(made, duration_ms),
    throttling_ms: throttling_ms ?? before.throttling_ms,
  }
}
