import type { Milliseconds, Nanoseconds } from '../../time.js'
import { keptName } from '../log/secrets.js'

/** What takes the time of each stage of a request, in their order, and what a long one says, as operators read it. */
export const stageMeanings = {
  read: { takes: 'its body arrived', whenHigh: 'a slow client' },
  permit: {
    takes: 'it waited for a permit to work',
    whenHigh: 'more arrives than is finished; the other stages say where it is stuck',
  },
  parse: { takes: 'its payload was parsed in the HTTP thread', whenHigh: 'a large payload, or a busy processor' },
  mailbox: {
    takes: 'it waited in the mailbox of its partition, mostly for the turn before',
    whenHigh: 'many updates of one partition, or a slow disk: look at `commit`',
  },
  decide: {
    takes: 'its turn was decided, with all other requests in it',
    whenHigh: 'large updates, or very many subscriptions that match',
  },
  commit: {
    takes: 'its turn was written to the log, synced and applied; `log_ms` is the part of the log',
    whenHigh: 'if it is the log, a slow disk; otherwise large turns, or a long transaction of another process',
  },
  handle: {
    takes: 'it waited for a read handle of its partition',
    whenHigh: 'long scans, or a small `-dbPoolSize`',
  },
  operation: {
    takes: 'the rest of its operation',
    whenHigh: 'a scan and its wait for a query thread, a context provider, the other partitions, a busy HTTP thread',
  },
  render: { takes: 'its response was rendered', whenHigh: 'a large response' },
} as const

export type RequestStage = keyof typeof stageMeanings

/** Where a request spent its time. */
export interface SpentTimes {
  /** The time of each stage in order, as far as it came. The stages of an operation within a partition are separate. */
  readonly stages_ms: Readonly<Partial<Record<RequestStage, number>>>
  /** The number of partitions that it asked. */
  readonly partitions: number
  /** The slowest one of them, whose times are shown. */
  readonly partition?: number
  /** The part of the commit in that partition until the record was durable. */
  readonly log_ms?: number
}

/** A request that took longer than the threshold [console: data]. */
export interface SlowRequest extends SpentTimes {
  /** When its response was ready. */
  readonly time_ms: Milliseconds
  readonly method: string
  /** The pattern of its resource, `unknown` for unknown paths. */
  readonly route: string
  readonly status: number
  readonly request_bytes: number
  readonly response_bytes: number
  /** From its head to its response. */
  readonly duration_ms: number
  /** As received; empty if absent. */
  readonly tenant: string
  readonly path: string
  readonly correlator: string
}

/** The number of slow requests that are kept. */
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

/** The cost of a turn, in ns. */
export interface TurnCost {
  /** The time to decide it. */
  readonly decided_ns: number
  /** The time of its commit: until its record was durable and applied. */
  readonly committed_ns: number
  /** While slow requests are recorded. */
  readonly detail?: TurnDetail
}

/** More about a turn, for the requests that waited for it. */
export interface TurnDetail {
  readonly partition: number
  /** When it began, by the monotonic clock. */
  readonly begun_ns: number
  /** The part of its commit until its record was durable. */
  readonly logged_ns: number
}

/** The waits of an operation in one partition, in ns. */
export interface PartitionTimes {
  readonly partition: number
  /** In the mailbox, until its turns began. */
  mailbox_ns: number
  /** Deciding its turns, other requests in them included. */
  decide_ns: number
  commit_ns: number
  /** The part of `commit_ns` until the records were durable. */
  log_ns: number
  /** Until it had a read handle. */
  handle_ns: number
}

/** A wait for a read handle, by the monotonic clock in ns; it ends where it begins when a handle was free. */
export interface HandleWait {
  readonly partition: number
  readonly from_ns: number
  readonly to_ns: number
}

/** Records waits for read handles. */
export interface HandleTimes {
  /** A read handle was asked for, and is there. */
  handle(wait: HandleWait): void
}

interface Noted extends PartitionTimes {
  /** The last turn that has been counted. */
  turn_ns: number
  /** Everything until this time has been counted, so that concurrent waits count once. */
  until_ns: number
}

/**
 * Where the operation of one request waited, by partition; recorded while slow requests are. Concurrent waits count once, so the
 * times of a partition add up to no more than the operation.
 */
export class OperationTimes implements HandleTimes {
  readonly #partitions = new Map<number, Noted>()

  /**
   * A reply of this turn has come to a command that entered the mailbox then; replies of one partition come in order. Turns that
   * began before recording was switched on have no details.
   */
  turn(entered: Nanoseconds, { decided_ns, committed_ns, detail }: TurnCost): void {
    if (entered === 0n || detail === undefined) return
    const { partition, begun_ns, logged_ns } = detail
    const noted = this.#noted(partition)
    if (begun_ns <= noted.turn_ns) return // The same turn.
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

  /** The number of partitions that were asked. */
  get partitions(): number {
    return this.#partitions.size
  }

  /** The slowest partition; undefined where none was asked. */
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
