import type { Alarms } from '../../observe/log/alarms.js'
import { errorFacts, type Log } from '../../observe/log/log.js'
import type { SweptReply } from '../../partition/turn/commands.js'

interface SweeperParts {
  readonly partitions: number
  /** Whether this node owns a partition now, and so removes its expired entities. */
  readonly isOwner: (partition: number) => boolean
  readonly interval_ms: number
  /** Has a partition carry out one command of a sweep; undefined when it cannot be asked now. */
  readonly sweep: (partition: number) => Promise<SweptReply | undefined>
  /** Counts entities that were removed. */
  readonly expired: (partition: number, entities: number) => void
  readonly log: Log
}

/**
 * Has the partitions remove the entities that have expired: once at the start, then in intervals. Each of them has one
 * command at a time, and what a sweep leaves is left for the next one [NGSIv2 context 3.4].
 */
export class Sweeper {
  readonly #parts: SweeperParts
  readonly #timer: NodeJS.Timeout
  readonly #underWay = new Set<number>()
  #isStopped = false

  constructor(parts: SweeperParts) {
    this.#parts = parts
    this.#timer = setInterval(() => this.#sweepAll(), parts.interval_ms)
    this.#timer.unref()
    this.#sweepAll()
  }

  stop(): void {
    this.#isStopped = true
    clearInterval(this.#timer)
  }

  #sweepAll(): void {
    const { partitions, isOwner, log } = this.#parts
    for (let partition = 0; partition < partitions; partition += 1) {
      if (this.#underWay.has(partition) || !isOwner(partition)) continue
      this.#underWay.add(partition)
      this.#sweep(partition)
        .catch((fault: unknown) =>
          log.error(
            'expiration:sweep',
            `the expired entities of partition ${partition} could not be removed`,
            errorFacts(fault),
          ),
        )
        .finally(() => this.#underWay.delete(partition))
    }
  }

  async #sweep(partition: number): Promise<void> {
    for (;;) {
      const swept = this.#isStopped ? undefined : await this.#parts.sweep(partition)
      if (swept === undefined) return
      this.#parts.expired(partition, swept.removed)
      if (!swept.more || swept.removed === 0) return
    }
  }
}

/** The interval at which the state of the partitions is read. */
const look_ms = 250

/**
 * Raises the alarm of storage while a partition has no room, and releases it when it has [management 10.7]; until the
 * function that it gives is called.
 */
export function watchStorage(partitions: number, isFull: (partition: number) => boolean, alarms: Alarms): () => void {
  const full = new Set<number>()
  const look = (): void => {
    for (let partition = 0; partition < partitions; partition += 1) {
      if (isFull(partition) === full.has(partition)) continue
      if (full.delete(partition)) alarms.release('DatabaseError', `partition ${partition}`)
      else {
        full.add(partition)
        const reason = `storage full in partition ${partition}`
        alarms.raise('DatabaseError', `partition ${partition}`, reason, undefined, 'room')
      }
    }
  }
  const timer = setInterval(look, look_ms).unref()
  return () => clearInterval(timer)
}
