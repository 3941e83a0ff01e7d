import type { IncomingMessage } from 'node:http'
import type { Options } from '../flags/settings.js'
import type { AlarmReports } from '../observe/log/alarms.js'
import type { Facts, Log } from '../observe/log/log.js'
import type { DamageLog } from '../observe/log/worker-log.js'
import type { RequestMeter } from '../observe/measure/request-counters.js'
import type { Rejection, StageSums } from '../observe/measure/requests.js'
import {
  OperationTimes,
  type PartitionTimes,
  type RequestStage,
  type SpentTimes,
} from '../observe/measure/slow-requests.js'
import type { LoopSteps } from '../observe/measure/steps.js'
import type { RequestMemory } from '../threads/shared-memory/request-memory.js'
import type { Switches } from '../threads/shared-memory/switches.js'
import { type Nanoseconds, toMilliseconds } from '../time.js'
import type { Admission } from './admission.js'
import type { Admitted, CheckRules, RefusedRequest } from './checks.js'
import type { ClientAccess } from './client-access.js'
import type { ClientConnection } from './connections.js'
import type { Head } from './headers.js'
import type { ProxyNotice } from './management-access.js'
import type { RequestLife } from './request-life.js'
import type { RequestLog } from './request-log.js'
import type { ReplyInterleaving, ResponseBatch, ResponseWriter } from './response-writer.js'

/** Shared by all requests of a front end. */
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

/** Shared by the requests of one listening socket. */
export interface ServerContext extends FrontEndContext {
  readonly rules: CheckRules
  /** Undefined without keys and rates. */
  readonly access: ClientAccess | undefined
  /** Nothing where no request is taken for one of this machine, or that makes no difference. */
  readonly proxies: ProxyNotice | undefined
  readonly admission: Admission
  readonly responses: ResponseBatch
  readonly interleaving: ReplyInterleaving
  /** Held by requests until their responses have been written. */
  readonly memory: RequestMemory
  /** Held by large responses until they have been sent. */
  readonly responseMemory: RequestMemory
  readonly policy: Options['reqMutexPolicy']
  readonly accessLog: Options['accessLog']
  /** Whether the front end is ending: responses say that their connection will be closed [management 12.2]. */
  stopping: boolean
}

/** The kind of rejection that an error before the operation counts as [management 7]. */
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

/** One request and its response: what `HttpRequest`, `RequestReader` and `ResponseSender` share. */
export interface RequestParts {
  readonly context: ServerContext
  readonly connection: ClientConnection
  readonly incoming: IncomingMessage
  readonly head: Head
  readonly writer: ResponseWriter
  readonly life: RequestLife
  readonly log: RequestLog
  /** Undefined unless the log line of the request shows them. */
  readonly stages: Stages | undefined
  /** Undefined unless stages were timed when the request began. */
  readonly timed: StageSums | undefined
  readonly begun: Nanoseconds
}

/** The steps that a request takes when its reader or its sender has come to an end. */
export interface RequestSteps {
  /** It has passed all checks, and all of it has come. */
  admit(admitted: Admitted): void
  /** A check has refused it. */
  turnDown(refusal: RefusedRequest): void
  /** Refuses it, if there is overload, before its body is read; says whether it did. */
  isOverload(admitted: Admitted): boolean
  /** There is no memory for it. */
  noRoom(): void
  /** Whether no request has come after it on its connection. */
  readonly isLatest: boolean
  /** Its response has been handed to the socket. */
  end(): void
  /** Runs what is called from outside: by the parser, a timer or a promise. A fault ends this request and nothing else. */
  guarded(step: () => void): void
  fail(fault: unknown): void
}

/** How long the stages of one request took, for its line in the log [management 3.1]. */
export class Stages {
  /** The waits of the operation, while slow requests are kept. */
  readonly times = new OperationTimes()
  readonly #taken = new Map<RequestStage, bigint>()
  #since = process.hrtime.bigint()

  /** The stage with this name is over. */
  over(stage: RequestStage): void {
    const now = process.hrtime.bigint()
    this.#taken.set(stage, now - this.#since)
    this.#since = now
  }

  get facts(): Facts {
    return Object.fromEntries(Array.from(this.#taken, ([stage, taken]) => [`${stage}_ns`, String(taken)]))
  }

  /** The stages in the order in which they were over; what the operation did in the slowest of its partitions is taken out of it. */
  get spent(): SpentTimes {
    const slowest = this.times.slowest
    const stages_ms: Partial<Record<RequestStage, number>> = {}
    for (const [stage, taken] of this.#taken) {
      let left = taken
      if (stage === 'operation' && slowest !== undefined) {
        for (const [part, partSpent] of partsOf(slowest)) {
          stages_ms[part] = toMilliseconds(partSpent)
          left -= partSpent
        }
      }
      stages_ms[stage] = toMilliseconds(left > 0n ? left : 0n)
    }
    const { partitions } = this.times
    if (slowest === undefined) return { stages_ms, partitions }
    const { partition, log_ns } = slowest
    return { stages_ms, partitions, partition, log_ms: toMilliseconds(BigInt(log_ns)) }
  }
}

/** The waits of an operation in a partition, in the order of an update; those that took no time are left out. */
function partsOf({
  mailbox_ns,
  decide_ns,
  commit_ns,
  handle_ns,
}: PartitionTimes): readonly (readonly [RequestStage, bigint])[] {
  const parts = [
    ['mailbox', mailbox_ns],
    ['decide', decide_ns],
    ['commit', commit_ns],
    ['handle', handle_ns],
  ] as const
  return parts.filter(([, spent_ns]) => spent_ns > 0).map(([name, spent_ns]) => [name, BigInt(spent_ns)])
}
