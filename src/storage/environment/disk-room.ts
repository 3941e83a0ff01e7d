import { statfsSync } from 'node:fs'
import { StorageFull } from '../../faults.js'
import { canGrow } from './disk-fault.js'
import type { WriterSettings } from './environment.js'

/** The pause of growth after a write has failed although the disk seemed to have room: there is a quota, or a limit of file sizes. */
const pause_ms = 1000

/** The least interval of looks at the disk: a look takes a small part of a commit, and little is written in that time. */
const look_ms = 10

/** Below this share of the reserve nothing is written at all. */
const floor = 1 / 8

/** Pages of LMDB that a change of one entity, subscription or notice writes at most beside its content: those of all indexes that name it. */
const pagesPerChange = 8
const page_bytes = 4096

/** What the disk has to have beyond its reserve for turns to be gathered: their transaction writes more at once than that of a turn. */
const ample_bytes = 2 ** 26

/** What is about to be written. */
interface RecordSize {
  /** Of the record in the log. */
  readonly bytes: number
  /** How many entities, subscriptions and notices it changes. */
  readonly changes: number
}

/**
 * What the only writer of an environment knows of the room on its disk. LMDB should never meet a full disk: what removes
 * something writes before it frees anything, and its own handling of that error writes past the end of a buffer, which can
 * end the process. So a part of the disk stays free, in which nothing grows, and no transaction is begun unless it fits
 * beside as large ones of all other writers at the same moment, for which that part is there.
 */
export class DiskRoom {
  readonly #path: string
  readonly #keep_bytes: number
  readonly #writers: number
  readonly #inFile_bytes: () => number
  #free_bytes = Number.POSITIVE_INFINITY
  #isLow = false
  #isAmple = false
  #looked = 0
  /** When growth may be tried again, by `performance.now()`; 0 while no write has failed. */
  #again = 0

  /** `inFile_bytes` gives the free pages of the file, which count as room; called only when the disk has too little. */
  constructor(
    path: string,
    { keepFree_bytes, writers }: Pick<WriterSettings, 'keepFree_bytes' | 'writers'>,
    inFile_bytes: () => number,
  ) {
    this.#path = path
    this.#keep_bytes = keepFree_bytes
    this.#writers = writers
    this.#inFile_bytes = inFile_bytes
    this.look()
  }

  /** Whether there was no room at the last look. */
  get isFull(): boolean {
    return this.#again !== 0 || this.#free_bytes < this.#keep_bytes
  }

  /** Whether the disk itself has too little, whatever is free in the file, as of the last look. */
  get isLow(): boolean {
    return this.#isLow
  }

  /** Whether the disk itself has so much that many turns may be applied at once, as of the last look. */
  get isAmple(): boolean {
    return this.#isAmple && this.#again === 0
  }

  /** Whether growth may be tried, as of the last look. */
  get mayGrow(): boolean {
    return this.#free_bytes >= this.#keep_bytes && (this.#again === 0 || performance.now() >= this.#again)
  }

  /**
   * To be called before turns are gathered, and before a transaction of gathered ones: throws `StorageFull` when not even a removal
   * should be tried.
   *
   * @param gathered_bytes what such a transaction may write at most
   */
  enter(gathered_bytes = 0): void {
    this.lookIfDue()
    this.#enter(gathered_bytes)
  }

  /**
   * To be called before a record is appended to the log and applied at once: throws `StorageFull` when there may not be room for all
   * of that.
   */
  enterAtOnce({ bytes, changes }: RecordSize): void {
    this.look()
    // Its content is written twice: into the log, and by LMDB.
    const own_bytes = 2 * bytes + changes * pagesPerChange * page_bytes
    this.#enter(own_bytes + Math.min((this.#writers - 1) * own_bytes, this.#keep_bytes))
  }

  #enter(needed_bytes: number): void {
    const hasNone = this.#free_bytes < this.#keep_bytes * floor + needed_bytes
    if (hasNone || (this.#again !== 0 && !canGrow(this.#path))) throw new StorageFull('the disk is full')
  }

  /** Notes that a write to the data or the log has failed because there was no space. */
  wasFull(): void {
    this.#again = performance.now() + pause_ms
  }

  /** Notes that the data has grown. */
  hasGrown(): void {
    this.#again = 0
  }

  /** Looks for room unless the last look was a moment ago and found enough. */
  lookIfDue(): void {
    if (this.isFull || this.#isLow || performance.now() - this.#looked >= look_ms) this.look()
  }

  /** Looks for room: it may have been made, or taken, while nothing was written. */
  look(): void {
    this.#looked = performance.now()
    const { bavail, bsize } = statfsSync(this.#path)
    this.#free_bytes = bavail * bsize
    this.#isLow = this.#free_bytes < this.#keep_bytes
    this.#isAmple = this.#free_bytes >= this.#keep_bytes + ample_bytes
    if (this.#isLow) this.#free_bytes += this.#inFile_bytes()
    if (this.#again !== 0 && performance.now() >= this.#again && canGrow(this.#path)) this.#again = 0
  }
}

/** Why a copy of this size does not fit on the disk of a folder, for the operator; undefined when it fits. */
export function noRoomFor(path: string, bytes: number, what: string): string | undefined {
  const { bavail, bsize } = statfsSync(path)
  const free = bavail * bsize
  if (free > bytes) return undefined
  const missing = `${inMiB(bytes - free)} MiB are missing`
  return `${what} needs ${inMiB(bytes)} MiB on the disk of ${path}, which has ${inMiB(free)} MiB free: ${missing}, make room and try again`
}

function inMiB(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20)
}
