import { createHistogram, performance } from 'node:perf_hooks'
import { sinceStamp_ms } from './stamp.js'

/** How many notifications have come, and how old they were. */
export interface DelaysReply {
  readonly received: number
  /** From the first one to the last. */
  readonly lasted_ms: number
  readonly p50_ms: number
  readonly p90_ms: number
  readonly p99_ms: number
  readonly max_ms: number
}

/** The reading that an update carried as the moment when it was sent. */
const reading = /"value":"(\d{9})"/

/** Counts notifications and how old they are. */
export class Delays {
  #delays = newHistogram()
  #received = 0
  #first_ms = 0
  #last_ms = 0

  /** Takes the body of a notification that has just come. */
  note(body: string): void {
    const stamped = reading.exec(body)?.[1]
    if (stamped !== undefined) this.#delays.record(Math.max(1, Math.round(sinceStamp_ms(Number(stamped)) * 1e6)))
    this.#last_ms = performance.now()
    if (this.#received === 0) this.#first_ms = this.#last_ms
    this.#received += 1
  }

  /** What has come since the last reset. */
  report(): DelaysReply {
    const percentile = (percent: number): number => (this.#received === 0 ? 0 : this.#delays.percentile(percent) / 1e6)
    return {
      received: this.#received,
      lasted_ms: this.#last_ms - this.#first_ms,
      p50_ms: percentile(50),
      p90_ms: percentile(90),
      p99_ms: percentile(99),
      max_ms: this.#received === 0 ? 0 : this.#delays.max / 1e6,
    }
  }

  reset(): void {
    this.#received = 0
    this.#delays = newHistogram()
  }
}

function newHistogram() {
  return createHistogram({ figures: 3, lowest: 1, highest: 1e12 })
}
