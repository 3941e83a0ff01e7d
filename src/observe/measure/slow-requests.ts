import type { Milliseconds, Nanoseconds } from '../../time.js'
import { keptName } from '../log/secrets.js'

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

/** What a turn cost, in ns. */
export interface TurnCost {
  /** How long it took to decide. */
  readonly decided_ns: number
  /** How long its commit took: until its record was on disk and applied. */
  readonly committed_ns: number
  /** While slow requests are kept. */
  readonly detail?: TurnDetail
}

/** More of a turn, for the requests that waited for it. */
export interface TurnDetail {
  readonly partition: number
  /** When it began, by the monotonic clock. */
  readonly begun_ns: number
  /** As much of its commit as it took until its record was on disk. */
  readonly logged_ns: number
}

/** How long an operation waited in one partition; all in ns. */
export interface PartitionTimes {
  readonly partition: number
  /** In the mailbox, until its turns began. */
  mailbox_ns: number
  /** Of its turns, those of other requests in them included. */
  decide_ns: number
  commit_ns: number
  /** As much of `commit_ns` as it took until the records were on disk. */
  log_ns: number
  /** Until it had a read handle. */
  handle_ns: number
}

/** A wait for a read handle, by the monotonic clock in ns; it ends where it begins when one was free. */
export interface HandleWait {
  readonly partition: number
  readonly from_ns: number
  readonly to_ns: number
}

/** Where waits for read handles are noted. */
export interface HandleTimes {
  /** A read handle was asked for, and is there. */
  handle(wait: HandleWait): void
}

interface Noted extends PartitionTimes {
  /** The last turn that has been counted. */
  turn_ns: number
  /** Until when everything has been counted, so that nothing is counted twice that went on at the same time. */
  until_ns: number
}

/**
 * Where the operation of one request waited, by partition: taken while slow requests are kept. What goes on at the same time
 * counts once, so the times of a partition are together no longer than the operation.
 */
export class OperationTimes implements HandleTimes {
  readonly #partitions = new Map<number, Noted>()

  /**
   * A reply of this turn has come to a command that entered the mailbox then; those of a partition are told of in their order.
   * Nothing is known of what was under way when it was switched on.
   */
  turn(entered: Nanoseconds, { decided_ns, committed_ns, detail }: TurnCost): void {
    if (entered === 0n || detail === undefined) return
    const { partition, begun_ns, logged_ns } = detail
    const noted = this.#noted(partition)
    if (begun_ns <= noted.turn_ns) return // Of the same turn.
    noted.mailbox_ns += Math.max(0, begun_ns - Math.max(Number(entered), noted.until_ns))
    noted.decide_ns += decided_ns
    noted.commit_ns += committed_ns
    noted.log_ns += logged_ns
    noted.turn_ns = begun_ns
    noted.until_ns = begun_ns + decided_ns + committed_ns
  }

  handle({ partition, from_ns, to_ns }: HandleWait): void {
    const noted = this.#noted(partition)
    noted.handle_ns += Math.max(0, to_ns - Math.max(from_ns, noted.until_ns))
    noted.until_ns = Math.max(noted.until_ns, to_ns)
  }

  /** How many partitions were asked. */
  get partitions(): number {
    return this.#partitions.size
  }

  /** The partition that took longest; nothing where none was asked. */
  get slowest(): PartitionTimes | undefined {
    let slowest: Noted | undefined
    for (const each of this.#partitions.values()) {
      if (slowest === undefined || sumOf(each) > sumOf(slowest)) slowest = each
    }
    return slowest
  }

  #noted(partition: number): Noted {
    const known = this.#partitions.get(partition)
    if (known !== undefined) return known
    const none = { mailbox_ns: 0, decide_ns: 0, commit_ns: 0, log_ns: 0, handle_ns: 0 }
    const noted = { partition, ...none, turn_ns: 0, until_ns: 0 }
    this.#partitions.set(partition, noted)
    return noted
  }
}

function sumOf({ mailbox_ns, decide_ns, commit_ns, handle_ns }: PartitionTimes): number {
  return mailbox_ns + decide_ns + commit_ns + handle_ns
}
