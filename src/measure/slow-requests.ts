import { keptName } from '../log/secrets.js'
import type { Milliseconds } from '../time.js'

/** Where a request spent its time. */
export interface SpentTimes {
  /** How long each stage took, in their order, as far as it came. Those of the operation that are spent in a partition stand apart. */
  readonly stages_ms: Readonly<Record<string, number>>
  /** How many partitions it asked. */
  readonly partitions: number
  /** The one of them whose times are shown, because it took longest. */
  readonly partition?: number
  /** As much of the commit in that partition as it took until the record was on disk. */
  readonly log_ms?: number
}

/** A request that took longer than was asked for [console: data]. */
export interface SlowRequest extends SpentTimes {
  /** When its answer was ready. */
  readonly time_ms: Milliseconds
  readonly method: string
  /** The pattern of its resource, `unknown` for unknown paths. */
  readonly route: string
  readonly status: number
  readonly request_bytes: number
  readonly response_bytes: number
  /** From its head to its answer. */
  readonly duration_ms: number
  /** As they came; empty without. */
  readonly tenant: string
  readonly path: string
  readonly correlator: string
}

/** As many are kept. */
export const mostSlow = 256

/** The last slow requests of one front end. */
export class SlowRequests {
  readonly #kept: SlowRequest[] = []
  #next = 0

  add(request: SlowRequest): void {
    const { tenant, path, correlator } = request
    this.#kept[this.#next] = {
      ...request,
      tenant: keptName(tenant),
      path: keptName(path),
      correlator: keptName(correlator),
    }
    this.#next = (this.#next + 1) % mostSlow
  }

  /** In no order. */
  get all(): readonly SlowRequest[] {
    return this.#kept
  }
}
