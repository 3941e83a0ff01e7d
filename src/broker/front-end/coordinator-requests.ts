import { err, ok, type Result } from '../../result.js'
import { type Method, methodsOf, type Operations } from '../../threads/calls/service.js'
import { whenOver } from '../../time-limit.js'
import { isCount, jsonIn } from '../../unchecked-json.js'
import { type SubscriptionService, subscriptionServiceOperations } from './broker.js'
import { type RegistryService, registryServiceOperations } from './services.js'
import type { Unavailable } from './unavailable.js'

/** Changes that only the coordinating node of a cluster makes, whichever node is asked. */
const changes = {
  subscriptions: ['subscribe', 'add', 'change', 'patch', 'unsubscribe', 'disable'],
  registry: ['register', 'add', 'remove', 'notified', 'subscribe', 'change', 'unsubscribe'],
} as const

type Changes = typeof changes

/** A change of the coordinator's data as another node asks for it: the arguments are plain data. */
export interface CoordinatorRequest<Service extends keyof Changes = keyof Changes> {
  readonly service: Service
  readonly operation: Changes[Service][number]
  readonly given: readonly unknown[]
}

/** The node that was asked does not coordinate; nothing was done. */
export interface NotCoordinator {
  readonly kind: 'notCoordinator'
  /** The node that does, as far as it knows. */
  readonly owner: string | undefined
}

/** The work of a node for those that do not coordinate. */
export interface CoordinatorService {
  /** Carries out a change if this node coordinates; gives what its service has answered. */
  take(request: CoordinatorRequest): Promise<Result<unknown, NotCoordinator>>
  /**
   * Has the partitions that this node owns write a heartbeat record once the metadata log is in force up to a record: gives the
   * number of each partition, and its last notice before the heartbeat. Nothing when it is not in force here in time.
   */
  heartbeat(metadataVersion: number): Promise<readonly PartitionHeartbeat[] | undefined>
}

/** A coordinator service that front ends of this node can ask to confirm that they read its latest state. */
export interface SharingService extends CoordinatorService {
  /** Resolves when this node has all that was acknowledged before; refuses when that is not known. */
  confirmed(): Promise<Result<undefined, Unavailable>>
}

/** The number of a partition that has written a heartbeat record, and the number of its last notice before that. */
export type PartitionHeartbeat = readonly [partition: number, lastNotice: number]

/** The operations of the service, for callers behind a port. */
export const coordinatorOperations = { take: 'ask', heartbeat: 'ask', confirmed: 'ask' } as const

/** Changes the coordinator's data from any node of a cluster, and confirms that this node has all that was acknowledged. */
export interface CoordinatorSharing {
  /** Has the coordinator carry out a change; gives the response of its service, or that no coordinator is reached. */
  change<Response>(request: CoordinatorRequest): Promise<Response>
  /** Resolves when this node has all that was acknowledged before; refuses when that is not known. */
  confirmed(): Promise<Result<undefined, Unavailable>>
}

/** Reads a request of another node; undefined when the text is none. */
export function parseCoordinatorRequest(text: string): CoordinatorRequest | undefined {
  const raw = jsonIn(text)
  if (typeof raw !== 'object' || raw === null || !('service' in raw) || !('operation' in raw) || !('given' in raw)) {
    return undefined
  }
  const { service, operation, given } = raw
  if ((service !== 'subscriptions' && service !== 'registry') || !Array.isArray(given)) return undefined
  const known = changes[service].find((name) => name === operation)
  return known === undefined ? undefined : { service, operation: known, given }
}

/** A service whose changes go another way than to its own methods; what only reads does not. */
function rerouted<Service extends object, Change extends string>(
  service: Service,
  operations: Operations<Service>,
  changing: readonly Change[],
  change: (operation: Change, given: readonly unknown[], method: Method) => unknown,
): Service {
  const rerouted = Array.from(methodsOf(service, operations), ([name, method]) => {
    const changed = changing.find((each) => each === name)
    return [
      name,
      (...given: readonly unknown[]) => (changed === undefined ? method(given) : change(changed, given, method)),
    ]
  })
  return Object.fromEntries(rerouted) as Service
}

function reroutedRegistry(
  service: RegistryService,
  change: (
    operation: CoordinatorRequest<'registry'>['operation'],
    given: readonly unknown[],
    method: Method,
  ) => unknown,
): RegistryService {
  const operations: Omit<RegistryService, 'index' | 'confirmed'> = service
  const { index, confirmed } = service
  return { index, confirmed, ...rerouted(operations, registryServiceOperations, changes.registry, change) }
}

/** The subscriptions of a cluster on one of its nodes: changed by the coordinator, looked at here. */
export function sharedSubscriptions(here: SubscriptionService, sharing: CoordinatorSharing): SubscriptionService {
  const confirmed = async <Read>(read: () => Promise<Result<Read, Unavailable>>) => {
    const known = await sharing.confirmed()
    return known.ok ? read() : known
  }
  return {
    ...rerouted(here, subscriptionServiceOperations, changes.subscriptions, (operation, given) =>
      sharing.change({ service: 'subscriptions', operation, given }),
    ),
    page: (which) => confirmed(() => here.page(which)),
    one: (...which) => confirmed(() => here.one(...which)),
  }
}

/** The registrations of a cluster on one of its nodes: changed by the coordinator, looked at here. */
export function sharedRegistry(here: RegistryService, sharing: CoordinatorSharing): RegistryService {
  return reroutedRegistry(here, (operation, given) => sharing.change({ service: 'registry', operation, given }))
}

/** Subscriptions for callers that wait no longer than this for a change, which may be carried out after that. */
export function patientSubscriptions(service: SubscriptionService, limit_ms: number): SubscriptionService {
  return rerouted(service, subscriptionServiceOperations, changes.subscriptions, (_, given, method) =>
    inTime(method(given), limit_ms),
  )
}

/** A registry for callers that wait no longer than this for a change, which may be carried out after that. */
export function patientRegistry(service: RegistryService, limit_ms: number): RegistryService {
  return reroutedRegistry(service, (_, given, method) => inTime(method(given), limit_ms))
}

async function inTime(changing: unknown, limit_ms: number): Promise<unknown> {
  let stop = (): void => {}
  const late = new Promise((resolve) => {
    stop = whenOver(limit_ms, () => resolve(err({ kind: 'outcomeUnknown' })))
  })
  try {
    return await Promise.race([changing, late])
  } finally {
    stop()
  }
}

/** Reads the number of a record that another node names; undefined when the text names none. */
export function parseHeartbeatRequest(text: string): number | undefined {
  const raw = jsonIn(text)
  if (typeof raw !== 'object' || raw === null || !('control' in raw)) return undefined
  return isCount(raw.control) ? raw.control : undefined
}

/** Reads the heartbeats that another node has answered; undefined when it has none, or the text is malformed. */
export function parseHeartbeats(text: string): readonly PartitionHeartbeat[] | undefined {
  const raw = jsonIn(text)
  if (typeof raw !== 'object' || raw === null || !('heartbeats' in raw) || !Array.isArray(raw.heartbeats))
    return undefined
  return raw.heartbeats.every(isHeartbeat) ? raw.heartbeats : undefined
}

function isHeartbeat(raw: unknown): raw is PartitionHeartbeat {
  return Array.isArray(raw) && raw.length === 2 && raw.every(isCount)
}

/** Reads the response of another node to a change; undefined when the text is no response of a service. */
export function parseCoordinatorResponse(text: string): Result<unknown, unknown> | undefined {
  const raw = jsonIn(text)
  if (typeof raw !== 'object' || raw === null || !('ok' in raw)) return undefined
  if (raw.ok === true) return ok('value' in raw ? raw.value : undefined)
  return raw.ok === false && 'error' in raw ? err(raw.error) : undefined
}

/**
 * Whether a coordinator may give what its service has answered to a change. A refusal has no record in the log that would show that the
 * node still coordinates: it is given only while nobody else can, and otherwise whoever coordinates is asked again.
 */
export function mayBeGiven(response: unknown, isConfirmed: () => boolean): boolean {
  const kind = refusalOf(response)
  if (kind === undefined || kind === 'outcomeUnknown') return true
  return kind !== 'coordinatorAway' && isConfirmed()
}

/** The kind of a refusal; nothing of any other answer. */
function refusalOf(response: unknown): unknown {
  if (typeof response !== 'object' || response === null || !('error' in response)) return undefined
  const { error } = response
  return typeof error === 'object' && error !== null && 'kind' in error ? error.kind : 'unnamed'
}
