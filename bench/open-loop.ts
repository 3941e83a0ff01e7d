import { createHistogram, performance, type RecordableHistogram } from 'node:perf_hooks'
import { type Address, addressOf, Connection, Disconnected } from './connection.js'
import { helpWith } from './helper.js'
import { prepare, type Request } from './request.js'

/**
 * Requests that arrive at a fixed rate, whether or not those before them are answered. What finds all connections busy is
 * given up: a queue in the generator would only tell of the generator.
 */
export interface ArrivalTask {
  readonly url: string
  /** Connections that carry one request at a time. */
  readonly connections: number
  readonly requests: readonly Request[]
  readonly firstFresh: number
  readonly rate_per_s: number
  /** Arrivals of the first part are not measured. */
  readonly warmUp_s: number
  readonly duration_s: number
}

/** Waits count from the moment in which a request is sent. */
export interface ArrivalResult {
  /** All requests that arrived, so that many numbers are used up. */
  readonly sent: number
  /** Of those that were sent while it was measured: how many were answered with 200, with 503, and otherwise or not at all. */
  readonly accepted: number
  readonly refused: number
  readonly failed: number
  /** Those that arrived while it was measured and found no connection. */
  readonly unsent: number
  readonly accepted_p50_ms: number
  readonly accepted_p99_ms: number
  readonly refused_p99_ms: number
  readonly generator_cpu_ratio: number
  /** For how long it was measured: longer than it was to be where nothing was accepted until then. */
  readonly measured_s: number
}

/** How long answers are waited for: the first one that is accepted, and those after the last arrival. */
const patience_ms = 60_000

class OpenLoop {
  readonly #task: ArrivalTask
  readonly #address: Address
  readonly #requests: readonly ((fresh: number) => string)[]
  readonly #free: Connection[] = []
  #underWay = 0
  #unsent = 0
  #measured_ms = Number.POSITIVE_INFINITY
  #arrived = 0
  readonly #waits = { accepted: newHistogram(), refused: newHistogram() }
  #failed = 0

  constructor(task: ArrivalTask) {
    this.#task = task
    this.#address = addressOf(task.url)
    this.#requests = task.requests.map((request) => prepare(request, this.#address))
    for (let at = 0; at < task.connections; at += 1) this.#free.push(new Connection(this.#address))
  }

  async run(): Promise<ArrivalResult> {
    const { rate_per_s, warmUp_s, duration_s } = this.#task
    const begun_ms = performance.now()
    const end_ms = begun_ms + (warmUp_s + duration_s) * 1000
    this.#measured_ms = begun_ms + warmUp_s * 1000
    let processor = process.cpuUsage()
    let measured = false
    // A slow server is measured until it has accepted something.
    const goesOn = (now_ms: number): boolean =>
      now_ms < end_ms || (this.#waits.accepted.count === 0 && now_ms < end_ms + patience_ms)
    let now_ms = begun_ms
    for (; goesOn(now_ms); now_ms = performance.now()) {
      if (!measured && now_ms >= this.#measured_ms) {
        processor = process.cpuUsage()
        measured = true
      }
      const due = Math.floor(((now_ms - begun_ms) / 1000) * rate_per_s)
      for (; this.#arrived < due; this.#arrived += 1) this.#arrive(this.#arrived)
      await pause(1)
    }
    const { user, system } = process.cpuUsage(processor)
    const measured_s = (now_ms - this.#measured_ms) / 1000
    const until_ms = performance.now() + patience_ms
    while (this.#underWay > 0 && performance.now() < until_ms) await pause(5)
    for (const connection of this.#free) connection.close()
    const { accepted, refused } = this.#waits
    return {
      sent: this.#arrived,
      accepted: accepted.count,
      refused: refused.count,
      failed: this.#failed + this.#underWay,
      unsent: this.#unsent,
      accepted_p50_ms: accepted.percentile(50) / 1e6,
      accepted_p99_ms: accepted.percentile(99) / 1e6,
      refused_p99_ms: refused.count === 0 ? 0 : refused.percentile(99) / 1e6,
      generator_cpu_ratio: (user + system) / 1e6 / measured_s,
      measured_s,
    }
  }

  #arrive(number: number): void {
    const now_ms = performance.now()
    const connection = this.#free.pop()
    if (connection !== undefined) void this.#ask(connection, number, now_ms)
    else if (now_ms >= this.#measured_ms) this.#unsent += 1
  }

  async #ask(connection: Connection, number: number, sent_ms: number): Promise<void> {
    const request = this.#requests[number % this.#requests.length]
    if (request === undefined) throw new Error('a load needs requests')
    const isMeasured = sent_ms >= this.#measured_ms
    this.#underWay += 1
    try {
      const { status } = await connection.ask(request(this.#task.firstFresh + number))
      const waits = status === 200 ? this.#waits.accepted : status === 503 ? this.#waits.refused : undefined
      if (isMeasured && waits === undefined) this.#failed += 1
      if (isMeasured) waits?.record(Math.max(1, Math.round((performance.now() - sent_ms) * 1e6)))
      this.#free.push(connection)
    } catch (fault) {
      if (!(fault instanceof Disconnected)) throw fault
      if (isMeasured) this.#failed += 1
      this.#free.push(new Connection(this.#address))
    }
    this.#underWay -= 1
  }
}

function newHistogram(): RecordableHistogram {
  return createHistogram({ figures: 3, lowest: 1, highest: 600 * 1e9 })
}

function pause(duration_ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, duration_ms))
}

helpWith<ArrivalTask, ArrivalResult>((task) => new OpenLoop(task).run())
