import type { Log } from '../log/log.js'
import type { EngineMeter } from '../measure/engine-table.js'
import type { Nanoseconds } from '../time.js'
import type { AppenderEvents } from './appender.js'

/** An engine that elects another leader is silent for a moment: that is no line. */
const silent_ms = 3000

/** Counts what happens with the engine, and says when it does not answer for long, and when it does again. */
export class EngineWatch implements AppenderEvents {
  readonly #meter: EngineMeter
  readonly #log: Log
  /** When it has answered last, or begun not to, by `performance.now()`; nothing while it answers. */
  #silentSince: number | undefined
  #isSaid = false
  /** What is neglected now. */
  readonly #neglected = new Map<string, string>()

  constructor(meter: EngineMeter, log: Log) {
    this.#meter = meter
    this.#log = log
  }

  answered(records: number, duration: Nanoseconds): void {
    this.#meter.answered(records, duration)
    if (this.#silentSince === undefined) return
    const silence_s = ((performance.now() - this.#silentSince) / 1000).toFixed(1)
    this.#silentSince = undefined
    this.#meter.silent(false)
    if (this.#isSaid) this.#log.warn('cluster:etcd', `etcd answers again after ${silence_s} s`)
    this.#isSaid = false
  }

  unanswered(reason: string): void {
    this.#meter.unanswered()
    this.#meter.silent(true)
    this.#silentSince ??= performance.now()
    if (this.#isSaid || performance.now() - this.#silentSince < silent_ms) return
    this.#isSaid = true
    this.#log.error('cluster:etcd', `etcd does not answer, updates wait for it: ${reason}`)
  }

  fenced(): void {
    this.#meter.fenced()
  }

  /** The same trouble is said once. */
  neglected(what: string, reason: string): void {
    this.#meter.neglected()
    if (this.#neglected.get(what) === reason) return
    this.#neglected.set(what, reason)
    this.#log.warn('cluster:etcd', `etcd could not ${what}, which is tried again: ${reason}`)
  }
}
