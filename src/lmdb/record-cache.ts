import { LruCache } from '../lru-cache.js'
import type { Sequence } from '../shared-memory/sequences.js'

/** The record of an entity: its text as it lies on disk. */
export interface HeldRecord {
  readonly sequence: Sequence
  readonly text: string
}

/**
 * The records of entities that were used lately: those of one id in one service path, by the name of both. They are held
 * as texts, because an entity takes several times as much memory, and what takes memory for long costs the collector's time.
 */
export class RecordCache {
  readonly #held: LruCache<readonly HeldRecord[]>
  /** What the transaction under way has changed. */
  readonly #changed = new Map<string, readonly HeldRecord[]>()

  /** Holds at most so many bytes, beside what the transaction under way changes. */
  constructor(limit_bytes: number) {
    this.#held = new LruCache(limit_bytes)
  }

  get(name: string): readonly HeldRecord[] | undefined {
    return this.#changed.get(name) ?? this.#held.get(name)
  }

  /** Holds what was read: all records of the name. */
  read(name: string, records: readonly HeldRecord[]): void {
    this.#held.put(name, records, sizeOf(records))
  }

  /** A record of the name is written within the transaction under way, or removed when there is no text. */
  change(name: string, sequence: Sequence, text: string | undefined): void {
    const before = this.get(name)
    if (before === undefined) return // Nobody knows which others there are.
    const others = before.length === 0 ? before : before.filter((held) => held.sequence !== sequence)
    this.#changed.set(name, text === undefined ? others : [...others, { sequence, text }])
  }

  /** The transaction is on disk. */
  commit(): void {
    for (const [name, records] of this.#changed) this.#held.put(name, records, sizeOf(records))
    this.#changed.clear()
  }

  /** The transaction was not written. */
  rollback(): void {
    this.#changed.clear()
  }
}

const record_bytes = 96

/** Never less than they take: a character of a text may take two bytes. */
function sizeOf(records: readonly HeldRecord[]): number {
  let bytes = 0
  for (const { text } of records) bytes += record_bytes + 2 * text.length
  return bytes
}
