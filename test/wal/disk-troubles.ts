import type { Random } from '../fuzz/random.js'
import type { DiskEvent, EventOutcome } from './simulated-disk.js'

/** Heads, or what there is of them, that are made unreadable, and ends of files that are zeroed; no other writes are so short. */
const blank_bytes = 32

/** What goes wrong with a disk, at random. */
export class DiskTroubles {
  /** Whether the disk has no space, or little. */
  isFull = false
  readonly #random: Random
  readonly #story: string[]
  /** Of this many events one is a crash. */
  readonly #crashOnce: number
  readonly #hasFaults: boolean
  #hasFailed = false

  /** @param story gets what went wrong */
  constructor(random: Random, story: string[]) {
    this.#random = random
    this.#story = story
    this.#crashOnce = random.pick([10, 30, 100, 300])
    this.#hasFaults = random.once(3)
  }

  /** Whether the disk has failed in a way after which a log may not go on. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** The machine was started again. */
  end(): void {
    this.isFull = false
    this.#hasFailed = false
  }

  outcome(event: DiskEvent): EventOutcome {
    const outcome = this.#chosen(event)
    if (outcome === 'EIO') this.#hasFailed = true
    if (outcome !== 'works') this.#story.push(`  ${outcome}: ${JSON.stringify(event)}`)
    return outcome
  }

  #chosen(event: DiskEvent): EventOutcome {
    if (this.#random.once(this.#crashOnce)) return 'crash'
    if (this.#hasFaults && this.#random.once(100)) return 'EIO'
    if (!this.isFull || !needsSpace(event) || this.#random.once(3)) return 'works'
    return this.#random.pick(['ENOSPC', 'EDQUOT', 'EFBIG'])
  }
}

/** Flushes and what writes such zeros need no space that the log does not have already. */
function needsSpace(event: DiskEvent): boolean {
  if (event.kind === 'write') return event.grows || event.length > blank_bytes
  return event.kind === 'make' || event.kind === 'rename'
}
