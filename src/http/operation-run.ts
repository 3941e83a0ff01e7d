import {
  type ApiRequest,
  type ApiResponse,
  isLong,
  type Operation,
  type Prepared,
  type Resource,
  type UncheckedWork,
} from '../broker/operations/api.js'
import { findJsonFault, type JsonScalar, type JsonTree, readTree, scalarsByKind } from '../json-reader.js'
import { hasForbidden } from '../model/context/entity.js'
import type { Payload, TimingStage } from '../observe/measure/requests.js'
import type { Result } from '../result.js'
import { atOnce } from '../slices.js'
import type { Nanoseconds } from '../time.js'
import type { ServerContext, Stages } from './request-context.js'
import type { RequestLog } from './request-log.js'
import { reasonOf } from './responses.js'

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

/**
 * What a refused payload has that may be what is wrong with it, and where, for the log: the texts of answers are fixed.
 * Nothing of the payload is in it but names of members and one character. `reason` is what the response says.
 */
export function payloadFaultOf(body: string, reason: string): string | undefined {
  const fault = findJsonFault(body)
  if (fault !== undefined) return `${placeIn(body, fault.at)}: ${fault.expected} is expected`
  if (reason === 'JSON Parse Error' || reason === 'Errors found in incoming JSON buffer') {
    return 'it is JSON, but an object, an array or a text stands where another one of them belongs'
  }
  return /illegal value|characters/i.test(reason) ? firstForbidden(body) : undefined
}

/** The line and the column of a place in a text, both from 1. */
function placeIn(text: string, at: number): string {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - before.lastIndexOf('\n')
  return `line ${line}, column ${column}`
}

/** The first text of a payload that has a character which most texts may not have, by the path of its members. */
function firstForbidden(body: string): string | undefined {
  const tree = atOnce(readTree(body, scalarsByKind))
  const found = tree.ok ? forbiddenIn(tree.value, '') : undefined
  return found && `the first text with one of < > " ' = ; ( ) is ${found.path}, it has ${found.character}`
}

/** In characters: the members of a path may be as long as a payload. */
const longestPath = 256

interface Forbidden {
  readonly path: string
  readonly character: string
}

function forbiddenIn(tree: JsonTree<JsonScalar>, path: string): Forbidden | undefined {
  if (typeof tree === 'string') {
    const character = hasForbidden(tree) ? [...tree].find(hasForbidden) : undefined
    return character === undefined ? undefined : { path, character }
  }
  if (typeof tree !== 'object' || tree === null) return undefined
  const parts = 'members' in tree ? tree.members : tree.map((item, at) => [String(at), item] as const)
  for (const [key, part] of parts) {
    const found = forbiddenIn(part, `${path}/${key}`.slice(0, longestPath))
    if (found) return found
  }
  return undefined
}
