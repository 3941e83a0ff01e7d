import { InTurn } from '../../in-turn.js'
import type { Tenant } from '../../model/context/entity.js'
import {
  lastNotified,
  otherClock,
  type PackedWithClocks,
  packedWithClocks,
  setClock,
  unpackedWithClocks,
  withClocks,
} from '../../model/subscription/clocks.js'
import { isCommitted, isProposedOnly, isUndecided, versionsOf } from '../../model/subscription/decisions.js'
import type {
  Subscription,
  SubscriptionClock,
  SubscriptionId,
  SubscriptionInForce,
} from '../../model/subscription/subscription.js'
import { type Err, err } from '../../result.js'
import type { Packed } from '../../threads/shared-memory/packed.js'
import type { Unavailable } from '../front-end/unavailable.js'
import { Capacity, sizeOfSubscription } from './capacity.js'
import { type Comparable, EntityCosts, PatternCosts } from './match-costs.js'

/** The limits of subscriptions. */
export interface SubscriptionLimits {
  /** Subscriptions of a kind, of 1 KiB each on average. */
  readonly subscriptionsMax: number
  /** Steps that matching the longest id with all patterns of a tenant may take. */
  readonly patternSteps: number
  /** The number of subscriptions that may be about one entity. */
  readonly perEntity: number
  /** How long a change may wait for those of the same subscription before it. */
  readonly turnLimit_ms: number
}

/** Transitions that a partition may visit when it takes up the patterns of one subscription: each takes up to 2 µs. */
const mostTransitions = 25_000

/** How long the packed subscriptions are kept for further threads: the time of a start. */
const packed_ms = 10_000

const tooLate: Err<Unavailable> = err({ kind: 'queryLate' })

/** All subscriptions in memory, by creation. Operations on one subscription are carried out one after the other. */
export class HeldSubscriptions {
  #held: Map<SubscriptionId, SubscriptionInForce> = new Map()
  /** Whether the map is in the order of creation: a subscription may come into force after one that was created later. */
  #isOrdered = true
  /** Subscriptions for which room is reserved and that are not held yet. */
  readonly #reserved = new Map<SubscriptionId, Subscription>()
  /** The queues of the subscriptions with an operation in progress. */
  readonly #turns = new Map<SubscriptionId, InTurn>()
  readonly #clocks = new Clocks()
  readonly #capacity: Capacity
  readonly #patterns = new PatternCosts()
  readonly #entities = new EntityCosts()
  readonly #limits: SubscriptionLimits
  #order = 0
  /** The highest order of creation so far. */
  #highest = 0
  /** The stored subscriptions, until they are loaded. */
  #stored: PackedWithClocks<Subscription> | undefined
  #packed: PackedWithClocks<Subscription> | undefined

  /** Empty before `loading`, but the stored subscriptions can be passed to other threads at once. */
  constructor(stored: Packed<Subscription>, limits: SubscriptionLimits) {
    this.#capacity = new Capacity(limits.subscriptionsMax)
    this.#limits = limits
    this.#stored = withClocks(stored, () => this.#clocks.next())
  }

  /** Takes up what is stored, step by step; all of it is held whatever the limits say. */
  *loading(): Generator<void> {
    const stored = this.#stored
    if (stored === undefined) return
    const held: SubscriptionInForce[] = []
    for (const [subscription, clock] of unpackedWithClocks(stored)) {
      held.push({ subscription, clock })
      yield
    }
    held.sort((a, b) => a.subscription.order - b.subscription.order)
    for (const inForce of held) {
      this.put(inForce)
      yield
    }
    this.#stored = undefined
    this.#keep(stored)
  }

  /** All subscriptions for another thread. Threads that start shortly after each other share the memory. */
  packed(): PackedWithClocks<Subscription> {
    const known = this.#stored ?? this.#packed
    if (known !== undefined) return known
    const held = this.records()
    const made = packedWithClocks(
      held.map(({ subscription }) => subscription),
      (at) => held[at]?.clock,
    )
    this.#keep(made)
    return made
  }

  #keep(packed: PackedWithClocks<Subscription>): void {
    this.#packed = packed
    setTimeout(() => {
      this.#packed = undefined
    }, packed_ms).unref()
  }

  /** The next number in the order of creation. */
  nextOrder(): number {
    this.#order += 1
    return this.#order
  }

  /** The subscription of an id, even while its creation is only proposed. */
  get(id: SubscriptionId): SubscriptionInForce | undefined {
    return this.#held.get(id)
  }

  /** The subscription of an id, if it is one of the tenant's. */
  of(tenant: Tenant, id: SubscriptionId): SubscriptionInForce | undefined {
    const held = this.#held.get(id)
    return held?.subscription.tenant === tenant && !isProposedOnly(held.subscription) ? held : undefined
  }

  /** Computes the costs of a subscription; to be awaited before `objection`. */
  prepare(subscription: Comparable): Promise<void> {
    return this.#patterns.prepare(subscription)
  }

  /** Why there is no room for a subscription, which may replace the one with its id; undefined if there is. */
  objection(subscription: Subscription): Unavailable | undefined {
    const held = this.#held.get(subscription.id)?.subscription
    const size = sizeOfSubscription(subscription)
    if (!this.#capacity.hasRoom(size, held && sizeOfSubscription(held))) return { kind: 'subscriptionsFull' }
    const before = this.#patterns.with(held ?? subscription)
    const after = this.#patterns.with(subscription)
    const { patternSteps, perEntity } = this.#limits
    if (held === undefined || after > before) {
      if (after > patternSteps || this.#patterns.transitions(subscription) > mostTransitions) {
        return { kind: 'patternsFull' }
      }
    }
    const most = this.#entities.with(subscription)
    const grows = held === undefined || most > this.#entities.with(held)
    return grows && most > perEntity ? { kind: 'entityFull' } : undefined
  }

  /** Reserves room for a new subscription until it is put or `unreserve` is called. */
  reserve(subscription: Subscription): void {
    this.#reserved.set(subscription.id, subscription)
    this.#count(subscription)
  }

  /** Releases the room of a subscription that was never put. */
  unreserve(id: SubscriptionId): void {
    const reserved = this.#reserved.get(id)
    if (reserved !== undefined) this.#uncount(reserved)
    this.#reserved.delete(id)
  }

  /**
   * Puts a record of a subscription with the clock of the version that stands: a version that was proposed keeps the clock that it
   * has run on until then.
   */
  take(record: Subscription): SubscriptionInForce {
    const before = this.#held.get(record.id)
    let clock = before?.clock ?? this.#clocks.next()
    if (isUndecided(record)) setClock(otherClock(clock), clock)
    else if (before !== undefined && isUndecided(before.subscription) && isCommitted(record)) {
      const own = otherClock(clock)
      // The process has started since the proposal, and knows only the clock of the version that stood.
      if (lastNotified(own) === 0) setClock(own, clock)
      clock = own
    }
    const inForce = { subscription: record, clock }
    this.put(inForce)
    return inForce
  }

  put(inForce: SubscriptionInForce): void {
    const { subscription } = inForce
    const { id, order } = subscription
    const held = this.#leave(id)
    // One that is replaced keeps its place in the map.
    this.#held.set(id, inForce)
    if (held?.subscription.order !== order && order < this.#highest) this.#isOrdered = false
    this.#highest = Math.max(this.#highest, order)
    this.#count(subscription)
    this.#order = Math.max(this.#order, order)
  }

  remove(id: SubscriptionId): void {
    this.#leave(id)
    this.#held.delete(id)
  }

  /** Releases the room of a subscription that is removed or replaced. */
  #leave(id: SubscriptionId): SubscriptionInForce | undefined {
    this.unreserve(id)
    this.#packed = undefined
    const held = this.#held.get(id)
    if (held !== undefined) this.#uncount(held.subscription)
    return held
  }

  get #byCreation(): ReadonlyMap<SubscriptionId, SubscriptionInForce> {
    if (this.#isOrdered) return this.#held
    this.#held = new Map([...this.#held].sort(([, a], [, b]) => a.subscription.order - b.subscription.order))
    this.#isOrdered = true
    return this.#held
  }

  /** All records by creation, also those of subscriptions whose creation is only proposed. */
  records(): readonly SubscriptionInForce[] {
    return [...this.#byCreation.values()]
  }

  /** The subscriptions in force, by creation. */
  all(): readonly SubscriptionInForce[] {
    return this.records().filter(({ subscription }) => !isProposedOnly(subscription))
  }

  /** The records with an undecided change. */
  undecided(): readonly Subscription[] {
    return this.records().flatMap(({ subscription }) => (isUndecided(subscription) ? subscription : []))
  }

  /** Counts a record; while its change is undecided, both versions count, since both are matched. */
  #count(record: Subscription): void {
    this.#capacity.add(sizeOfSubscription(record))
    for (const subscription of matchedVersions(record)) {
      this.#patterns.add(subscription)
      this.#entities.add(subscription)
    }
  }

  #uncount(record: Subscription): void {
    this.#capacity.remove(sizeOfSubscription(record))
    for (const subscription of matchedVersions(record)) {
      this.#patterns.remove(subscription)
      this.#entities.remove(subscription)
    }
  }

  /**
   * Does what a client asks to a subscription when all is done that was begun before; refuses when that takes longer than
   * a query may take. What has begun is waited for.
   */
  inTurnSoon<Result>(id: SubscriptionId, work: () => Promise<Result>): Promise<Result | Err<Unavailable>> {
    let timer: NodeJS.Timeout | undefined
    let isLate = false
    const late = new Promise<Err<Unavailable>>((resolve) => {
      timer = setTimeout(() => {
        isLate = true
        resolve(tooLate)
      }, this.#limits.turnLimit_ms)
    })
    const done = this.inTurn(id, async () => {
      clearTimeout(timer)
      return isLate ? tooLate : work()
    })
    return Promise.race([done, late])
  }

  /** Works on a subscription after all earlier operations on it have ended. */
  async inTurn<Result>(id: SubscriptionId, work: () => Promise<Result>): Promise<Result> {
    const turns = this.#turns.get(id) ?? new InTurn()
    this.#turns.set(id, turns)
    try {
      return await turns.run(work)
    } finally {
      if (turns.isIdle) this.#turns.delete(id)
    }
  }
}

function matchedVersions(record: Subscription): readonly Subscription[] {
  const { standing, proposed } = versionsOf(record)
  return [standing, proposed].flatMap((version) => version?.subscription ?? [])
}

/** Moments that lie in one piece of memory: two for each subscription, see `otherClock`. */
const clocksTogether = 8192

/**
 * Makes clocks. Many share one piece of memory, because a message takes time with the square of the pieces that it
 * names, and every thread begins with the clocks of all subscriptions. The memory goes with the last of its clocks.
 */
export class Clocks {
  #moments = new BigInt64Array(new SharedArrayBuffer(0))
  #used = clocksTogether

  next(): SubscriptionClock {
    if (this.#used === clocksTogether) {
      const memory = new SharedArrayBuffer(clocksTogether * BigInt64Array.BYTES_PER_ELEMENT)
      this.#moments = new BigInt64Array(memory)
      this.#used = 0
    }
    const clock = { moments: this.#moments, at: this.#used }
    this.#used += 2
    return clock
  }
}
