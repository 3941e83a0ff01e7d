import type { Nanoseconds } from '../../time.js'
import type { Countable } from './counted-routes.js'

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

/** The times of the stages of one request, while stages are timed. */
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
  /** The codes of the errors in the response, one for each failed part; absent for none. */
  readonly errors?: readonly string[]
  /** Raw values of Fiware-Service and Fiware-ServicePath. */
  readonly service: string | undefined
  readonly servicePath: string | undefined
}
