import type { Facts } from '../log/log.js'
import { OperationTimes, type PartitionTimes } from '../measure/operation-times.js'
import type { SpentTimes } from '../measure/slow-requests.js'
import { toMilliseconds } from '../time.js'

/** How long the stages of one request took, for its line in the log [management 3.1]. */
export class Stages {
  /** What the operation waited for, while slow requests are kept. */
  readonly times = new OperationTimes()
  readonly #facts: Record<string, string> = {}
  #since = process.hrtime.bigint()

  /** The stage with this name is over. */
  over(stage: string): void {
    const now = process.hrtime.bigint()
    this.#facts[`${stage}_ns`] = String(now - this.#since)
    this.#since = now
  }

  get facts(): Facts {
    return this.#facts
  }

  /** The stages in the order in which they were over; what the operation did in the slowest of its partitions is taken out of it. */
  get spent(): SpentTimes {
    const slowest = this.times.slowest
    const stages_ms: Record<string, number> = {}
    for (const [name, text] of Object.entries(this.#facts)) {
      const stage = name.slice(0, -'_ns'.length)
      let left = BigInt(text)
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

/** What an operation waits for in a partition, in the order of an update; none that it never came to. */
function partsOf({
  mailbox_ns,
  decide_ns,
  commit_ns,
  handle_ns,
}: PartitionTimes): readonly (readonly [string, bigint])[] {
  const parts = [
    ['mailbox', mailbox_ns],
    ['decide', decide_ns],
    ['commit', commit_ns],
    ['handle', handle_ns],
  ] as const
  return parts.filter(([, spent_ns]) => spent_ns > 0).map(([name, spent_ns]) => [name, BigInt(spent_ns)])
}
