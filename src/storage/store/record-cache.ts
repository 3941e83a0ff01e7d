import { LruCache } from '../../lru-cache.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'

/** The record of an entity: its text as it lies on disk. */
export interface HeldRecord {
  readonly sequence: Sequence
  readonly text: string
}

/**
 * The records of entities that were used lately: those of one id in one service path, by the name of both. They are held
 * as texts, because an entity takes several times as much memory, and what takes memory for long costs the collector's time.
 *
 * A turn changes the cache before its transaction commits, so that nothing has to follow the commit. Nobody reads it
 * meanwhile; when the transaction fails, all of it is forgotten.
 */
export class RecordCache {
  readonly #held: LruCache<readonly HeldRecord[]>

  constructor(limit_bytes: number) {
    this.#held = new LruCache(limit_bytes)
  }

  get(name: string): readonly HeldRecord[] | undefined {
    return this.#held.get(name)
  }

  /** Holds all records of the name. */
  put(name: string, records: readonly HeldRecord[]): void {
    this.#held.put(name, records, sizeOf(records))
  }

  /** Notes a record of the name as written, or as removed when there is no text. */
  change(name: string, sequence: Sequence, text: string | undefined): void {
    const before = this.#held.get(name)
    if (before === undefined) return // The other records of the name are unknown.
    const others = before.length === 0 ? before : before.filter((held) => held.sequence !== sequence)
    this.put(name, text === undefined ? others : [...others, { sequence, text }])
  }

  /** Several records of the name were written or removed, the last text of each counts: all at once, since a thousand types may have an id. */
  changeAll(name: string, changes: ReadonlyMap<Sequence, string | undefined>): void {
    const before = this.#held.get(name)
    if (before !== undefined) this.put(name, changed(before, changes))
  }

  clear(): void {
    this.#held.clear()
  }
}

/** The records of a name after some were written, or removed when there is no text. */
export function changed(
  before: readonly HeldRecord[],
  changes: ReadonlyMap<Sequence, string | undefined>,
): readonly HeldRecord[] {
  const records = before.filter(({ sequence }) => !changes.has(sequence))
  for (const [sequence, text] of changes) if (text !== undefined) records.push({ sequence, text })
  return records
}

const record_bytes = 96

/** An upper bound of their memory: a character may take two bytes. */
function sizeOf(records: readonly HeldRecord[]): number {
  let bytes = 0
  for (const { text } of records) bytes += record_bytes + 2 * text.length
  return bytes
}
