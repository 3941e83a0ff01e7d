import type { NoticeHead, NoticeNumber, OrderingKey } from '../subscription/notice.js'
import type { Milliseconds } from '../time.js'
import { type Entry, type EntryLine, EntryList } from './entry.js'
import { Fifo } from './fifo.js'
import type { Arrived, SourceNumber } from './source.js'

export interface LineupParts {
  /** How far the notices of an outbox are known. */
  readonly known: (source: SourceNumber) => NoticeNumber
  /** The number of the coordinator's outbox. */
  readonly coordinator: SourceNumber
}

/** An entity with its names and braces is longer than its record, at most so many times. */
const wordedTimes = 4

/**
 * The order in which the notices of one subscription go: lines that run beside each other, one notice of each under
 * way, and barriers that part what was made before them from what was made after [subscriptions 5.2, 5.4].
 */
export class Lineup {
  readonly #parts: LineupParts
  readonly #released: () => void
  readonly #lines = new Map<string, EntryLine>()
  readonly #lists = new Map<SourceNumber, EntryList>()
  /** Lines that may have something to send, each once; the one that was served longest ago comes first. */
  readonly #ready = new Fifo<EntryLine>()
  /** Lines whose first one comes after a barrier. */
  #behind: EntryLine[] = []
  readonly #barriers = new Fifo<Entry>()

  /** `released` is told when something may go that was held back by a barrier. */
  constructor(parts: LineupParts, released: () => void) {
    this.#parts = parts
    this.#released = released
  }

  /** Puts a notice behind all others; gives the one that it makes pointless [subscriptions 3.6]. */
  add({ source, numbered, since_ms, tried }: Arrived): Entry | undefined {
    const { number, size_bytes, body_bytes, notice } = numbered
    const line = this.#lineOf(notice.orderingKey)
    const barrier = this.#barrierOf(number, notice)
    const entry: Entry = {
      ...{ source, number, size_bytes, made: notice.made, line, barrier, tried },
      sent_bytes: body_bytes === undefined ? size_bytes * wordedTimes : size_bytes,
      ...{ since_ms, underWay: false, doomed: false, gone: false, volley: 0, before: undefined, next: undefined },
    }
    // A tick that is too long for one message has several of the same moment.
    const superseded = isSuperseded(line.waiting.first, notice.made) ? line.waiting.first : undefined
    line.waiting.push(entry)
    this.#listOf(source).append(entry)
    if (barrier !== undefined) this.#barriers.push(entry)
    this.offer(line)
    return superseded
  }

  /** Whether there may be something that can go now. */
  get hasReady(): boolean {
    return this.#ready.size > 0
  }

  /** Takes the next one that can go; it is under way from now on. */
  begin(): Entry | undefined {
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
      return entry
    }
    return undefined
  }

  /** One that was under way is first in its line again. */
  putBack(entry: Entry): void {
    entry.underWay = false
    entry.line.underWay = undefined
    entry.line.waiting.unshift(entry)
  }

  /** It leaves for good: it was under way, or it is the first that waits in its line. */
  remove(entry: Entry): void {
    const { line } = entry
    if (entry.underWay) line.underWay = undefined
    else if (line.waiting.first === entry) line.waiting.shift()
    else throw new Error('only the first of a line can leave it')
    entry.underWay = false
    entry.gone = true
    this.#listOf(entry.source).remove(entry)
    if (entry.barrier !== undefined) this.#release()
    else this.recheck()
    this.offer(line)
    this.forgetIdle(line)
  }

  /** The line may have something that can go. */
  offer(line: EntryLine): void {
    if (line.offered || line.underWay !== undefined || line.pause !== undefined || line.waiting.size === 0) return
    line.offered = true
    this.#ready.push(line)
  }

  /** A line of which nothing is left is of no use any more. */
  forgetIdle(line: EntryLine): void {
    if (line.waiting.size > 0 || line.pause !== undefined || line.underWay !== undefined) return
    this.#lines.delete(line.key)
  }

  get lines(): Iterable<EntryLine> {
    return this.#lines.values()
  }

  /** The oldest one that is not under way. */
  get oldestWaiting(): Entry | undefined {
    return this.#oldest((entry) => !entry.underWay)
  }

  /** The one that has waited longest. */
  get oldest(): Entry | undefined {
    return this.#oldest(() => true)
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
  #barrierOf(number: NoticeNumber, { after }: NoticeHead): readonly NoticeNumber[] | undefined {
    if (after === undefined) return undefined
    const { coordinator } = this.#parts
    const bound = (source: SourceNumber) => (source === coordinator ? number - 1 : (after[source] ?? 0))
    return Array.from({ length: coordinator + 1 }, (_, source) => bound(source))
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

  #release(): void {
    const lines = this.#behind
    this.#behind = []
    for (const line of lines) this.#ready.push(line)
    this.#released()
  }

  #oldest(isMeant: (entry: Entry) => boolean): Entry | undefined {
    let oldest: Entry | undefined
    for (const list of this.#lists.values()) {
      for (const entry of list) {
        if (!isMeant(entry)) continue
        if (oldest === undefined || entry.since_ms < oldest.since_ms) oldest = entry
        break
      }
    }
    return oldest
  }

  #lineOf(line: OrderingKey): EntryLine {
    const key = line.kind === 'entity' ? line.key : line.kind
    const held = this.#lines.get(key)
    if (held !== undefined) return held
    const state = { waiting: new Fifo<Entry>(), underWay: undefined, failures: 0, pause: undefined, offered: false }
    const made: EntryLine = { key, onlyNewest: line.kind === 'tick', ...state }
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

/** Whether a notice says nothing any more beside one of its line that was made then: of ticks only the newest waits. */
export function isSuperseded(entry: Entry | undefined, made: Milliseconds | undefined): boolean {
  return entry?.line.onlyNewest === true && made !== undefined && entry.made !== made
}
