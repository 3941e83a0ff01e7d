import { setInterval as ticks } from 'node:timers/promises'
import type { Log } from '../../observe/log/log.js'
import type { RowOf } from '../../observe/measure/figure-table.js'
import type { engineFigures } from '../../observe/measure/figures.js'
import type { Nanoseconds } from '../../time.js'
import type { AppenderEvents } from './appender.js'
import type { EtcdClient } from './etcd-client.js'
import type { EtcdEngine } from './etcd-engine.js'

/** Shorter silences are not logged: an engine that elects another leader is silent for a moment. */
const silent_ms = 3000

/** How long an update waits for the engine, see `docs/limits.md`: after that all updates are refused. */
const away_ms = 5000

/** The silence after which the engine is probed, and the interval of probes while it takes no records. */
const quiet_ms = 2000
const probe_ms = 1000

/** Counts the events of the engine, and logs when it has taken no records for long and when it takes them again. */
export class EngineWatch implements AppenderEvents {
  readonly #figures: RowOf<typeof engineFigures>
  readonly #log: Log
  /** The time of its last response, by `performance.now()`. */
  #answered_ms = performance.now()
  /** Since when it does not answer; undefined while it does. */
  #silentSince: number | undefined
  #isLogged = false
  #isFull = false
  /** The reasons for invalid requests that were logged. */
  readonly #invalid = new Set<string>()
  /** The failing tasks in the background, with their reasons. */
  readonly #neglected = new Map<string, string>()

  constructor(figures: RowOf<typeof engineFigures>, log: Log) {
    this.#figures = figures
    this.#log = log
  }

  answered(records: number, duration: Nanoseconds, isFull: boolean): void {
    this.#figures.add('records', records)
    this.#figures.record('requestDurations', duration)
    this.#heard(isFull)
  }

  unanswered(reason: string): void {
    this.#figures.add('unanswered')
    this.#silent(reason)
  }

  /** Logs that etcd calls a request invalid, once for each reason. */
  invalid(reason: string): void {
    if (this.#invalid.has(reason)) return
    this.#invalid.add(reason)
    this.#log.error('cluster:etcd', `etcd calls a request invalid, which is a fault of this program: ${reason}`)
  }

  /** Probes whether the engine takes records whenever nothing else is appended, until the signal comes. */
  async probe(engine: Pick<EtcdEngine, 'probe'>, until: AbortSignal): Promise<void> {
    try {
      for await (const _ of ticks(probe_ms, undefined, { signal: until, ref: false })) {
        const isQuiet = performance.now() - this.#answered_ms >= quiet_ms
        if (!isQuiet && !this.#isFull) continue
        const probed = await engine.probe()
        if (until.aborted) return
        if (!probed.ok && probed.error.kind === 'unavailable') this.#silent(probed.error.reason)
        else this.#heard(!probed.ok)
      }
    } catch (fault) {
      if (!until.aborted) throw fault
    }
  }

  fenced(): void {
    this.#figures.add('fenced')
  }

  /** Logs that a task in the background has failed, once while its reason stays the same. */
  neglected(what: string, reason: string): void {
    this.#figures.add('neglected')
    if (this.#neglected.get(what) === reason) return
    this.#neglected.set(what, reason)
    this.#log.warn('cluster:etcd', `etcd could not ${what}, which is tried again: ${reason}`)
  }

  #silent(reason: string): void {
    this.#figures.put('isSilent', true)
    this.#silentSince ??= performance.now()
    const silence_ms = performance.now() - this.#silentSince
    this.#figures.put('isAway', silence_ms >= away_ms)
    if (this.#isLogged || silence_ms < silent_ms) return
    this.#isLogged = true
    this.#log.error('cluster:etcd', `etcd does not answer, updates wait for it: ${reason}`)
  }

  #heard(isFull: boolean): void {
    this.#answered_ms = performance.now()
    this.#full(isFull)
    if (this.#silentSince === undefined) return
    const silence_s = ((this.#answered_ms - this.#silentSince) / 1000).toFixed(1)
    this.#silentSince = undefined
    this.#figures.put('isSilent', false)
    this.#figures.put('isAway', false)
    if (this.#isLogged) this.#log.warn('cluster:etcd', `etcd answers again after ${silence_s} s`)
    this.#isLogged = false
  }

  #full(isFull: boolean): void {
    if (isFull === this.#isFull) return
    this.#isFull = isFull
    this.#figures.put('isFull', isFull)
    if (isFull)
      this.#log.error('cluster:etcd', 'etcd is full, updates are refused: see "etcd is full" in docs/cluster.md')
    else this.#log.warn('cluster:etcd', 'etcd has room again')
  }
}

/** The interval at which the members are read. */
const look_ms = 5000

interface EngineMembersParts {
  readonly client: EtcdClient
  /** Called after each reading with all URLs that the members announce, for clients and for each other. */
  readonly told: (urls: readonly string[]) => void
  /** Called with the reason when the members cannot be read and that is no passing fault. */
  readonly failed: (reason: string) => void
}

/** Follows the URLs that the members of etcd announce. A member that does not answer changes nothing. */
export class EngineMembers {
  readonly #parts: EngineMembersParts

  constructor(parts: EngineMembersParts) {
    this.#parts = parts
  }

  /** Reads them once. Any member answers, without a majority. */
  async look(): Promise<void> {
    const { client, told, failed } = this.#parts
    const read = await client.call('memberList', {})
    if (read.ok) told(read.value.members.flatMap(({ clientURLs, peerURLs }) => [...clientURLs, ...peerURLs]))
    else if (read.error.kind === 'refused') failed(read.error.reason)
  }

  /** Reads them again and again, until the signal comes. */
  async follow(until: AbortSignal): Promise<void> {
    try {
      for await (const _ of ticks(look_ms, undefined, { signal: until, ref: false })) await this.look()
    } catch (fault) {
      if (!until.aborted) throw fault
    }
  }
}
