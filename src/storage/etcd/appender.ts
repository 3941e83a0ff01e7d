import type { Nanoseconds } from '../../time.js'
import type { Appended, LogSequence } from '../wal/record-log.js'
import { isSameRecord } from './cluster-record.js'
import type { Engine, LogName, Offer } from './engine.js'

/** Events of appending, for metrics and lines of the log. */
export interface AppenderEvents {
  /** A request was answered: how many records it held, how long it took, and whether there was no room for them. */
  answered(records: number, duration: Nanoseconds, isFull: boolean): void
  /** A request was not answered, or not in time; its records are offered again. */
  unanswered(reason: string): void
  /** A record was refused since the request was invalid. */
  invalid(reason: string): void
}

interface Waiting {
  readonly offer: Offer
  /** Whether an offer of it was not answered, and so may still be carried out. */
  wasUnanswered: boolean
  readonly resolve: (appended: Appended) => void
}

/** The pause before records are offered again. */
const again_ms = 200

/** The most records of one request, one of each log. */
const logsMost = 64
const bytesMost = 2 ** 20

const requestsUnderWay = 2

/**
 * Appends to the logs of a cluster. Each log has one record under way at a time; those of several logs that wait share a
 * request. What was not answered is offered again, the same bytes, until it is known whether it stands in its log. A second record for a
 * log waits for that: a thread may have died over the first one, and the election record of the thread that replaces it comes second.
 */
export class Appender {
  readonly #engine: Pick<Engine, 'append'>
  readonly #events: AppenderEvents
  /** In the order of their arrival. */
  #waiting: Waiting[] = []
  #underWay = 0
  /** The logs with a record under way. */
  readonly #busy = new Set<LogName>()
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(engine: Pick<Engine, 'append'>, events: AppenderEvents) {
    this.#engine = engine
    this.#events = events
  }

  /** Resolves when the outcome is known, however long that takes; never after `close`. */
  append(log: LogName, expected: LogSequence, bytes: Uint8Array): Promise<Appended> {
    const isOwn = (standing: Uint8Array): boolean => isSameRecord(standing, bytes)
    return new Promise((resolve) => {
      this.#waiting.push({ offer: { log, expected, bytes, isOwn }, wasUnanswered: false, resolve })
      this.#send()
    })
  }

  /** Gives up what is under way: the records may be in their logs or not. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  #send(): void {
    while (!this.#isClosed && this.#timer === undefined && this.#underWay < requestsUnderWay) {
      const batch = this.#batch()
      if (batch.length === 0) return
      this.#underWay += 1
      void this.#offered(batch).finally(() => {
        this.#underWay -= 1
        for (const { offer } of batch) this.#busy.delete(offer.log)
        this.#send()
      })
    }
  }

  /** The next request: the first waiting record of each log without a record under way. */
  #batch(): readonly Waiting[] {
    const batch: Waiting[] = []
    const later: Waiting[] = []
    let bytes = 0
    let isEnough = false
    for (const waiting of this.#waiting) {
      const { log, bytes: record } = waiting.offer
      isEnough ||= batch.length === logsMost || (batch.length > 0 && bytes + record.length > bytesMost)
      if (isEnough || this.#busy.has(log)) {
        later.push(waiting)
        continue
      }
      bytes += record.length
      this.#busy.add(log)
      batch.push(waiting)
    }
    this.#waiting = later
    return batch
  }

  async #offered(batch: readonly Waiting[]): Promise<void> {
    const begun = process.hrtime.bigint()
    const outcomes = await this.#engine.append(batch.map(({ offer }) => offer))
    if (outcomes.ok) {
      this.#events.answered(batch.length, process.hrtime.bigint() - begun, outcomes.value.some(isFull))
      for (const outcome of outcomes.value) {
        if (!outcome.ok && outcome.error.kind === 'invalid') this.#events.invalid(outcome.error.reason)
      }
      const unknown = batch.filter((waiting, at) => !isResolved(waiting, outcomes.value[at]))
      if (unknown.length > 0) this.#again(unknown)
      return
    }
    this.#events.unanswered(outcomes.error.reason)
    for (const waiting of batch) waiting.wasUnanswered = true
    this.#again(batch)
  }

  #again(batch: readonly Waiting[]): void {
    if (this.#isClosed) return
    this.#waiting.unshift(...batch)
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#send()
    }, again_ms)
  }
}

/** Resolves with an outcome, unless the outcome leaves open what became of an earlier, unanswered offer. */
function isResolved({ wasUnanswered, resolve }: Waiting, outcome: Appended | undefined): boolean {
  if (outcome === undefined) throw new Error('the engine gave fewer outcomes than there were offers')
  if (wasUnanswered && (isFull(outcome) || isInvalid(outcome))) return false
  resolve(outcome)
  return true
}

function isFull(outcome: Appended): boolean {
  return !outcome.ok && outcome.error.kind === 'etcdFull'
}

function isInvalid(outcome: Appended): boolean {
  return !outcome.ok && outcome.error.kind === 'invalid'
}
