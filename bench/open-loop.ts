import { createHistogram, performance, type RecordableHistogram } from 'node:perf_hooks'
import { type Address, addressOf, Connection, Disconnected } from './connection.js'
import { helpWith } from './helper.js'
import { prepare, type Request } from './request.js'

/** Requests that arrive at a fixed rate, whether or not those before them are answered. */
export interface ArrivalTask {
  readonly url: string
  /** Connections that carry one request at a time; what arrives when all are busy waits in the generator. */
  readonly connections: number
  readonly requests: readonly Request[]
  readonly firstFresh: number
  readonly rate_per_s: number
  /** Arrivals of the first part are not measured. */
  readonly warmUp_s: number
  readonly duration_s: number
}

/** Waits count from the moment of arrival, the time in the generator included. */
export interface ArrivalResult {
  /** All requests that were sent. */
  readonly sent: number
  /** Of those that arrived while it was measured: how many were answered with 200, with 503, and otherwise or not at all. */
  readonly accepted: number
  readonly refused: number
  readonly failed: number
  /** Those that found no connection until the end of the load. */
  readonly unsent: number
  readonly accepted_p50_ms: number
  readonly accepted_p99_ms: number
  readonly refused_p99_ms: number
  readonly generator_cpu_ratio: number
}

interface Arrival {
  readonly number: number
  readonly due_ms: number
}

/** How long after the last arrival answers are waited for. */
const patience_ms = 10_000

class OpenLoop {
  readonly #task: ArrivalTask
  readonly #address: Address
  readonly #requests: readonly ((fresh: number) => string)[]
  readonly #free: Connection[] = []
  /** In the order of arrival; those taken stay in it. */
  readonly #waiting: Arrival[] = []
  #taken = 0
  #underWay = 0
  #measured_ms = Number.POSITIVE_INFINITY
  #arrived = 0
  readonly #waits = { accepted: newHistogram(), refused: newHistogram() }
  #failed = 0
  sent = 0

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
    for (let now_ms = begun_ms; now_ms < end_ms; now_ms = performance.now()) {
      if (!measured && now_ms >= this.#measured_ms) {
        processor = process.cpuUsage()
        measured = true
      }
      const due = Math.floor(((now_ms - begun_ms) / 1000) * rate_per_s)
      for (; this.#arrived < due; this.#arrived += 1) {
        this.#waiting.push({ number: this.#arrived, due_ms: begun_ms + (this.#arrived / rate_per_s) * 1000 })
      }
      this.#send()
      await pause(1)
    }
    const { user, system } = process.cpuUsage(processor)
    const unsent = this.#waiting.length - this.#taken
    this.#taken = this.#waiting.length
    const until_ms = performance.now() + patience_ms
    while (this.#underWay > 0 && performance.now() < until_ms) await pause(5)
    for (const connection of this.#free) connection.close()
    const { accepted, refused } = this.#waits
    return {
      sent: this.sent,
      accepted: accepted.count,
      refused: refused.count,
      failed: this.#failed + this.#underWay,
      unsent,
      accepted_p50_ms: accepted.percentile(50) / 1e6,
      accepted_p99_ms: accepted.percentile(99) / 1e6,
      refused_p99_ms: refused.count === 0 ? 0 : refused.percentile(99) / 1e6,
      generator_cpu_ratio: (user + system) / 1e6 / duration_s,
    }
  }

  #send(): void {
    while (this.#free.length > 0 && this.#taken < this.#waiting.length) {
      const arrival = this.#waiting[this.#taken]
      const connection = this.#free.pop()
      if (arrival === undefined || connection === undefined) return
      this.#taken += 1
      this.#underWay += 1
      this.sent += 1
      void this.#ask(connection, arrival)
    }
  }

  async #ask(connection: Connection, { number, due_ms }: Arrival): Promise<void> {
    const request = this.#requests[number % this.#requests.length]
    if (request === undefined) throw new Error('a load needs requests')
    const isMeasured = due_ms >= this.#measured_ms
    try {
      const { status } = await connection.ask(request(this.#task.firstFresh + number))
      const waits = status === 200 ? this.#waits.accepted : status === 503 ? this.#waits.refused : undefined
      if (isMeasured && waits === undefined) this.#failed += 1
      if (isMeasured) waits?.record(Math.max(1, Math.round((performance.now() - due_ms) * 1e6)))
      this.#free.push(connection)
    } catch (fault) {
      if (!(fault instanceof Disconnected)) throw fault
      if (isMeasured) this.#failed += 1
      this.#free.push(new Connection(this.#address))
    }
    this.#underWay -= 1
    this.#send()
  }
}

function newHistogram(): RecordableHistogram {
  return createHistogram({ figures: 3, lowest: 1, highest: 600 * 1e9 })
}

function pause(duration_ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, duration_ms))
}

helpWith<ArrivalTask, ArrivalResult>((task) => new OpenLoop(task).run())
