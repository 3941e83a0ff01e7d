/**
 * What became of a request that writes. Acknowledged: answered as done. Refused: answered as not done. Unknown: the
 * connection was lost before a response, or the response says that nobody knows; it may have taken effect, once.
 */
export type Result = 'acknowledged' | 'refused' | 'unknown'

/** Milliseconds of one clock of the process that keeps the history; a request that has no end was never answered. */
export interface Interval {
  readonly start_ms: number
  readonly end_ms: number
}

/** One write of a value to an entity. No value is written twice. */
export interface Write extends Interval {
  readonly value: number
  readonly result: Result
}

/** What a read showed: the value of every attribute of the entity, none when there was no such entity. */
export interface Read extends Interval {
  readonly values: readonly number[]
}

/** A notification about an entity, in the order of arrival. */
export interface Arrival {
  readonly subscription: string
  /** The same for every attempt to send one notification. */
  readonly id: string
  readonly values: readonly number[]
}

/** Everything that happened to one entity. */
export interface EntityHistory {
  /** One client writes 1, 2, 3, … one after the other; or several write values of their own, at the same time. */
  readonly writers: 'one' | 'several'
  /** The subscriptions that are told of it from the beginning. */
  readonly subscriptions: readonly string[]
  readonly writes: Write[]
  readonly reads: Read[]
  readonly arrivals: Arrival[]
}

/** All entities, page by page, as one client read them. */
export interface Walk extends Interval {
  readonly entities: readonly string[]
}

/** What clients did and saw, to be checked when all is over. */
export class History {
  readonly entities = new Map<string, EntityHistory>()
  /** The entities that a walk has to show, all made before the first one. */
  readonly walked = new Set<string>()
  readonly walks: Walk[] = []
  /** Responses that are wrong in themselves: no HTTP, no JSON, not what was asked. */
  readonly faults: string[] = []

  /** Names an entity before anything happens to it. */
  add(name: string, writers: EntityHistory['writers'], subscriptions: readonly string[]): EntityHistory {
    const entity: EntityHistory = { writers, subscriptions, writes: [], reads: [], arrivals: [] }
    this.entities.set(name, entity)
    return entity
  }

  /** How many writes ended so. */
  count(result: Result): number {
    let count = 0
    for (const { writes } of this.entities.values()) {
      for (const write of writes) if (write.result === result) count += 1
    }
    return count
  }

  get reads(): number {
    let count = 0
    for (const { reads } of this.entities.values()) count += reads.length
    return count
  }

  get arrivals(): number {
    let count = 0
    for (const { arrivals } of this.entities.values()) count += arrivals.length
    return count
  }
}

/** How many acknowledged values a subscription that has to be told of them was not told of so far. */
export function unnotified(history: History): number {
  let missing = 0
  for (const { subscriptions, writes, arrivals } of history.entities.values()) {
    for (const subscription of subscriptions) {
      const came = new Set<number>()
      for (const arrival of arrivals) if (arrival.subscription === subscription) came.add(arrival.values[0] ?? 0)
      for (const { value, result } of writes) if (result === 'acknowledged' && !came.has(value)) missing += 1
    }
  }
  return missing
}
