import type { ActiveAlarm, AlarmCounts } from '../log/alarms.js'
import type { Measures } from '../measure/measures.js'
import type { ServiceCount } from '../measure/service-metrics.js'
import type { SlowRequest } from '../measure/slow-requests.js'
import type { RegistrationCalls } from '../providers/provider-request.js'
import type { RegistrationId } from '../registration/registration.js'

/** What front ends ask each other for, because it is not in shared memory. */
export interface Shared {
  /** Metrics by service, and whether they are to be reset in the same step [management 6.2]. */
  readonly services: { readonly ask: { readonly reset: boolean }; readonly part: readonly ServiceCount[] }
  /** The last slow requests of each. */
  readonly slow: { readonly ask: undefined; readonly part: readonly SlowRequest[] }
  /** The metrics of the process as Prometheus text: from the main thread only, so that they never jump [management 7]. */
  readonly process: { readonly ask: undefined; readonly part: string }
  /** The alarms of the process, which its main thread has; nothing from others [management 10.7]. */
  readonly alarms: { readonly ask: undefined; readonly part: Partial<AlarmCounts> }
  /** At most so many of the alarms that are active; nothing from others. */
  readonly activeAlarms: { readonly ask: number; readonly part: readonly ActiveAlarm[] }
  /** How the calls of the providers of these registrations went. */
  readonly calls: { readonly ask: readonly RegistrationId[]; readonly part: readonly RegistrationCalls[] }
}
type SharedName = keyof Shared

/** What a front end answers a peer; its own part of what `ProcessPeers` gather. */
export type SharedAnswer = <Name extends SharedName>(
  name: Name,
  ask: Shared[Name]['ask'],
) => Shared[Name]['part'] | Promise<Shared[Name]['part']>

/** All front ends, this one included. */
export interface ProcessPeers {
  /**
   * One part per front end that answered in time. This front end is asked before the call returns, so that what it
   * counts afterwards is in no part. `late` gets each part that comes after the call has returned.
   */
  gather<Name extends SharedName>(
    name: Name,
    ask: Shared[Name]['ask'],
    late?: (part: Shared[Name]['part']) => void,
  ): Promise<readonly Shared[Name]['part'][]>
}

/** What only some threads can answer: the main thread, and the front ends. */
interface ProcessAnswers {
  readonly alarms?: () => Partial<AlarmCounts>
  readonly activeAlarms?: (most: number) => readonly ActiveAlarm[]
  readonly calls?: (ids: readonly RegistrationId[]) => readonly RegistrationCalls[]
  readonly process?: () => Promise<string>
}

/** The answers of this front end. */
export function sharedAnswer(
  measures: Measures,
  { alarms = () => ({}), activeAlarms = () => [], calls = () => [], process = async () => '' }: ProcessAnswers = {},
): SharedAnswer {
  const answers: { readonly [Name in SharedName]: (ask: Shared[Name]['ask']) => SharedPart<Name> } = {
    services: ({ reset }) => measures.services.take(reset),
    slow: () => measures.slow.all,
    process,
    alarms,
    activeAlarms,
    calls,
  }
  return (name, ask) => answers[name](ask)
}
type SharedPart<Name extends SharedName> = Shared[Name]['part'] | Promise<Shared[Name]['part']>
