import type { Broker } from '../../broker/front-end/broker.js'
import type { ClusterService } from '../../broker/front-end/cluster-status.js'
import type { BackupService, RegistryService } from '../../broker/front-end/services.js'
import type { ApiRequest, ApiResponse, Operation, Use, Work } from '../../broker/operations/api.js'
import { shortForm } from '../../broker/operations/response.js'
import type { RegistrationCalls } from '../../broker/providers/provider-request.js'
import { SharedTurns } from '../../in-turn.js'
import type { RegistrationId } from '../../model/registration/registration.js'
import type { RegistrationIndex } from '../../model/registration/registration-index.js'
import type { ActiveAlarm, AlarmCounts } from '../../observe/log/alarms.js'
import { type Facts, type Log, lineContextOf } from '../../observe/log/log.js'
import type { Measures } from '../../observe/measure/measures.js'
import { type PackedCounts, packed } from '../../observe/measure/packed-counts.js'
import type { SlowRequest } from '../../observe/measure/slow-requests.js'
import { ok } from '../../result.js'
import { inSlices } from '../../slices.js'

/** The services of the management interface of one front end. */
export interface ManagementParts {
  readonly measures: Measures
  readonly log: Log
  readonly broker: Pick<Broker, 'health' | 'subscriptions'> & {
    readonly registry: { readonly states: RegistryService['states']; readonly index: Pick<RegistrationIndex, 'size'> }
  }
  /** How many read handles a partition has left to lend. */
  readonly freeHandles: (partition: number) => number
  /** Undefined outside a cluster. */
  readonly cluster: ClusterService | undefined
  /** On a node of a cluster: the last record of the log that each partition shows here. */
  readonly applied: readonly (() => number)[]
  readonly peers: ProcessPeers
  readonly backups: BackupService
  /** A folder on the disk of the data, and how much of that is to stay free. */
  readonly disk: { readonly path: string; readonly keepFree_bytes: number }
}

/** A member of a JSON object whose value has been rendered already. */
export type JsonMember = readonly [name: string, text: string]

/** An object of members that were rendered by hand, because a number's text matters [management 4.1]. */
export function objectText(members: readonly JsonMember[]): string {
  return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`
}

/** An operation that is never refused. */
export function operation(use: Use, work: (request: ApiRequest) => ReturnType<Work>): Operation {
  return { use, prepare: (request) => ok(() => work(request)) }
}

/** The refusal of a parameter that has no value [management 3.2, 4.7]. */
export function emptyParameter(name: string): ApiResponse {
  return shortForm(400, `Empty right-hand-side for URI param /${name}/`)
}

/** Logs the accepted values when a fixed error text cannot name them. */
export function logRefusal(log: Log, request: ApiRequest, name: string, known: readonly string[]): void {
  log.info('management:refused', `${name}: known are ${known.join(', ')}`, {}, lineContextOf(request))
}

/** Logs a change that was made through the management interface [management 10.1, 2.5: 242]. */
export function logChange(log: Log, request: ApiRequest, message: string, facts: Facts = {}): void {
  changeLog(log, request)(message, facts)
}

/** Logs changes that a request has ordered for later, without keeping the request. */
export function changeLog(log: Log, request: ApiRequest): (message: string, facts?: Facts) => void {
  const { verb } = request
  const context = lineContextOf(request)
  return (message, facts = {}) => {
    log.info('management:change', message, facts, context)
    log.trace('admin', `${verb}: ${message}`, facts, context)
  }
}

/** Requests of front ends to each other, for what is not in shared memory. */
export interface Shared {
  /** Metrics by service, and whether they are to be reset in the same step [management 6.2]. */
  readonly services: { readonly request: { readonly reset: boolean }; readonly part: readonly PackedCounts[] }
  /** The last slow requests of each. */
  readonly slow: { readonly request: undefined; readonly part: readonly SlowRequest[] }
  /** The metrics of the process as Prometheus text: from the main thread only, so that they never jump [management 7]. */
  readonly process: { readonly request: undefined; readonly part: string }
  /** The alarms of the process, which its main thread has; nothing from others [management 10.7]. */
  readonly alarms: { readonly request: undefined; readonly part: Partial<AlarmCounts> }
  /** At most this many of the alarms that are active; nothing from others. */
  readonly activeAlarms: { readonly request: number; readonly part: readonly ActiveAlarm[] }
  /** How the calls of the providers of these registrations went. */
  readonly calls: { readonly request: readonly RegistrationId[]; readonly part: readonly RegistrationCalls[] }
}
type SharedName = keyof Shared

/** The part of one front end in what `ProcessPeers` gather. */
export type SharedPartOf = <Name extends SharedName>(
  name: Name,
  request: Shared[Name]['request'],
) => Shared[Name]['part'] | Promise<Shared[Name]['part']>

/** All front ends, this one included. */
export interface ProcessPeers {
  /**
   * One part per front end that answered in time. This front end is asked before the call returns, so that what it
   * counts after a reset is in no part. `late` gets each part that comes after the call has returned.
   */
  gather<Name extends SharedName>(
    name: Name,
    request: Shared[Name]['request'],
    late?: (part: Shared[Name]['part']) => void,
  ): Promise<readonly Shared[Name]['part'][]>
}

/** Answers that only some threads have: the main thread, and the front ends. */
interface ProcessParts {
  readonly alarms?: () => Partial<AlarmCounts>
  readonly activeAlarms?: (most: number) => readonly ActiveAlarm[]
  readonly calls?: (ids: readonly RegistrationId[]) => readonly RegistrationCalls[]
  readonly process?: () => Promise<string>
}

/** The responses of this front end. */
export function sharedPartOf(
  measures: Measures,
  { alarms = () => ({}), activeAlarms = () => [], calls = () => [], process = async () => '' }: ProcessParts = {},
): SharedPartOf {
  const shown = new SharedTurns(() => inSlices(packed(measures.services.take(false))))
  const parts: { readonly [Name in SharedName]: (request: Shared[Name]['request']) => SharedPart<Name> } = {
    services: ({ reset }) => (reset ? inSlices(packed(measures.services.take(true))) : shown.shared()),
    slow: () => measures.slow.all,
    process,
    alarms,
    activeAlarms,
    calls,
  }
  return (name, request) => parts[name](request)
}
type SharedPart<Name extends SharedName> = Shared[Name]['part'] | Promise<Shared[Name]['part']>
