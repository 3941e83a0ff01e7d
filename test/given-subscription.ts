import type { Notice } from '../src/model/subscription/notice.js'
import type { Subscription, SubscriptionId, SubscriptionInForce } from '../src/model/subscription/subscription.js'
import { at, path, root, tenant } from './given.js'

let ids = 0

/** An id that no other subscription of this process has. */
export function subscriptionId(): SubscriptionId {
  ids += 1
  return ids.toString(16).padStart(24, '0') as SubscriptionId
}

/** A subscription to every change of everything in the default tenant. */
export function subscription(more: Partial<Subscription> = {}): Subscription {
  const id = subscriptionId()
  return {
    id,
    order: ids,
    tenant,
    path: { path: root, below: true },
    selectors: [{ id: { kind: 'any' }, type: undefined }],
    attributes: [],
    reference: 'http://127.0.0.1:1/inbox',
    expires: at(8_000_000_000_000),
    throttling_ms: 0,
    onChange: [],
    interval_ms: undefined,
    scopes: [],
    ...more,
  }
}

/** A subscription as it comes into force, with a clock of its own. */
export function inForce(more: Partial<Subscription> = {}): SubscriptionInForce {
  return {
    subscription: subscription(more),
    clock: { moments: new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)), at: 0 },
  }
}

/** A notice about one entity. */
export function notice(more: Partial<Notice> = {}): Notice {
  return {
    subscription: '5718a2f1c0de00112233aabb' as SubscriptionId,
    orderingKey: { kind: 'entity', key: '/\nTank1\nTank' },
    made: at(1_700_000_000_000),
    tenant,
    paths: [path('/')],
    correlator: 'corr-1',
    token: '',
    body: '{"a":"b"}',
    ...more,
  }
}
