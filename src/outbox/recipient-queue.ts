import type { Line, Notice, NoticeNumber } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { type Milliseconds, now } from '../time.js'
import { type Entry, type EntryLine, EntryList } from './entry.js'
import { Fifo } from './fifo.js'
import { Watermark } from './limits.js'
import type { Recipient } from './message.js'
import type { Failed } from './outcome.js'
import type { NumberedNotice, SourceNumber } from './source.js'

export interface QueueParts {
  /** How far the notices of an outbox are known. */
  readonly known: (source: SourceNumber) => NoticeNumber
  /** The number of the coordinator's outbox. */
  readonly coordinator: SourceNumber
  /** How long to pause after so many failures in a row. */
  readonly pause_ms: (failures: number, retryAfter_ms: number) => number
  /** Something may be sent now that could not be sent before. */
  readonly wake: (queue: RecipientQueue) => void
}

/**
 * What one subscription has to be sent: lines that run beside each other, one notification of each under way, barriers
 * that part what was made before them from what was made after, and the pauses of failures [subscriptions 5.2, 5.4].
 */
export class RecipientQueue {
  readonly id: SubscriptionId
  /** Not known when its notices came before it. */
  recipient: Recipient | undefined
  /** Whether nothing is begun until the subscription is put. */
  held = false
  depth = 0
  bytes = 0
  /** Whether it has ended: an attempt that is still under way changes nothing any more. */
  ended = false
  /** Whether a drop was warned of since the last delivery. */
  dropWarned = false
  readonly fullness = new Watermark()
  readonly #parts: QueueParts
  readonly #lines = new Map<string, EntryLine>()
  readonly #lists = new Map<SourceNumber, EntryList>()
  /** Lines that may have something to send, each once; the one that was served longest ago comes first. */
  readonly #ready = new Fifo<EntryLine>()
  /** Lines whose first one comes after a barrier. */
  #behind: EntryLine[] = []
  readonly #barriers = new Fifo<Entry>()
  /** Failures in a row [subscriptions 5.4]. */
  #failures = 0
  #pause: { readonly until: Milliseconds; readonly timer: NodeJS.Timeout } | undefined
  /** After a pause one goes first, and the others when it is accepted. */
  #probing = false
  #probe: Entry | undefined
  /** Tells attempts that were begun before a pause, whose failures are no further ones in a row. */
  #volley = 0

  constructor(id: SubscriptionId, parts: QueueParts) {
    this.id = id
    this.#parts = parts
  }

  /** Puts a notice behind all others; gives the one that it makes pointless [subscriptions 3.6]. */
  add(source: SourceNumber, { number, size_bytes, notice }: NumberedNotice, tried: boolean): Entry | undefined {
    const line = this.#lineOf(notice.line)
    const barrier = this.#barrierOf(number, notice)
    const entry: Entry = {
      ...{ source, number, size_bytes, made: notice.made, line, barrier, tried },
      ...{ underWay: false, doomed: false, gone: false, volley: 0, before: undefined, next: undefined },
    }
    const superseded = line.onlyNewest ? line.waiting.first : undefined
    line.waiting.push(entry)
    this.#listOf(source).append(entry)
    if (barrier !== undefined) this.#barriers.push(entry)
    this.depth += 1
    this.bytes += size_bytes
    this.#offer(line)
    return superseded
  }

  /** Whether there may be something to send now. */
  get mayBegin(): boolean {
    if (this.recipient === undefined || this.held || this.#pause !== undefined) return false
    if (this.#probing && this.#probe !== undefined) return false
    return this.#ready.size > 0 && this.recipient.expires > now()
  }

  /** The next one to send, which is under way from now on. */
  begin(): Entry | undefined {
    if (!this.mayBegin) return undefined
    for (let line = this.#ready.shift(); line !== undefined; line = this.#ready.shift()) {
      line.offered = false
      const entry = line.waiting.first
      if (entry === undefined || line.underWay !== undefined || line.pause !== undefined) continue
      if (!this.#isFree(entry)) {
        line.offered = true
        this.#behind.push(line)
        continue
      }
      line.waiting.shift()
      line.underWay = entry
      entry.underWay = true
      entry.volley = this.#volley
      if (this.#probing) this.#probe = entry
      return entry
    }
    return undefined
  }

  /** It was accepted: it is gone, and failures are forgotten. */
  accepted(entry: Entry): void {
    this.#failures = 0
    entry.line.failures = 0
    if (entry.volley === this.#volley) this.#probing = false
    this.#ended(entry)
    this.#remove(entry)
    this.#offer(entry.line)
    this.#parts.wake(this)
  }

  /**
   * An attempt failed: it stays first in its line and a pause begins, of the line when it was refused, of the
   * subscription when there was trouble. True when it has become pointless meanwhile and is to be dropped.
   */
  failed(entry: Entry, { kind, retryAfter_ms = 0 }: Failed): boolean {
    const { line } = entry
    this.#ended(entry)
    const pointless = entry.doomed || (line.onlyNewest && line.waiting.size > 0)
    line.waiting.unshift(entry)
    const sameVolley = entry.volley === this.#volley
    if (kind === 'refused') {
      if (sameVolley || this.#pause !== undefined) this.#pauseLine(line, retryAfter_ms)
    } else if (sameVolley) this.#pauseAll(retryAfter_ms)
    // Behind the other lines: the first one after the pause should not always be the same.
    this.#offer(line)
    this.#parts.wake(this)
    return pointless
  }

  /** It leaves without being sent; it is not under way. */
  drop(entry: Entry): void {
    if (entry.underWay || entry.line.waiting.first !== entry) throw new Error('only the first of a line can be dropped')
    entry.line.waiting.shift()
    this.#remove(entry)
  }

  /** The subscription is new or was changed: failures are forgotten, what waits starts at once [subscriptions 5.4]. */
  put(recipient: Recipient): void {
    this.recipient = recipient
    this.held = false
    this.#failures = 0
    this.#volley += 1
    this.#probing = false
    this.#endPause()
    for (const line of this.#lines.values()) {
      line.failures = 0
      this.#endLinePause(line)
    }
    this.#parts.wake(this)
  }

  /** Nothing is begun any more. */
  end(): void {
    this.ended = true
    this.recipient = undefined
    this.#endPause()
    for (const line of this.#lines.values()) this.#endLinePause(line)
  }

  /** The oldest one that is not under way. */
  get oldestWaiting(): Entry | undefined {
    return this.#oldest((entry) => !entry.underWay)
  }

  /** When the oldest of all was made. */
  get oldest(): Milliseconds | undefined {
    return this.#oldest(() => true)?.made
  }

  /** When the pause of the subscription ends. */
  get nextAttempt(): Milliseconds | undefined {
    return this.#pause?.until
  }

  /** Whether something waits for all that was made before it. */
  get hasBarrier(): boolean {
    return this.#barrier !== undefined
  }

  /** More of the outboxes is known, or something has left: a barrier may be free now. */
  recheck(): void {
    const barrier = this.#barrier
    if (barrier === undefined || barrier.underWay || !this.#isFree(barrier)) return
    this.#release()
  }

  *entries(): Generator<Entry> {
    for (const list of this.#lists.values()) yield* list
  }

  get #barrier(): Entry | undefined {
    while (this.#barriers.first?.gone === true) this.#barriers.shift()
    return this.#barriers.first
  }

  /** Of a notice that is no answer to one change: the last number in each outbox that comes before it. */
  #barrierOf(number: NoticeNumber, { after }: Notice): readonly NoticeNumber[] | undefined {
    if (after === undefined) return undefined
    const { coordinator } = this.#parts
    return Array.from({ length: coordinator + 1 }, (_, source) =>
      source === coordinator ? number - 1 : (after[source] ?? 0),
    )
  }

  /** Whether nothing has to go before it: for a barrier all that is older, for others the barriers that are. */
  #isFree(entry: Entry): boolean {
    const barrier = this.#barrier
    if (barrier === undefined) return true
    const { barrier: bounds = [] } = barrier
    if (entry !== barrier) return entry.number <= (bounds[entry.source] ?? 0)
    return bounds.every((bound, source) => {
      const oldest = this.#lists.get(source)?.first?.number ?? Number.POSITIVE_INFINITY
      return this.#parts.known(source) >= bound && oldest > bound
    })
  }

  #remove(entry: Entry): void {
    entry.gone = true
    this.#listOf(entry.source).remove(entry)
    this.depth -= 1
    this.bytes -= entry.size_bytes
    if (entry.barrier !== undefined) this.#release()
    else this.recheck()
    if (entry.line.waiting.size === 0 && entry.line.pause === undefined && entry.line.underWay === undefined)
      this.#lines.delete(entry.line.key)
  }

  #release(): void {
    const lines = this.#behind
    this.#behind = []
    for (const line of lines) this.#ready.push(line)
    this.#parts.wake(this)
  }

  #ended(entry: Entry): void {
    entry.underWay = false
    entry.line.underWay = undefined
    if (this.#probe === entry) this.#probe = undefined
  }

  #offer(line: EntryLine): void {
    if (line.offered || line.underWay !== undefined || line.pause !== undefined || line.waiting.size === 0) return
    line.offered = true
    this.#ready.push(line)
  }

  #pauseAll(retryAfter_ms: number): void {
    this.#failures += 1
    this.#volley += 1
    this.#probing = true
    const pause_ms = this.#parts.pause_ms(this.#failures, retryAfter_ms)
    this.#pause = {
      until: (now() + Math.round(pause_ms)) as Milliseconds,
      timer: later(pause_ms, () => {
        this.#pause = undefined
        this.#parts.wake(this)
      }),
    }
  }

  #pauseLine(line: EntryLine, retryAfter_ms: number): void {
    line.failures += 1
    line.pause = later(this.#parts.pause_ms(line.failures, retryAfter_ms), () => {
      line.pause = undefined
      if (line.waiting.size === 0) this.#lines.delete(line.key)
      this.#offer(line)
      this.#parts.wake(this)
    })
  }

  #endPause(): void {
    clearTimeout(this.#pause?.timer)
    this.#pause = undefined
  }

  #endLinePause(line: EntryLine): void {
    if (line.pause === undefined) return
    clearTimeout(line.pause)
    line.pause = undefined
    this.#offer(line)
  }

  #oldest(isMeant: (entry: Entry) => boolean): Entry | undefined {
    let oldest: Entry | undefined
    for (const list of this.#lists.values()) {
      for (const entry of list) {
        if (!isMeant(entry)) continue
        if (oldest === undefined || entry.made < oldest.made) oldest = entry
        break
      }
    }
    return oldest
  }

  #lineOf(line: Line): EntryLine {
    const key = line.kind === 'entity' ? line.key : line.kind
    const held = this.#lines.get(key)
    if (held !== undefined) return held
    const onlyNewest = line.kind === 'tick'
    const made: EntryLine = {
      ...{ key, onlyNewest, waiting: new Fifo(), underWay: undefined, failures: 0, pause: undefined, offered: false },
    }
    this.#lines.set(key, made)
    return made
  }

  #listOf(source: SourceNumber): EntryList {
    let list = this.#lists.get(source)
    if (list === undefined) {
      list = new EntryList()
      this.#lists.set(source, list)
    }
    return list
  }
}

function later(delay_ms: number, act: () => void): NodeJS.Timeout {
  return setTimeout(act, delay_ms).unref()
}
