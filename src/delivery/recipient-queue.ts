import type { SubscriptionId } from '../subscription/subscription.js'
import { type Milliseconds, now } from '../time.js'
import type { Entry, EntryLine } from './entry.js'
import { Watermark } from './limits.js'
import { isSuperseded, Lineup, type LineupParts } from './lineup.js'
import type { Recipient } from './message.js'
import type { Failed } from './outcome.js'
import type { Arrived } from './source.js'

export interface QueueParts extends LineupParts {
  /** How long to pause after so many failures in a row. */
  readonly pause_ms: (failures: number, retryAfter_ms: number) => number
  /** Something may be sent now that could not be sent before. */
  readonly wake: (queue: RecipientQueue) => void
}

/** What one subscription has to be sent, with the pauses that failures ask for [subscriptions 5.4]. */
export class RecipientQueue {
  readonly id: SubscriptionId
  /** Not known when its notices came before it. */
  recipient: Recipient | undefined
  /** Whether nothing is begun until the subscription is put. */
  held = false
  /** Notices that wait or are under way, and their bytes. */
  depth = 0
  bytes = 0
  /** Whether it has ended: an attempt that is still under way changes nothing any more. */
  ended = false
  /** Whether a drop was warned of since the last delivery. */
  dropWarned = false
  readonly fullness = new Watermark()
  readonly lineup: Lineup
  readonly #parts: QueueParts
  /** Failures in a row. */
  #failures = 0
  #pause: { readonly until: Milliseconds; readonly timer: NodeJS.Timeout } | undefined
  /** After a pause one goes first, and the others when it is accepted. */
  #probing = false
  #probe: Entry | undefined
  /** Tells attempts that were begun before a pause or a change: their failures are no further ones in a row. */
  #volley = 0

  constructor(id: SubscriptionId, parts: QueueParts) {
    this.id = id
    this.#parts = parts
    this.lineup = new Lineup(parts, () => parts.wake(this))
  }

  /** Puts a notice behind all others; gives the one that it makes pointless. */
  add(arrived: Arrived): Entry | undefined {
    this.depth += 1
    this.bytes += arrived.numbered.size_bytes
    return this.lineup.add(arrived)
  }

  /** Whether there may be something to send now. */
  get mayBegin(): boolean {
    if (this.recipient === undefined || this.held || this.#pause !== undefined) return false
    if (this.#probing && this.#probe !== undefined) return false
    return this.lineup.hasReady && this.recipient.expires > now()
  }

  /** The next one to send, which is under way from now on. */
  begin(): Entry | undefined {
    const entry = this.mayBegin ? this.lineup.begin() : undefined
    if (entry === undefined) return undefined
    entry.volley = this.#volley
    if (this.#probing) this.#probe = entry
    return entry
  }

  /** It was accepted: it is gone, and failures are forgotten. */
  accepted(entry: Entry): void {
    this.#failures = 0
    entry.line.failures = 0
    if (entry.volley === this.#volley) this.#probing = false
    if (this.#probe === entry) this.#probe = undefined
    this.remove(entry)
    this.#parts.wake(this)
  }

  /**
   * An attempt failed: it stays first in its line and a pause begins, of the line when it was refused, of the
   * subscription when there was trouble. True when it has become pointless meanwhile and is to be dropped.
   */
  failed(entry: Entry, { kind, retryAfter_ms = 0 }: Failed): boolean {
    const { line, volley } = entry
    if (this.#probe === entry) this.#probe = undefined
    const pointless = entry.doomed || isSuperseded(entry, line.waiting.first?.made)
    this.lineup.putBack(entry)
    const current = volley === this.#volley
    if (kind === 'trouble' && current) this.#pauseAll(retryAfter_ms)
    if (kind === 'refused' && (current || this.#pause !== undefined)) this.#pauseLine(line, retryAfter_ms)
    // Behind the other lines: the first one after the pause should not always be the same.
    this.lineup.offer(line)
    this.#parts.wake(this)
    return pointless
  }

  /** It leaves for good: it was under way, or it is the first that waits in its line. */
  remove(entry: Entry): void {
    this.depth -= 1
    this.bytes -= entry.size_bytes
    this.lineup.remove(entry)
  }

  /** The subscription is new or was changed: failures are forgotten, what waits starts at once. */
  put(recipient: Recipient): void {
    this.recipient = recipient
    this.held = false
    this.#failures = 0
    this.#volley += 1
    this.#probing = false
    this.#endPauses()
    this.#parts.wake(this)
  }

  /** Nothing is begun any more. */
  end(): void {
    this.ended = true
    this.recipient = undefined
    this.#endPauses()
  }

  /** When the pause of the subscription ends. */
  get nextAttempt(): Milliseconds | undefined {
    return this.#pause?.until
  }

  #pauseAll(retryAfter_ms: number): void {
    this.#failures += 1
    this.#volley += 1
    this.#probing = true
    const pause_ms = this.#parts.pause_ms(this.#failures, retryAfter_ms)
    const until = (now() + Math.round(pause_ms)) as Milliseconds
    const timer = later(pause_ms, () => {
      this.#pause = undefined
      this.#parts.wake(this)
    })
    this.#pause = { until, timer }
  }

  #pauseLine(line: EntryLine, retryAfter_ms: number): void {
    line.failures += 1
    line.pause = later(this.#parts.pause_ms(line.failures, retryAfter_ms), () => {
      line.pause = undefined
      this.lineup.offer(line)
      this.lineup.forgetIdle(line)
      this.#parts.wake(this)
    })
  }

  #endPauses(): void {
    clearTimeout(this.#pause?.timer)
    this.#pause = undefined
    for (const line of this.lineup.lines) {
      line.failures = 0
      clearTimeout(line.pause)
      line.pause = undefined
      this.lineup.offer(line)
    }
  }
}

function later(delay_ms: number, act: () => void): NodeJS.Timeout {
  return setTimeout(act, delay_ms).unref()
}
