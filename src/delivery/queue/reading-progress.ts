import type { Log } from '../../observe/log/log.js'
import type { OutboxNumber } from './outboxes.js'

/** How often a long reading is told of. */
const every_ms = 5000
/** Fewer notices than this are read in a moment, and not told of. */
const worthTelling = 10_000

/**
 * Tells the log how far the reading of the outboxes has come which were read from their beginning.
 *
 *     state   | something is left                  | nothing is left
 *     --------|------------------------------------|----------------
 *     idle    | reading: nothing is read yet       | idle
 *     reading | the first time that it is less, a line if it was much; then a line each 5 s | a line if one was told at the beginning; idle
 */
export class ReadingProgress {
  readonly #log: Pick<Log, 'info'>
  readonly #steady_ms: () => number
  readonly #left = new Map<OutboxNumber, number>()
  #reading: { readonly begun_ms: number; most: number; told_ms: number; isTold: boolean } | undefined

  constructor(log: Pick<Log, 'info'>, steady_ms: () => number) {
    this.#log = log
    this.#steady_ms = steady_ms
  }

  /** So many notices of an outbox are left to be read, at most. */
  left(outbox: OutboxNumber, notices: number): void {
    if (notices > 0) this.#left.set(outbox, notices)
    else this.#left.delete(outbox)
    let left = 0
    for (const own of this.#left.values()) left += own
    const at_ms = this.#steady_ms()
    if (left > 0) this.#goesOn(left, at_ms)
    else this.#ends(at_ms)
  }

  #goesOn(left: number, at_ms: number): void {
    this.#reading ??= { begun_ms: at_ms, most: 0, told_ms: at_ms, isTold: false }
    const reading = this.#reading
    reading.most = Math.max(reading.most, left)
    if (!reading.isTold && reading.most >= worthTelling && left < reading.most) {
      reading.isTold = true
      this.#tell(
        `the outboxes are read while the broker runs: at most ${reading.most} notifications wait in them`,
        left,
      )
    } else if (reading.isTold && at_ms - reading.told_ms >= every_ms) {
      const share = Math.floor((100 * (reading.most - left)) / reading.most)
      this.#tell(`the outboxes are read: ${share} % is done, at most ${left} notifications are left`, left)
    } else return
    reading.told_ms = at_ms
  }

  #ends(at_ms: number): void {
    const reading = this.#reading
    this.#reading = undefined
    if (reading?.isTold) this.#tell(`the outboxes were read in ${((at_ms - reading.begun_ms) / 1000).toFixed(1)} s`, 0)
  }

  #tell(message: string, unread: number): void {
    this.#log.info('notif:backlog', message, { unread })
  }
}
