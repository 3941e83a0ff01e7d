import { createHistogram, performance } from 'node:perf_hooks'
import { type Address, addressOf, Connection, Disconnected } from './connection.js'
import { refusalIn } from './ngsi.js'
import { type Prepared, prepare, type Request } from './request.js'
import { stamp } from './stamp.js'

/** A load on one server. */
export interface LoadTask {
  readonly url: string
  /** Further servers: connections go to each of all servers in turn. */
  readonly others?: readonly string[]
  /** Connections that each send their next request when the last one is answered. */
  readonly connections: number
  /** Sent in turns, so that two requests for one entity are as far apart as can be. */
  readonly requests: readonly Request[]
  /** What stands for `fresh` in the first request; each further one takes the next number. */
  readonly firstFresh: number
  readonly warmUp_s: number
  readonly duration_s: number
  /** Whether answers are NGSIv1's and are to be looked into: one of `checkEvery`. */
  readonly checked: boolean
  /** Whether `fresh` stands for the moment of sending, see `stamp`, instead of the next number. */
  readonly stamped?: boolean
  /** Requests that are begun in a second, at most; as many as are answered when it is absent. */
  readonly rate_per_s?: number
}

export interface LoadResult {
  /** Requests sent in all, those of the warm-up included. */
  readonly sent: number
  /** Requests answered while it was measured. */
  readonly answered: number
  readonly rate_per_s: number
  readonly p50_ms: number
  readonly p90_ms: number
  readonly p99_ms: number
  readonly p999_ms: number
  readonly max_ms: number
  /** Processor time of the generator for each second: near 1 the generator is what is measured. */
  readonly generator_cpu_ratio: number
  readonly failures: Failures
}

/** Requests that had not the answer they should have, over the whole load. */
export interface Failures {
  /** HTTP status other than that of a success. */
  readonly status: number
  /** HTTP status 200, but another NGSI code inside. */
  readonly refused: number
  readonly timedOut: number
  readonly disconnected: number
  /** One of them in its own words. */
  readonly example?: string
}

const checkEvery = 50

/** A server that is loaded, with the requests as it gets them. */
interface Server {
  readonly address: Address
  readonly requests: readonly Prepared[]
}

/** 204 is that of updates through NGSIv2 [NGSIv2 context 8.5, 11.1]. */
const successes: ReadonlySet<number> = new Set([200, 204])

/**
 * Sends a load and measures it. Rates and waits count from the end of the warm-up, failures from the start. It is over
 * before its time when no connection is left.
 */
export async function load(task: LoadTask): Promise<LoadResult> {
  const run = new Run(task)
  const loops = Promise.all(Array.from({ length: task.connections }, (_, number) => run.loop(number)))
  await Promise.race([pause(task.warmUp_s), loops])
  run.startMeasuring()
  await Promise.race([pause(task.duration_s), loops])
  // A slow server is measured until it has answered at least once: no answer has no rate.
  while (run.waiting) await pause(0.01)
  const result = run.stop()
  await loops
  return { ...result, sent: run.sent, failures: run.failures }
}

class Run {
  readonly #task: LoadTask
  readonly #servers: readonly Server[]
  readonly #waits = createHistogram({ figures: 3, lowest: 1, highest: 600 * 1e9 })
  readonly #failures = { status: 0, refused: 0, timedOut: 0, disconnected: 0 }
  #example: string | undefined
  #phase: 'warmUp' | 'measured' | 'over' = 'warmUp'
  #answered = 0
  #started_ms = 0
  #open = 0
  #begun_ms = performance.now()
  #processor = process.cpuUsage()
  sent = 0

  constructor(task: LoadTask) {
    this.#task = task
    this.#servers = [task.url, ...(task.others ?? [])].map((url) => {
      const address = addressOf(url)
      return { address, requests: task.requests.map((request) => prepare(request, address)) }
    })
  }

  get failures(): Failures {
    return { ...this.#failures, ...(this.#example === undefined ? {} : { example: this.#example }) }
  }

  /** Whether nothing is measured yet, although there are connections that may still be answered. */
  get waiting(): boolean {
    return this.#waits.count === 0 && this.#open > 0
  }

  startMeasuring(): void {
    this.#processor = process.cpuUsage()
    this.#started_ms = performance.now()
    this.#phase = 'measured'
  }

  stop(): Omit<LoadResult, 'sent' | 'failures'> {
    const measured_ms = performance.now() - this.#started_ms
    const { user, system } = process.cpuUsage(this.#processor)
    this.#phase = 'over'
    return {
      answered: this.#answered,
      rate_per_s: (this.#answered / measured_ms) * 1000,
      p50_ms: this.#waits.percentile(50) / 1e6,
      p90_ms: this.#waits.percentile(90) / 1e6,
      p99_ms: this.#waits.percentile(99) / 1e6,
      p999_ms: this.#waits.percentile(99.9) / 1e6,
      max_ms: this.#answered === 0 ? 0 : this.#waits.max / 1e6,
      generator_cpu_ratio: (user + system) / 1000 / measured_ms,
    }
  }

  /** What one connection does: one request after the other until the load is over or the connection fails. */
  async loop(number: number): Promise<void> {
    const server = this.#servers[number % this.#servers.length]
    if (server === undefined) throw new Error('a load needs a server')
    const connection = new Connection(server.address)
    this.#open += 1
    try {
      while (this.#phase !== 'over') await this.#request(connection, server.requests)
    } catch (fault) {
      // A server that is gone or stuck would be asked for ever: the connection counts as failed and does no more.
      this.#failures[fault instanceof Disconnected && fault.timedOut ? 'timedOut' : 'disconnected'] += 1
      this.#example ??= String(fault)
    } finally {
      connection.close()
      this.#open -= 1
    }
  }

  /** Waits until it is the turn of a request at the rate that was asked for. */
  async #turn(number: number): Promise<void> {
    const { rate_per_s } = this.#task
    if (rate_per_s === undefined) return
    const wait_ms = this.#begun_ms + (number / rate_per_s) * 1000 - performance.now()
    if (wait_ms > 0) await pause(wait_ms / 1000)
  }

  async #request(connection: Connection, requests: readonly Prepared[]): Promise<void> {
    const number = this.sent++
    await this.#turn(number)
    const request = requests[number % requests.length]
    if (request === undefined) throw new Error('a load needs requests')
    const started_ms = performance.now()
    const response = await connection.ask(request(this.#task.stamped ? stamp() : this.#task.firstFresh + number))
    if (this.#phase === 'measured' && started_ms >= this.#started_ms) {
      this.#waits.record(Math.max(1, Math.round((performance.now() - started_ms) * 1e6)))
    }
    if (this.#phase === 'measured') this.#answered += 1
    if (!successes.has(response.status)) {
      this.#failures.status += 1
      this.#example ??= `HTTP ${response.status}: ${response.text.slice(0, 200)}`
    } else if (this.#task.checked && number % checkEvery === 0) {
      const refusal = refusalIn(response.text)
      if (refusal === undefined) return
      this.#failures.refused += 1
      this.#example ??= refusal
    }
  }
}

function pause(duration_s: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, duration_s * 1000))
}
