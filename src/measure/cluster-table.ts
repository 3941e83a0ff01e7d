import { CounterTable, type CounterTableMemory } from '../shared-memory/counter-table.js'
import type { Nanoseconds } from '../time.js'
import { type BucketReading, durationBuckets } from './buckets.js'

const states = ['isOfSeveral', 'hasLease', 'listed', 'members', 'owned', 'unowned', 'unreached'] as const
type State = (typeof states)[number]

const batchDurations = states.length
const width = batchDurations + durationBuckets.width

/** How things stand with one of several nodes, as its main thread knows them. */
export interface NodeStanding {
  readonly hasLease: boolean
  /** The nodes of the cluster, those that are members, the partitions that this one owns, and those that nobody is known to own. */
  readonly listed: number
  readonly members: number
  readonly owned: number
  readonly unowned: number
  /** Partitions whose owners this node does not reach. */
  readonly unreached: number
}

/** One of several nodes and its work with others: a row for each front end, of which the first is the main thread. */
export class ClusterTable {
  readonly #table: CounterTable

  static make(frontEnds: number, at: Nanoseconds): CounterTableMemory {
    return CounterTable.make(frontEnds, width, 0, at).memory
  }

  constructor(memory: CounterTableMemory) {
    this.#table = new CounterTable(memory)
  }

  /** For the main thread of one of several nodes, and no other. */
  stand({ hasLease, ...counts }: NodeStanding): void {
    const put = (state: State, value: number): void => this.#table.put(0, states.indexOf(state), BigInt(value))
    put('listed', counts.listed)
    put('members', counts.members)
    put('owned', counts.owned)
    put('unowned', counts.unowned)
    put('unreached', counts.unreached)
    put('hasLease', hasLease ? 1 : 0)
    put('isOfSeveral', 1)
  }

  /** Nothing of a broker that is not one of several nodes. */
  get standing(): NodeStanding | undefined {
    const state = (name: State): number => Number(this.#table.cell(0, states.indexOf(name)))
    if (state('isOfSeveral') === 0) return undefined
    const [listed, members] = [state('listed'), state('members')]
    const [owned, unowned, unreached] = [state('owned'), state('unowned'), state('unreached')]
    return { hasLease: state('hasLease') === 1, listed, members, owned, unowned, unreached }
  }

  /** A batch of commands of a front end was answered by another node. */
  answered(frontEnd: number, duration: Nanoseconds): void {
    durationBuckets.record(this.#table, frontEnd, batchDurations, duration)
  }

  /** In seconds, of all front ends. */
  get batchDurations(): BucketReading {
    return durationBuckets.reading((column) => this.#table.total(column), batchDurations)
  }
}
