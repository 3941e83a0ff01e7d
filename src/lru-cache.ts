interface Entry<Held> {
  readonly held: Held
  readonly bytes: number
}

/** What an entry takes beside its name and what it holds: its object, and its part of a map that has just grown. */
const entry_bytes = 160

/**
 * What was used lately, by name, in memory that is bounded by bytes. Two generations instead of a list of uses: what is
 * asked for moves to the young one; when that is full, the old one is forgotten and the young one becomes the old.
 */
export class LruCache<Held extends object> {
  readonly #share_bytes: number
  #young = new Map<string, Entry<Held>>()
  #old = new Map<string, Entry<Held>>()
  #young_bytes = 0
  #old_bytes = 0

  /** Holds at most this many bytes, at least half as many before it forgets anything. */
  constructor(limit_bytes: number) {
    this.#share_bytes = limit_bytes / 2
  }

  /** What is held now, in bytes as they were given, with what names and entries take. */
  get bytes(): number {
    return this.#young_bytes + this.#old_bytes
  }

  /** What is held under the name, if it was used lately. */
  get(name: string): Held | undefined {
    const young = this.#young.get(name)
    if (young !== undefined) return young.held
    const old = this.#old.get(name)
    if (old === undefined) return undefined
    this.#add(name, old)
    return old.held
  }

  /**
   * Holds something that takes this many bytes replacing what was held under the name. What is larger than half of
   * the limit is not held.
   */
  put(name: string, held: Held, bytes: number): void {
    const entry = { held, bytes: bytes + 2 * name.length + entry_bytes }
    if (entry.bytes > this.#share_bytes) this.#remove(name)
    else this.#add(name, entry)
  }

  /** Forgets everything. */
  clear(): void {
    this.#young.clear()
    this.#old.clear()
    this.#young_bytes = 0
    this.#old_bytes = 0
  }

  #add(name: string, entry: Entry<Held>): void {
    const before = this.#young.get(name)
    if (before !== undefined) this.#young_bytes -= before.bytes
    if (this.#young_bytes + entry.bytes > this.#share_bytes) {
      // What is replaced is not to be found again. In a map that stays, to set is enough, and much cheaper.
      if (before !== undefined) this.#young.delete(name)
      this.#old = this.#young
      this.#old_bytes = this.#young_bytes
      this.#young = new Map()
      this.#young_bytes = 0
    }
    this.#young.set(name, entry)
    this.#young_bytes += entry.bytes
  }

  #remove(name: string): void {
    this.#young_bytes -= this.#young.get(name)?.bytes ?? 0
    this.#old_bytes -= this.#old.get(name)?.bytes ?? 0
    this.#young.delete(name)
    this.#old.delete(name)
  }
}
