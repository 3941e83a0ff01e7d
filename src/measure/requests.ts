import type { Nanoseconds } from '../time.js'
import type { Countable } from './counted-routes.js'
import type { SlowRequest } from './slow-requests.js'

/** What the HTTP layer reports of its requests and connections; one per front end. */
export interface RequestMeter {
  /** The operation is known and its payload has passed its checks; no resource for an unknown path [management 4.3]. */
  counted(resource: Countable | undefined, verb: string, payload: Payload, wrongVerb: boolean): void
  /** A response has been built and is about to be written [management 6.2, 7]. */
  responded(request: CompletedRequest): void
  /** A request took longer than was asked for. */
  slow(request: SlowRequest): void
  /** A request was turned away before its operation. */
  rejected(reason: Rejection): void
  connectionOpened(): void
  connectionClosed(): void
  requestBegun(): void
  requestEnded(): void
  /** The state of the request semaphore's share of this front end. */
  permits(free: number, taken: number, queued: number): void
  /** How long a stage of a request took, which is noted of it as well; only called while `timingOn`. */
  stage(stage: TimingStage, duration: Nanoseconds, request: StageSums | undefined): void
  /** The last stage of a request is over: what was noted of it becomes `timing.last`. */
  stagesDone(request: StageSums): void
  readonly timingOn: boolean
}

export type Payload = 'json' | 'text' | 'none'

export const timingStages = [
  'jsonV1Parse',
  'jsonV2Parse',
  'mongoBackend',
  'mongoReadWait',
  'mongoWriteWait',
  'exprJexlCtxBld',
  'exprJexlEval',
  'render',
  'total',
] as const
export type TimingStage = (typeof timingStages)[number]

/** How long the stages of one request took together, while stages are timed. */
export class StageSums {
  /** In the order of `timingStages`. */
  readonly durations = new BigUint64Array(timingStages.length)

  add(stage: number, duration: Nanoseconds): void {
    this.durations[stage] = (this.durations[stage] ?? 0n) + duration
  }
}

export const rejections = [
  'too_large',
  'media_type',
  'not_acceptable',
  'malformed',
  'max_connections',
  'unauthorized',
  'forbidden',
  'rate_limit',
  'overload',
  'memory',
  'timeout',
  'evicted',
] as const
export type Rejection = (typeof rejections)[number]

export interface CompletedRequest {
  readonly resource: Countable | undefined
  readonly verb: string
  readonly status: number
  readonly request_bytes: number
  readonly response_bytes: number
  readonly duration: Nanoseconds
  /** The codes of the errors that the response reports, one for each part that failed; none when absent. */
  readonly errors?: readonly string[]
  /** Raw values of Fiware-Service and Fiware-ServicePath. */
  readonly service: string | undefined
  readonly servicePath: string | undefined
}
