import { err, type Result } from '../result.js'
import type { SubscriptionService } from './broker.js'
import type { RegistryService } from './services.js'
import type { Unavailable } from './unavailable.js'

/** Subscriptions for callers that wait no longer than this for a change, which may be carried out after that. */
export function patientSubscriptions(service: SubscriptionService, limit_ms: number): SubscriptionService {
  return {
    subscribe: (asked) => inTime(service.subscribe(asked), limit_ms),
    add: (asked) => inTime(service.add(asked), limit_ms),
    patch: (asked) => inTime(service.patch(asked), limit_ms),
    change: (asked) => inTime(service.change(asked), limit_ms),
    unsubscribe: (tenant, id) => inTime(service.unsubscribe(tenant, id), limit_ms),
    page: (which) => service.page(which),
    one: (tenant, id) => service.one(tenant, id),
    search: (which) => service.search(which),
    states: (which) => service.states(which),
    index: (reset) => service.index(reset),
    inspected: (id) => service.inspected(id),
    receivers: (which) => service.receivers(which),
  }
}

/** A registry for callers that wait no longer than this for a change, which may be carried out after that. */
export function patientRegistry(service: RegistryService, limit_ms: number): RegistryService {
  return {
    index: service.index,
    register: (asked) => inTime(service.register(asked), limit_ms),
    add: (asked) => inTime(service.add(asked), limit_ms),
    remove: (tenant, id) => inTime(service.remove(tenant, id), limit_ms),
    notified: (told) => inTime(service.notified(told), limit_ms),
    subscribe: (asked) => inTime(service.subscribe(asked), limit_ms),
    change: (asked) => inTime(service.change(asked), limit_ms),
    unsubscribe: (tenant, id) => inTime(service.unsubscribe(tenant, id), limit_ms),
    states: (which) => service.states(which),
  }
}

async function inTime<Value, Refusal>(
  changing: Promise<Result<Value, Refusal>>,
  limit_ms: number,
): Promise<Result<Value, Refusal | Extract<Unavailable, { kind: 'outcomeUnknown' }>>> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Result<never, { readonly kind: 'outcomeUnknown' }>>((resolve) => {
    timer = setTimeout(() => resolve(err({ kind: 'outcomeUnknown' })), limit_ms)
  })
  try {
    return await Promise.race([changing, late])
  } finally {
    clearTimeout(timer)
  }
}
