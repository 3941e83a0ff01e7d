import { hashOf } from '../../hash.js'

/** A change of one id makes readers doubt all ids of its group, so more groups make them doubt less. */
const groups = 2 ** 16
const commitsCell = 0
const endedCommitsCell = 1
const firstGroup = 2

/** Which group of ids somebody asks about. */
export type VersionGroup = number

/**
 * Tells readers in other threads, without a message, what they may still believe: a counter of the commits of one
 * partition, and one of the changes of each group of ids, each counted up before the commit and, in a second cell, after
 * it. In between some snapshots show the commit and others do not, so nothing that was read before may be shown any
 * more: else one client would see what the next one does not see yet.
 */
export class Versions {
  readonly #cells: Int32Array
  /** The groups that the commit under way changes, as often as it does. */
  readonly #changing: VersionGroup[] = []
  #isCommitting = false

  /** The memory of the versions of one partition. */
  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer((firstGroup + 2 * groups) * Int32Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory)
  }

  /** The group of an id, the same in every thread. */
  static groupOf(tenant: string, id: string): VersionGroup {
    // The low bits have chosen the partition: within one they are all alike.
    return firstGroup + (hashOf(tenant, id) >>> 16)
  }

  /** The number of commits; undefined while one is under way, when every snapshot may be outdated. */
  get commits(): number | undefined {
    return this.#ended(endedCommitsCell, commitsCell)
  }

  /** How often changes of a group have begun. What was read before the count went up may be outdated. */
  changesOf(group: VersionGroup): number {
    return Atomics.load(this.#cells, group)
  }

  /** How often entities of a group have changed; undefined while one of them is changing. */
  endedChangesOf(group: VersionGroup): number | undefined {
    return this.#ended(group + groups, group)
  }

  #ended(endedCell: number, begunCell: number): number | undefined {
    const ended = Atomics.load(this.#cells, endedCell)
    return ended === Atomics.load(this.#cells, begunCell) ? ended : undefined
  }

  /** The partition's thread is about to commit changes of these entities. */
  begin(changed: Iterable<{ readonly tenant: string; readonly entity: { readonly id: string } }>): void {
    this.#isCommitting = true
    Atomics.add(this.#cells, commitsCell, 1)
    for (const { tenant, entity } of changed) {
      const group = Versions.groupOf(tenant, entity.id)
      this.#changing.push(group)
      Atomics.add(this.#cells, group, 1)
    }
  }

  /** The commit that was begun, if any, is on disk or has failed. */
  end(): void {
    if (!this.#isCommitting) return
    this.#isCommitting = false
    Atomics.add(this.#cells, endedCommitsCell, 1)
    for (const group of this.#changing) Atomics.add(this.#cells, group + groups, 1)
    this.#changing.length = 0
  }

  /** The partition has a new thread: the last commits of its predecessor may not have been counted. */
  doubtAll(): void {
    this.#doubt(commitsCell, endedCommitsCell)
    for (let group = firstGroup; group < firstGroup + groups; group += 1) this.#doubt(group, group + groups)
  }

  #doubt(begunCell: number, endedCell: number): void {
    Atomics.store(this.#cells, endedCell, Atomics.add(this.#cells, begunCell, 1) + 1)
  }
}
