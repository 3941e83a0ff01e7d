import {
  type ApiRequest,
  type ApiResponse,
  isLong,
  type Operation,
  type Prepared,
  type Resource,
  type UncheckedWork,
} from '../api/api.js'
import type { Payload, TimingStage } from '../measure/requests.js'
import type { Result } from '../result.js'
import type { Nanoseconds } from '../time.js'
import { reasonOf } from './errors.js'
import { payloadFaultOf } from './payload-fault.js'
import type { RequestLog } from './request-log.js'
import type { Stages } from './request-stages.js'
import type { ServerContext } from './server-context.js'

/** An operation that is due, and who waits for its end. */
interface OperationRun {
  readonly operation: Operation
  readonly resource: Resource
  readonly request: ApiRequest
  readonly payload: Payload
  /** As which stage the reading of its payload is timed. */
  readonly parseStage: TimingStage | undefined
  /** Whether a payload that cannot be understood raises an alarm. */
  readonly raisesAlarms: boolean
  readonly log: RequestLog
  readonly stages: Stages | undefined
  done(response: ApiResponse): void
  /** Called where the fault comes later; one that comes at once is thrown. */
  failed(fault: unknown): void
}

/** Prepares an operation and carries it out, at once or later. */
export function runOperation(context: ServerContext, due: OperationRun): void {
  const { meter } = context
  const since = meter.timingOn && due.payload !== 'none' ? process.hrtime.bigint() : undefined
  const prepared = due.operation.prepare(due.request)
  if (!(prepared instanceof Promise)) {
    isRead(context, due, since)
    work(context, due, prepared)
    return
  }
  // A long body is read in slices; what else is waited for is no reading.
  const readsOn = isLong(due.request.body)
  if (!readsOn) isRead(context, due, since)
  prepared
    .then((late) => {
      if (readsOn) isRead(context, due, since)
      work(context, due, late)
    })
    .catch((fault) => due.failed(fault))
}

function isRead({ meter }: ServerContext, due: OperationRun, since: Nanoseconds | undefined): void {
  const { stages, parseStage, request } = due
  if (since !== undefined && parseStage !== undefined)
    meter.stage(parseStage, process.hrtime.bigint() - since, request.client.timed)
  stages?.over('parse')
}

function work(context: ServerContext, due: OperationRun, prepared: Prepared): void {
  if (!prepared.ok) {
    payloadChecked(context, due, prepared)
    due.done(prepared.error)
    return
  }
  const work = prepared.value
  if (typeof work === 'object') {
    runUnchecked(context, due, work)
    return
  }
  payloadChecked(context, due, prepared)
  const response = work()
  if (response instanceof Promise) response.then(due.done, due.failed)
  else due.done(response)
}

function runUnchecked(context: ServerContext, due: OperationRun, unchecked: UncheckedWork): void {
  unchecked
    .run()
    .then((checked) => {
      payloadChecked(context, due, checked)
      due.done(checked.ok ? checked.value : checked.error)
    })
    .catch((fault) => due.failed(fault))
}

/** A request whose payload passed its checks counts [management 4.3]. */
function payloadChecked(context: ServerContext, due: OperationRun, checked: Result<unknown, ApiResponse>): void {
  if (due.raisesAlarms) judgeInput(context, due, checked)
  if (checked.ok) context.meter.counted(due.resource, due.request.verb, due.payload, false)
}

/** Whoever sends what can not be understood raises an alarm, which the next good request ends [management 10.7]. */
function judgeInput(
  { alarms }: ServerContext,
  { log, request }: OperationRun,
  prepared: Result<unknown, ApiResponse>,
): void {
  const isActive = alarms.isActive('BadInput')
  if (prepared.ok && !isActive) return
  const { from } = log.context
  if (prepared.ok) {
    alarms.over('BadInput', from)
    return
  }
  const reason = reasonOf(prepared.error)
  // Looked for where it is shown: of repetitions, only on request.
  const isSought = !isLong(request.body) && (!isActive || log.showsFaults)
  const fault = isSought && request.body !== '' ? payloadFaultOf(request.body, reason) : undefined
  if (fault !== undefined) log.payloadFault(reason, fault)
  alarms.occurred('BadInput', from, fault === undefined ? reason : `${reason} (${fault})`)
}
