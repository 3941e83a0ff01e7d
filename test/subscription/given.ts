import type { EntityId, EntityType } from '../../src/model/context/entity.js'
import { type Selector, shownAttributes } from '../../src/model/context/query.js'
import type { NoticeRenderer } from '../../src/model/subscription/notice.js'
import type {
  Subscription,
  SubscriptionClock,
  SubscriptionId,
  SubscriptionInForce,
} from '../../src/model/subscription/subscription.js'
import { subscription } from '../given-subscription.js'

/** The id of the subscription that was created as the so manieth. */
export function nthId(order: number): SubscriptionId {
  return order.toString(16).padStart(24, '0') as SubscriptionId
}

/** The subscription that was created as the so manieth, to every change of everything unless something else is said. */
export function nth(order: number, more: Partial<Subscription> = {}, memory = clock()): SubscriptionInForce {
  return { subscription: subscription({ id: nthId(order), order, ...more }), clock: memory }
}

export function any(type?: EntityType): Selector {
  return { id: { kind: 'any' }, type }
}

export function exact(id: EntityId, type?: EntityType): Selector {
  return { id: { kind: 'exact', id }, type }
}

export function pattern(text: string, type?: EntityType): Selector {
  return { id: { kind: 'pattern', pattern: text }, type }
}

/** A clock whose last moment was reserved then. */
export function clock(last = 0): SubscriptionClock {
  const moments = new BigInt64Array(new SharedArrayBuffer(3 * 8))
  moments[1] = BigInt(last)
  return { moments, at: 1 }
}

/** What a clock says. */
export function lastOf({ moments, at }: SubscriptionClock): number {
  return Number(moments[at])
}

/** Says what a notification would show, in short. */
export const shortBody: NoticeRenderer = ({ attributes }, entities) =>
  entities
    .map((entity) => {
      const shown = shownAttributes(entity, attributes)
      return `${entity.id}: ${shown.map(({ name, instance, value }) => `${name}${instance}=${value}`).join(' ')}`
    })
    .join('; ')
