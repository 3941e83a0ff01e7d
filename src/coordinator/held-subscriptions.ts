import type { Tenant } from '../context/entity.js'
import type { Recipient } from '../outbox/message.js'
import type {
  Subscription,
  SubscriptionClock,
  SubscriptionId,
  SubscriptionInForce,
} from '../subscription/subscription.js'

/** All subscriptions, in memory, by creation; with what their owner does to one of them done one after the other. */
export class HeldSubscriptions {
  readonly #held = new Map<SubscriptionId, SubscriptionInForce>()
  readonly #busy = new Map<SubscriptionId, Promise<unknown>>()
  #order = 0

  constructor(stored: readonly Subscription[]) {
    for (const subscription of stored) this.put({ subscription, clock: newClock() })
  }

  /** A place in the order of creation behind all others. */
  nextOrder(): number {
    return this.#order + 1
  }

  get(id: SubscriptionId): SubscriptionInForce | undefined {
    return this.#held.get(id)
  }

  /** The subscription of an id, if it is one of the tenant's. */
  of(tenant: Tenant, id: SubscriptionId): SubscriptionInForce | undefined {
    const held = this.#held.get(id)
    return held?.subscription.tenant === tenant ? held : undefined
  }

  put(inForce: SubscriptionInForce): void {
    const { id, order } = inForce.subscription
    this.#held.set(id, inForce)
    this.#order = Math.max(this.#order, order)
  }

  remove(id: SubscriptionId): void {
    this.#held.delete(id)
  }

  all(): readonly SubscriptionInForce[] {
    return [...this.#held.values()]
  }

  /** Does something to a subscription when all is done that was begun before. */
  async inTurn<Result>(id: SubscriptionId, work: () => Promise<Result>): Promise<Result> {
    const before = this.#busy.get(id)
    const done = before ? before.then(work, work) : work()
    this.#busy.set(id, done)
    try {
      return await done
    } finally {
      if (this.#busy.get(id) === done) this.#busy.delete(id)
    }
  }
}

export function newClock(): SubscriptionClock {
  return new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)
}

/** A subscription to context as the courier knows it. */
export function recipientOf({ subscription, clock }: SubscriptionInForce): Recipient {
  const { id, reference, attributes, expires } = subscription
  return { id, kind: 'context', reference, attributes, expires, clock }
}
