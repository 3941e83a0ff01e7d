import { hashOf } from '../../hash.js'

/** A change of one id invalidates all ids of its group in readers' caches, so more groups mean fewer invalidations. */
const groups = 2 ** 16
const commitsCell = 0
const endedCommitsCell = 1
const firstGroup = 2

export type VersionGroup = number

/**
 * Tells readers in other threads, without messages, whether their caches are valid: a counter of one partition's commits, and one
 * of the changes of each group of ids, each counted up before the commit and, in a second cell, after it. In between, some
 * snapshots show the commit and others do not, so nothing from a cache may be shown: otherwise one client would see what the next
 * one does not see yet.
 */
export class Versions {
  readonly #cells: Int32Array
  /** The groups that the commit under way changes, one element per change. */
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
    // The low bits choose the partition, so they are the same within one.
    return firstGroup + (hashOf(tenant, id) >>> 16)
  }

  /** The number of commits; undefined while one is under way, when every snapshot may be outdated. */
  get commits(): number | undefined {
    return this.#ended(endedCommitsCell, commitsCell)
  }

  /** How often changes of a group have begun. Anything read before this number grew may be outdated. */
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

  /**
   * The partition's thread is about to make changes of these entities visible: by a commit, or in its memtable alone, so that snapshots
   * stay as they are.
   */
  begin(
    changed: Iterable<{ readonly tenant: string; readonly entity: { readonly id: string } }>,
    by: 'commit' | 'memtable' = 'commit',
  ): void {
    if (by === 'commit') {
      this.#isCommitting = true
      Atomics.add(this.#cells, commitsCell, 1)
    }
    for (const { tenant, entity } of changed) {
      const group = Versions.groupOf(tenant, entity.id)
      this.#changing.push(group)
      Atomics.add(this.#cells, group, 1)
    }
  }

  /** What was begun, if anything, is visible or has failed. */
  end(): void {
    if (this.#isCommitting) Atomics.add(this.#cells, endedCommitsCell, 1)
    this.#isCommitting = false
    for (const group of this.#changing) Atomics.add(this.#cells, group + groups, 1)
    this.#changing.length = 0
  }

  /**
   * Invalidates everything: the partition has a new thread, and the last commits of its predecessor may not have been counted.
   */
  invalidateAll(): void {
    this.#invalidate(commitsCell, endedCommitsCell)
    for (let group = firstGroup; group < firstGroup + groups; group += 1) this.#invalidate(group, group + groups)
  }

  #invalidate(begunCell: number, endedCell: number): void {
    Atomics.store(this.#cells, endedCell, Atomics.add(this.#cells, begunCell, 1) + 1)
  }
}
