import { randomUUID } from 'node:crypto'
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
} from '../broker/broker.js'
import type { Tenant } from '../context/entity.js'
import type { PathRange } from '../context/query.js'
import {
  type InspectedQueue,
  neverDelivered,
  type ReceiverPage,
  type Recipient,
  recipientOf,
  type WhichReceivers,
} from '../delivery/message.js'
import { errorFacts, type Log } from '../log/log.js'
import { err, ok, type Result } from '../result.js'
import type { Bell } from '../shared-memory/bell.js'
import { mapInSlices } from '../slices.js'
import { advanceClock, lastNotified, type PackedWithClocks } from '../subscription/clocks.js'
import { type CoversNothing, hasFired, patched, type SubscriptionPatch, termsOf } from '../subscription/patch.js'
import type { Subscription, SubscriptionId, SubscriptionInForce } from '../subscription/subscription.js'
import type { SubscriptionStore } from '../subscription/subscription-store.js'
import { after, type Milliseconds, now } from '../time.js'
import { Activation, type Everywhere } from './activation.js'
import type { CourierThread } from './courier-thread.js'
import { HeldSubscriptions, type SubscriptionLimits } from './held-subscriptions.js'
import type { StateParts } from './initial-notices.js'
import { newId } from './new-id.js'
import type { Partitions } from './partitions.js'
import { searched } from './subscription-search.js'
import { Ticker } from './ticker.js'

interface SubscriptionsParts extends StateParts {
  readonly store: SubscriptionStore
  readonly partitions: Pick<Partitions<object>, 'subscribe' | 'unsubscribe'>
  readonly courier: Pick<
    CourierThread<object>,
    'put' | 'hold' | 'remove' | 'expire' | 'report' | 'inspected' | 'receivers'
  >
  readonly bell: Bell
  /** How long what is expired is kept; 0 for ever. */
  readonly grace_ms: number
  readonly limits: SubscriptionLimits
  /** See `Everywhere`. */
  readonly everywhere?: Everywhere | undefined
  readonly log: Log
}

const unknown: SubscriptionUnknown = { kind: 'subscriptionUnknown' }
/** What waited for an expired subscription has not left the disk in time. */
const notGone: Unavailable = { kind: 'partitionLost' }

/** How often expired subscriptions are looked for whose time of grace is over. */
const sweep_ms = 60_000

/**
 * The owner of the subscriptions to context: everything about them is stored here, and put in force in every partition
 * and in the courier, before it is answered.
 */
export class Subscriptions implements SubscriptionService {
  readonly #parts: SubscriptionsParts
  readonly #held: HeldSubscriptions
  readonly #ticker: Ticker
  readonly #activation: Activation
  #changes = { refresh: 1, inserts: 0, removes: 0, updates: 0 }
  #sweep: NodeJS.Timeout | undefined

  constructor(parts: SubscriptionsParts) {
    this.#parts = parts
    this.#held = new HeldSubscriptions(parts.store.packedSubscriptions(), parts.limits)
    this.#ticker = new Ticker({ ...parts, held: this.#held })
    this.#activation = new Activation(parts)
  }

  /** Begins with what is stored, step by step. */
  *loading(): Generator<void> {
    try {
      yield* this.#held.loading()
    } catch (fault) {
      this.#parts.store.subscriptions() // Read one by one, the one that cannot be read is named.
      throw fault
    }
  }

  /** Everybody who is sent notifications of changes, for a courier that starts. */
  recipients(): readonly Recipient[] {
    return this.#held.all().map(recipientOf)
  }

  /** What every partition begins with. */
  packed(): PackedWithClocks<Subscription> {
    return this.#held.packed()
  }

  /** Begins with what happens by the clock, once the broker can be asked. */
  start(): void {
    const ticked = this.#parts.store.ticks()
    for (const { subscription } of this.#held.all()) this.#ticker.put(subscription, ticked.get(subscription.id))
    this.#sweep = setInterval(() => this.#removeForgotten(), sweep_ms)
    this.#removeForgotten()
    for (const { subscription } of this.#held.all()) if (subscription.opening) this.#open(subscription)
  }

  /** Who coordinated before has ended while a subscription came into force, with the client that has asked for it. */
  #open({ id }: Subscription): void {
    const { log } = this.#parts
    this.#held
      .inTurn(id, async () => {
        const held = this.#held.get(id)
        if (held?.subscription.opening === undefined) return
        const { opening: _, ...subscription } = held.subscription
        const origin = { correlator: randomUUID(), token: '' }
        const opened = await this.#activation.withState({ ...held, subscription }, subscription, origin, now())
        if (!opened.ok)
          log.warn('subscriptions:open', `subscription ${id} has no initial notification: ${opened.error.kind}`)
      })
      .catch((fault: unknown) =>
        log.error('subscriptions:open', `subscription ${id} could not be opened`, errorFacts(fault)),
      )
  }

  stop(): void {
    clearInterval(this.#sweep)
    this.#ticker.stop()
  }

  /** Of one of several nodes: the log has a subscription as it is now, whoever has changed it. Resolves when it is in force here. */
  async enforce(subscription: Subscription): Promise<void> {
    const { partitions, courier } = this.#parts
    const { id, terms } = subscription
    const inForce = { subscription, clock: this.#held.get(id)?.clock ?? this.#held.newClock() }
    this.#held.put(inForce)
    // A record of a partition that says so tells whoever owns it next that the courier holds back what it has.
    if (subscription.opening) await courier.hold(id)
    courier.put(recipientOf(inForce))
    await partitions.subscribe(inForce)
    // See `Activation.amend`.
    if (terms?.status === 'inactive') await courier.report([id])
  }

  /** The same of one that was removed. */
  enforceRemoval(id: SubscriptionId): Promise<void> {
    return this.#forget(id)
  }

  /** The log has a notice of a subscription, whichever node has made it: its clock is not behind it. */
  notified(id: SubscriptionId, made: Milliseconds): void {
    const clock = this.#held.get(id)?.clock
    if (clock !== undefined) advanceClock(clock, made)
  }

  async subscribe({
    duration_ms,
    origin,
    ...request
  }: SubscriptionRequest): Promise<Result<SubscriptionId, Unavailable>> {
    await this.#held.prepare(request)
    const made = now()
    const asked = { ...request, expires: after(made, duration_ms) }
    return this.#create(asked, made, (inForce) => this.#activation.withState(inForce, undefined, origin, made))
  }

  async add(asked: SilentSubscriptionRequest): Promise<Result<SubscriptionId, Unavailable>> {
    await this.#held.prepare(asked)
    return this.#create(asked, now(), (inForce) => this.#activation.amend(inForce, undefined))
  }

  async #create(
    asked: SilentSubscriptionRequest,
    made: Milliseconds,
    activate: (inForce: SubscriptionInForce) => Promise<Result<undefined, Unavailable>>,
  ): Promise<Result<SubscriptionId, Unavailable>> {
    const id = newId(made) as SubscriptionId
    const subscription: Subscription = { ...asked, id, order: this.#held.nextOrder() }
    const objection = this.#held.objection(subscription)
    if (objection) return err(objection)
    const inForce = { subscription, clock: this.#held.newClock() }
    // Whatever thread starts from now on begins with it.
    this.#held.put(inForce)
    return this.#held.inTurn(id, async () => {
      const stored = await activate(inForce).catch(async (fault: unknown) => {
        // It may be on disk already: what is not answered as created must not come back with the next start.
        await this.#parts.store.commit({ remove: id })
        await this.#forget(id)
        throw fault
      })
      if (!stored.ok) {
        if (!isLogged(stored.error)) await this.#forget(id)
        return stored
      }
      this.#ticker.put(subscription)
      this.#changes.inserts += 1
      this.#trace('created', subscription)
      return ok(id)
    })
  }

  change(request: SubscriptionChange): Promise<Result<undefined, SubscriptionUnknown | Unavailable>> {
    const { scopes, conditions, origin } = request
    return this.#replace(
      request,
      ({ subscription }, made) => ok(changed(subscription, request, made)),
      (next, before, made) =>
        conditions
          ? this.#activation.withState(next, before, origin, made, scopes)
          : this.#activation.amend(next, before),
      (subscription) => {
        if (conditions) this.#ticker.put(subscription)
      },
    )
  }

  patch(asked: SubscriptionPatch): Promise<Result<undefined, SubscriptionUnknown | CoversNothing | Unavailable>> {
    return this.#replace(
      asked,
      ({ subscription, clock }, made): Result<Subscription, CoversNothing | SubscriptionUnknown> => {
        if (subscription.interval_ms !== undefined) return err(unknown)
        return patched(subscription, asked, made, lastNotified(clock))
      },
      (next, before) => this.#activation.amend(next, before),
    )
  }

  /** Puts a subscription that is made of the one that is in force in its place, everywhere. */
  #replace<Refusal>(
    { tenant, id }: Pick<Subscription, 'tenant' | 'id'>,
    make: (before: SubscriptionInForce, made: Milliseconds) => Result<Subscription, Refusal>,
    activate: (
      next: SubscriptionInForce,
      before: Subscription,
      made: Milliseconds,
    ) => Promise<Result<undefined, Unavailable>>,
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
      const inForce = { ...before, subscription }
      // What waited for a subscription that has expired ends with it, and is not brought back [subscriptions 5.6].
      if (before.subscription.expires <= made && !(await this.#parts.courier.expire(id))) {
        return err(notGone)
      }
      this.#held.put(inForce)
      const stored = await activate(inForce, before.subscription, made).catch(async (fault: unknown) => {
        await this.#parts.store.commit({ put: before.subscription })
        await this.#restore(before)
        throw fault
      })
      if (!stored.ok) {
        if (!isLogged(stored.error)) await this.#restore(before)
        return stored
      }
      activated(subscription)
      this.#changes.updates += 1
      this.#trace('updated', subscription)
      return ok(undefined)
    })
  }

  unsubscribe(tenant: Tenant, id: SubscriptionId): Promise<Result<undefined, SubscriptionUnknown | Unavailable>> {
    return this.#held.inTurnSoon(id, async () => {
      const held = this.#held.of(tenant, id)
      if (!held) return err(unknown)
      const removed = await this.#activation.remove(id)
      if (!removed.ok) return removed
      await this.#forget(id)
      this.#changes.removes += 1
      this.#trace('removed', held.subscription)
      return ok(undefined)
    })
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
      if (held?.subscription.terms === undefined || held.subscription.terms.status === 'inactive') return ok(undefined)
      const { subscription } = held
      const next = {
        ...held,
        subscription: { ...subscription, terms: { ...held.subscription.terms, status: 'inactive' as const } },
      }
      this.#held.put(next)
      const stored = await this.#activation.amend(next, subscription)
      // Another node coordinates now, and is told the same.
      if (!stored.ok && stored.error.kind === 'coordinatorAway') {
        await this.#restore(held)
        return stored
      }
      this.#parts.log.warn(
        'subscriptions:disabled',
        `Subscription ${id} automatically disabled due to failsCounter (${fails}) overpasses maxFailsLimit (${subscription.terms?.maxFails})`,
      )
      return ok(undefined)
    })
  }

  async page({ tenant, paths, offset, limit }: WhichPage): Promise<Result<SubscriptionPage, Unavailable>> {
    const all = this.#held.all().filter(({ subscription: each }) => {
      if (each.tenant !== tenant || each.interval_ms !== undefined) return false
      return paths === undefined || paths.some((path) => isSamePath(path, each.path))
    })
    return ok({ count: all.length, subscriptions: await this.#shown(all.slice(offset, offset + limit)) })
  }

  async one(tenant: Tenant, id: SubscriptionId): Promise<Result<ShownSubscription | undefined, Unavailable>> {
    const held = this.#held.of(tenant, id)
    if (held === undefined || held.subscription.interval_ms !== undefined) return ok(undefined)
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
    return { ids: this.#held.all().map(({ subscription }) => subscription.id), changes }
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

  /** A change was not stored: everybody has the subscription as it was. */
  async #restore(before: SubscriptionInForce): Promise<void> {
    this.#held.put(before)
    await this.#parts.partitions.subscribe(before)
    this.#parts.courier.put(recipientOf(before))
  }

  #removeForgotten(): void {
    const { grace_ms, log } = this.#parts
    if (grace_ms === 0) return
    const since = now() - grace_ms
    for (const { subscription } of this.#held.all()) {
      const { id, tenant, expires } = subscription
      if (expires > since) continue
      this.unsubscribe(tenant, id).catch((fault: unknown) =>
        log.error('subscriptions:sweep', `the expired subscription ${id} could not be removed`, errorFacts(fault)),
      )
    }
  }

  #trace(what: string, { id, tenant }: Subscription): void {
    this.#parts.log.trace('subscription', `subscription ${id} ${what}`, { subscription: id, tenant })
  }
}

/** Whether what was refused stands in the log of a cluster, with what has undone it or not: what is in force here follows that. */
function isLogged({ kind }: Unavailable): boolean {
  return kind === 'notEverywhere' || kind === 'outcomeUnknown'
}

function isSamePath(a: PathRange, b: PathRange): boolean {
  return a.path === b.path && a.below === b.below
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
