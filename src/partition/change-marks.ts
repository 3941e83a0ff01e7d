import type { EntityId, Tenant } from '../context/entity.js'
import { hashOf } from './shard.js'

/** A change of one id makes readers doubt all ids of its group, so more groups make them doubt less. */
const groups = 2 ** 16
const commitsCell = 0
const firstGroup = 1

/** Which group of ids somebody asks about. */
export type Group = number

/**
 * Tells readers in other threads, without a message, what they may still believe: a counter of the commits of one
 * partition, and one of the changes of each group of ids. Everything acknowledged was counted before.
 */
export class ChangeMarks {
  readonly #cells: Int32Array

  /** The memory of the marks of one partition. */
  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer((firstGroup + groups) * Int32Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory)
  }

  /** The group of an id, the same in every thread. */
  static groupOf(tenant: Tenant, id: EntityId): Group {
    // The low bits have chosen the partition: within one they are all alike.
    return firstGroup + (hashOf(tenant, id) >>> 16)
  }

  get commits(): number {
    return Atomics.load(this.#cells, commitsCell)
  }

  /** How often entities of a group have changed. What was read before it counted up may be old. */
  changesOf(group: Group): number {
    return Atomics.load(this.#cells, group)
  }

  /**
   * A commit is on disk, with changes of these entities. The commit is counted first: who sees that an id has changed
   * must not look for the change in an old snapshot.
   */
  committed(changed: Iterable<{ readonly tenant: Tenant; readonly entity: { readonly id: EntityId } }>): void {
    Atomics.add(this.#cells, commitsCell, 1)
    for (const { tenant, entity } of changed) Atomics.add(this.#cells, ChangeMarks.groupOf(tenant, entity.id), 1)
  }

  /** The partition's thread is another one: what the last one has committed in its end was not counted. */
  doubtAll(): void {
    Atomics.add(this.#cells, commitsCell, 1)
    for (let group = firstGroup; group < firstGroup + groups; group += 1) Atomics.add(this.#cells, group, 1)
  }
}
