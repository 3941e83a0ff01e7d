import { randomInt } from 'node:crypto'
import { fnv1a } from '../../hash.js'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { HeldRecord } from './record-cache.js'

/** Odd while the records are being removed. */
const epochCell = 0
/** How many turns were published, and how many of them LMDB has. They wrap around. */
const publishedCell = 1
const appliedCell = 2
/** Not 0 when a reader waits for LMDB. */
const wantedCell = 3
/** Where hashes begin, by chance: nobody can choose names whose hashes are alike, which would make every search long. */
const seedCell = 4
/** The number of the last notice that was published, in 64 bits, which the cells 6 and 7 have together. */
const lastNoticeCell = 3
const firstSlot = 8
const slots = 2 ** 14

/** The most names that are held at one time: a table that is half full is searched fast. */
const mostNames = slots / 2

/** How many bytes of records are held, unless a test wants less. */
export const memtable_bytes = 2 ** 22

/** Size, hash of the name, length of the name, number of records, where the record before it of a list is, each in 32 bits. */
const head_bytes = 20
/** A sequence in 64 bits, the length of its text in 32. */
const recordHead_bytes = 12

/** A UTF-16 unit takes at most three bytes of UTF-8. */
export const unit_bytes = 3

/** The records of one id in one service path. */
export interface NamedRecords {
  /** The name of the id in all paths. */
  readonly idName: string
  readonly path: string
  /** All of them, in no order. */
  readonly records: readonly HeldRecord[]
}

/** By the names of ids in their paths. */
export type PublishedRecords = ReadonlyMap<string, NamedRecords>

/** A notice of its own, as it is stored. */
export interface PublishedNotice {
  readonly number: NoticeNumber
  readonly text: string
}

/**
 * The records and notices that stand in the log of a partition and not yet in LMDB, in memory that all threads share. The partition's
 * thread writes; other threads read the records of one name here, and of all others in LMDB, which they wait for when they need a
 * snapshot of everything. The courier reads notices here, and before these those that LMDB has.
 *
 * A name is held with all of its records, so whoever finds it needs nothing else; an id with the paths in which it is held. What was
 * written stays as it is until everything is removed at once, which is behind LMDB's commit: who finds nothing, or meets the removal,
 * finds it in a snapshot that is taken after that.
 */
export class Memtable {
  readonly #cells: Int32Array
  readonly #wideCells: BigInt64Array
  readonly #bytes: Buffer
  #end = 0
  #names = 0

  static memory(memory_bytes = memtable_bytes): SharedArrayBuffer {
    const memory = new SharedArrayBuffer((firstSlot + slots) * Int32Array.BYTES_PER_ELEMENT + memory_bytes)
    new Int32Array(memory)[seedCell] = randomInt(2 ** 32)
    return memory
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory, 0, firstSlot + slots)
    this.#wideCells = new BigInt64Array(memory, 0, firstSlot / 2)
    this.#bytes = Buffer.from(memory, this.#cells.byteLength)
  }

  /** All records of a name in its service path, in no order; undefined when LMDB has them. */
  get(name: string): readonly HeldRecord[] | undefined {
    const found = this.#find(name)
    return found && recordsIn(found.copy)
  }

  /**
   * The paths in which an id has records here, by its name in all paths. LMDB has those of all others, and all of them if one of these
   * is not found any more.
   */
  pathsOf(idName: string): readonly string[] {
    const first = this.#find(idName)
    if (first === undefined) return []
    const paths: string[] = []
    for (let copy = first.copy; ; ) {
      for (const { text } of recordsIn(copy)) paths.push(text)
      const before = copy.readInt32LE(16)
      if (before === 0) return paths
      const next = this.#copyOf(before, first.epoch)
      if (next === undefined) return []
      copy = next
    }
  }

  #find(name: string): { readonly copy: Buffer; readonly epoch: number } | undefined {
    const epoch = Atomics.load(this.#cells, epochCell)
    if (epoch % 2 !== 0) return undefined
    const hash = this.#hashOf(name)
    for (let at = hash; ; at += 1) {
      const held = Atomics.load(this.#cells, slotAt(at))
      if (held === 0) return undefined
      if (this.#bytes.readInt32LE(held + 4) === hash) {
        const copy = this.#copyOf(held, epoch)
        if (copy === undefined) return undefined
        if (nameIn(copy) === name) return { copy, epoch }
      } else if (!this.#isStill(epoch)) return undefined
    }
  }

  /** A copy of what begins at a position, unless it was removed meanwhile. */
  #copyOf(from: number, epoch: number): Buffer | undefined {
    const size = this.#bytes.readInt32LE(from)
    if (!this.#isStill(epoch)) return undefined
    const copy = Buffer.from(this.#bytes.subarray(from, from + size))
    return this.#isStill(epoch) ? copy : undefined
  }

  /** The text of a notice; undefined when LMDB has it, and where it has left since. */
  notice(number: NoticeNumber): string | undefined {
    return this.get(noticeName(number))?.[0]?.text
  }

  /** The number of the last notice that was ever published here; 0 before the first. */
  get lastNotice(): NoticeNumber {
    return Number(Atomics.load(this.#wideCells, lastNoticeCell))
  }

  /** Whether all of these can be published now; `notices` are the texts of notices. */
  fits(all: PublishedRecords, notices: readonly string[] = []): boolean {
    if (this.#names + 2 * all.size + notices.length > mostNames) return false
    let bytes = 0
    for (const [name, named] of all) bytes += largestSize(name, named)
    for (const text of notices)
      bytes += 8 + head_bytes + recordHead_bytes + unit_bytes * (noticeName_units + text.length)
    return this.#firstFree + bytes <= this.#bytes.length
  }

  /**
   * Publishes a turn: for each name all of its records, an empty list when it has none any more, and its notices, whose numbers follow
   * those of the last ones. To be asked for before: `fits`.
   */
  publish(all: PublishedRecords, notices: readonly PublishedNotice[] = []): void {
    // First, so that nobody who has seen a record of the turn takes a snapshot for complete that lacks it.
    Atomics.add(this.#cells, publishedCell, 1)
    for (const [name, { records, idName, path }] of all) {
      const before = this.#put(name, records)
      if (before === 0) this.#put(idName, [{ sequence: 0 as Sequence, text: path }], 'list')
    }
    for (const { number, text } of notices) this.#put(noticeName(number), [{ sequence: 0 as Sequence, text }])
    const last = notices.at(-1)
    // Last, so that whoever has seen the number finds the notices up to it, here or in a snapshot that is taken after that.
    if (last !== undefined) Atomics.store(this.#wideCells, lastNoticeCell, BigInt(last.number))
  }

  /** LMDB has everything that was published: removes it, and lets go on who waits for that. */
  applied(): void {
    // Odd already where a thread has ended in the midst of this.
    const removing = Atomics.load(this.#cells, epochCell) | 1
    Atomics.store(this.#cells, epochCell, removing)
    this.#cells.fill(0, firstSlot)
    this.#end = 0
    this.#names = 0
    Atomics.store(this.#cells, epochCell, removing + 1)
    Atomics.store(this.#cells, appliedCell, Atomics.load(this.#cells, publishedCell))
    Atomics.notify(this.#cells, appliedCell)
  }

  /** Whether new snapshots of LMDB show everything that was published. */
  get isApplied(): boolean {
    return Atomics.load(this.#cells, appliedCell) === Atomics.load(this.#cells, publishedCell)
  }

  /**
   * Resolves when new snapshots show everything that is published now, or after the time limit: says whether they do. Reader and
   * partition agree by three cells:
   *
   * | who       | when                      | what                                                                            |
   * |-----------|---------------------------|---------------------------------------------------------------------------------|
   * | partition | a turn is published       | counts it as published, then writes its records                                 |
   * | reader    | it needs a snapshot       | remembers the count, sets `wanted`, sleeps until as many are applied or it is late |
   * | partition | `wanted` is set           | clears it, then has LMDB follow, unless the disk is full                        |
   * | partition | LMDB has all              | removes the records, sets applied to published, wakes all who sleep             |
   *
   * Whoever has seen a record has it in the count. Who sets `wanted` while LMDB follows is heard: it was cleared before.
   */
  async whenApplied(limit_ms: number): Promise<boolean> {
    const ask = this.#asking(limit_ms)
    for (let answer = ask(); ; answer = ask()) {
      if (typeof answer === 'boolean') return answer
      const waiting = Atomics.waitAsync(this.#cells, appliedCell, answer.held, answer.left_ms)
      if (waiting.async) await waiting.value
    }
  }

  /** As `whenApplied`, for a thread that must not do anything else meanwhile: it sleeps. */
  waitUntilApplied(limit_ms: number): boolean {
    const ask = this.#asking(limit_ms)
    for (let answer = ask(); ; answer = ask()) {
      if (typeof answer === 'boolean') return answer
      Atomics.wait(this.#cells, appliedCell, answer.held, answer.left_ms)
    }
  }

  /** Asks for LMDB to follow: true when it has, false when the time is over, else how long to wait for another value than the one held. */
  #asking(limit_ms: number): () => boolean | { readonly held: number; readonly left_ms: number } {
    const target = Atomics.load(this.#cells, publishedCell)
    const until_ms = performance.now() + limit_ms
    return () => {
      const held = Atomics.load(this.#cells, appliedCell)
      if (((held - target) | 0) >= 0) return true
      const left_ms = until_ms - performance.now()
      if (left_ms <= 0) return false
      Atomics.store(this.#cells, wantedCell, 1)
      Atomics.notify(this.#cells, wantedCell)
      return { held, left_ms }
    }
  }

  /** In the partition's thread: calls a function whenever a reader waits for LMDB, until the signal is aborted. */
  async whenWanted(apply: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const waiting = Atomics.waitAsync(this.#cells, wantedCell, 0)
      if (waiting.async) await waiting.value
      if (signal.aborted) return
      Atomics.store(this.#cells, wantedCell, 0)
      apply()
    }
  }

  /** Writes records of a name, in place of what was there or before it in a list; gives where that begins, 0 if there was nothing. */
  #put(name: string, records: readonly HeldRecord[], as: 'only' | 'list' = 'only'): number {
    const start = this.#firstFree
    const hash = this.#hashOf(name)
    let end = start + head_bytes + recordHead_bytes * records.length
    const length = this.#bytes.write(name, end)
    end += length
    for (const [at, { sequence, text }] of records.entries()) {
      const size = this.#bytes.write(text, end)
      const head = start + head_bytes + recordHead_bytes * at
      this.#bytes.writeDoubleLE(sequence, head)
      this.#bytes.writeInt32LE(size, head + 8)
      end += size
    }
    this.#bytes.writeInt32LE(end - start, start)
    this.#bytes.writeInt32LE(hash, start + 4)
    this.#bytes.writeInt32LE(length, start + 8)
    this.#bytes.writeInt32LE(records.length, start + 12)
    this.#end = end
    const slot = this.#slotOf(name, hash)
    const before = this.#cells[slot] ?? 0
    this.#bytes.writeInt32LE(as === 'list' ? before : 0, start + 16)
    Atomics.store(this.#cells, slot, start)
    return before
  }

  /** The slot of a name, or the free one for it. */
  #slotOf(name: string, hash: number): number {
    for (let at = hash; ; at += 1) {
      const slot = slotAt(at)
      const held = this.#cells[slot] ?? 0
      if (held === 0) {
        this.#names += 1
        return slot
      }
      if (this.#bytes.readInt32LE(held + 4) === hash && nameIn(this.#bytes.subarray(held)) === name) return slot
    }
  }

  #hashOf(name: string): number {
    return fnv1a(name, this.#cells[seedCell]) | 0
  }

  /** Slots hold where a record begins: never 0, which is a free slot. */
  get #firstFree(): number {
    return Math.ceil((this.#end + 1) / 4) * 4
  }

  #isStill(epoch: number): boolean {
    return Atomics.load(this.#cells, epochCell) === epoch
  }
}

/** Tenants, with which the names of entities begin, have no such character. */
function noticeName(number: NoticeNumber): string {
  return `#${number}`
}

/** The longest name of a notice: all digits of the largest number that is exact. */
const noticeName_units = 17

function slotAt(at: number): number {
  return firstSlot + (at & (slots - 1))
}

function largestSize(name: string, { records, idName, path }: NamedRecords): number {
  let units = name.length + idName.length + path.length
  for (const { text } of records) units += text.length
  return 2 * (8 + head_bytes) + recordHead_bytes * (records.length + 1) + unit_bytes * units
}

function nameIn(bytes: Buffer): string {
  const from = head_bytes + recordHead_bytes * bytes.readInt32LE(12)
  return bytes.toString('utf8', from, from + bytes.readInt32LE(8))
}

function recordsIn(bytes: Buffer): readonly HeldRecord[] {
  const count = bytes.readInt32LE(12)
  let from = head_bytes + recordHead_bytes * count + bytes.readInt32LE(8)
  return Array.from({ length: count }, (_, at) => {
    const head = head_bytes + recordHead_bytes * at
    const to = from + bytes.readInt32LE(head + 8)
    const text = bytes.toString('utf8', from, to)
    from = to
    return { sequence: bytes.readDoubleLE(head) as Sequence, text }
  })
}
