import type { ReadRecord } from '../../src/storage/etcd/log-view.js'
import type { Appended, LogSequence } from '../../src/storage/wal/record-log.js'
import type { Random, Schedule } from './schedule.js'

/** A record as it is offered: `id` is a number by which its writer knows it again. */
export type Offered = Omit<ReadRecord, 'sequence' | 'id'> & { readonly number: number }

/** How long an append that was not answered waits for being offered again. */
const again_ms = 200

const nothing = Buffer.alloc(0)

/** One log of an engine that some of its members keep: it answers late, or not at all, whether it has taken a record or not. */
export class SimulatedLog {
  readonly records: ReadRecord[] = []
  /** The numbers of the records, in their order. */
  readonly numbers: number[] = []
  /** Nothing is answered before this moment. */
  silentUntil_ms = 0
  isFaulty = true
  readonly #schedule: Schedule
  readonly #random: Random
  #waiting: (() => void)[] = []
  /** The highest metadata version of any record. */
  #metadataVersion = 0

  constructor(schedule: Schedule, random: Random) {
    this.#schedule = schedule
    this.#random = random
  }

  get last(): LogSequence {
    return this.records.length as LogSequence
  }

  /** Offers a record again and again until its outcome is known, as long as its writer lives. */
  append(expected: LogSequence, offered: Offered, lives: () => boolean, respond: (outcome: Appended) => void): void {
    const offer = (): void => {
      if (!lives()) return
      const isLost = this.isFaulty && this.#random.chance(0.05)
      const isTaken = !isLost || this.#random.chance(0.5)
      if (!isTaken) {
        this.#schedule.plan(again_ms, offer)
        return
      }
      this.#later(() => {
        const outcome = this.#taken(expected, offered)
        if (isLost) this.#schedule.plan(again_ms, offer)
        else respond(outcome)
      })
    }
    offer()
  }

  /** What stands behind a record, as soon as there is something. */
  next(after: LogSequence, lives: () => boolean, respond: (records: readonly ReadRecord[]) => void): void {
    const look = (): void => {
      if (!lives()) return
      if (this.records.length === after) this.#waiting.push(() => this.#later(look))
      else respond(this.records.slice(after, after + 1 + this.#random.below(8)))
    }
    this.#later(look)
  }

  #later(done: () => void): void {
    const silence_ms = Math.max(0, this.silentUntil_ms - this.#schedule.now_ms)
    this.#schedule.plan(silence_ms + (this.isFaulty ? this.#random.delay_ms() : 1), done)
  }

  #taken(expected: LogSequence, offered: Offered): Appended {
    const sequence = (expected + 1) as LogSequence
    if (this.numbers[expected] === offered.number) return { ok: true, value: sequence }
    if (this.last !== expected) return { ok: false, error: { kind: 'fenced', last: this.last } }
    if (offered.metadataVersion < this.#metadataVersion && offered.kind === 'turn')
      throw new Error(
        `turn ${sequence} was decided with metadata ${offered.metadataVersion}, behind ${this.#metadataVersion}`,
      )
    this.#metadataVersion = Math.max(this.#metadataVersion, offered.metadataVersion)
    this.records.push({ ...offered, id: nothing, sequence })
    this.numbers.push(offered.number)
    const waiting = this.#waiting
    this.#waiting = []
    for (const look of waiting) look()
    return { ok: true, value: sequence }
  }
}
