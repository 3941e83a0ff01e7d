import { type Answer, type Asked, isLong, type Operation, type Resource, type Work } from '../api.js'
import type { Outcome } from '../result.js'
import type { Nanoseconds } from '../time.js'
import { reasonOf } from './errors.js'
import type { Lines } from './lines.js'
import type { Desk } from './server-context.js'
import type { Stages } from './stages.js'

/** An operation that is due, and who waits for its end. */
export interface DueWork {
  readonly operation: Operation
  readonly resource: Resource
  readonly asked: Asked
  readonly payload: 'json' | 'none'
  /** Whether a payload that cannot be understood raises an alarm. */
  readonly judged: boolean
  readonly lines: Lines
  readonly stages: Stages | undefined
  done(answer: Answer): void
  /** Called where the fault comes later; one that comes at once is thrown. */
  failed(fault: unknown): void
}

/** Prepares an operation and carries it out, at once or later. */
export function carryOut(desk: Desk, due: DueWork): void {
  const { meter } = desk
  const since = meter.timingOn && due.payload === 'json' ? process.hrtime.bigint() : undefined
  const prepared = due.operation.prepare(due.asked)
  if (!(prepared instanceof Promise)) {
    isRead(desk, due, since)
    work(desk, due, prepared)
    return
  }
  // A long body is read in slices; what else is waited for is no reading.
  const readsOn = isLong(due.asked.body)
  if (!readsOn) isRead(desk, due, since)
  prepared
    .then((late) => {
      if (readsOn) isRead(desk, due, since)
      work(desk, due, late)
    })
    .catch((fault) => due.failed(fault))
}

function isRead({ meter }: Desk, { stages }: DueWork, since: Nanoseconds | undefined): void {
  if (since !== undefined) meter.stage('jsonV1Parse', process.hrtime.bigint() - since)
  stages?.over('parse')
}

function work(desk: Desk, due: DueWork, prepared: Outcome<Work, Answer>): void {
  if (due.judged) judgeInput(desk, due.lines, prepared)
  if (!prepared.ok) {
    due.done(prepared.refusal)
    return
  }
  desk.meter.counted(due.resource, due.asked.verb, due.payload, false)
  const answer = prepared.value()
  if (answer instanceof Promise) answer.then(due.done, due.failed)
  else due.done(answer)
}

/** Whoever sends what can not be understood raises an alarm, which the next good request ends [management 10.7]. */
function judgeInput({ alarms }: Desk, lines: Lines, prepared: Outcome<Work, Answer>): void {
  if (prepared.ok && !alarms.isActive('BadInput')) return
  const { from } = lines.context
  if (prepared.ok) alarms.over('BadInput', from)
  else alarms.occurred('BadInput', from, reasonOf(prepared.refusal))
}
