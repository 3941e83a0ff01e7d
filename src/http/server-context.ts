import type { AlarmReports } from '../log/alarm-reports.js'
import type { DamageLog } from '../log/damage-log.js'
import type { Log } from '../log/log.js'
import type { LoopSteps } from '../measure/loop-steps.js'
import type { Rejection, RequestMeter } from '../measure/requests.js'
import type { Options } from '../options.js'
import type { RequestMemory } from '../shared-memory/request-memory.js'
import type { Switches } from '../shared-memory/switches.js'
import type { Admission } from './admission.js'
import type { CheckRules } from './checks.js'
import type { ClientAccess } from './client-access.js'
import type { ProxyNotice } from './proxy-notice.js'
import type { ReplyInterleaving, ResponseBatch } from './response-batch.js'

/** What all requests of a front end share. */
export interface FrontEndContext {
  readonly meter: RequestMeter
  /** Names the steps of the thread. */
  readonly steps: LoopSteps
  readonly log: Log
  readonly damages: DamageLog
  readonly switches: Switches
  /** Makes the number of an incoming request, for the log [management 10.3]. */
  readonly transaction: () => string
  /** Raises and clears the alarm BadInput [management 10.7]. */
  readonly alarms: Pick<AlarmReports, 'isActive' | 'occurred' | 'over'>
}

/** What the requests of one listening socket share. */
export interface ServerContext extends FrontEndContext {
  readonly rules: CheckRules
  /** Nothing where everybody may use the interfaces for clients as much as they like. */
  readonly access: ClientAccess | undefined
  /** Nothing where no request is taken for one of this machine, or that makes no difference. */
  readonly proxies: ProxyNotice | undefined
  readonly admission: Admission
  readonly responses: ResponseBatch
  readonly interleaving: ReplyInterleaving
  /** What all requests hold until their responses have been written. */
  readonly memory: RequestMemory
  /** What large responses hold until they have been sent. */
  readonly responseMemory: RequestMemory
  readonly policy: Options['reqMutexPolicy']
  /** Whether the front end is ending: responses say that their connection will be closed [management 12.2]. */
  stopping: boolean
}

/** As what an error before the operation is counted [management 7]. */
export const rejectionOf: Readonly<Record<number, Rejection | undefined>> = {
  400: undefined,
  401: 'unauthorized',
  403: 'forbidden',
  406: 'not_acceptable',
  413: 'too_large',
  414: 'too_large',
  415: 'media_type',
  429: 'rate_limit',
}
