import { BrokerProcess, DataFolder, versionOf } from './broker-process.js'
import type { EchoReply, EchoTask } from './echo.js'
import { createDevices, removeDevices } from './fleet.js'
import { Helper } from './helper.js'
import type { Failures, LoadResult, LoadTask } from './load.js'
import type { GeneratorTask } from './load-generator.js'
import type { BenchOptions } from './options.js'
import { Report, rounded } from './report.js'
import { firstFresh, type Request } from './request.js'
import type { Line } from './table.js'

/** A benchmark: one question, answered by cases that it adds to the report. */
export interface Bench {
  readonly name: string
  /** What it answers and what it varies, for the help. */
  readonly question: string
  readonly run: (harness: Harness) => Promise<void>
}

/** A load that the broker and the reference get alike. */
export interface Comparison {
  readonly bench: string
  readonly case: string
  readonly url: string
  readonly connections: number
  readonly requests: readonly Request[]
  /** What the reference answers to a GET. */
  readonly constant?: string
}

/** What a comparison found. */
export interface Compared {
  readonly line: Line
  /** Requests that the broker got in all its rounds, warm-ups included. */
  readonly sent: number
}

/** What benchmarks share: brokers, the reference, the generator of load, and the report. */
export class Harness {
  readonly options: BenchOptions
  readonly report = new Report()
  readonly #generator = new Helper<GeneratorTask, LoadResult>('./load-generator.js')
  readonly #echo = new Helper<EchoTask, EchoReply>('./echo.js')
  #nextFresh = firstFresh

  constructor(options: BenchOptions) {
    this.options = options
  }

  /** Works with the broker that `--url` names, or else with one of our own that lives as long as the work. */
  async withBroker<T>(flags: readonly string[], work: (url: string) => Promise<T>): Promise<T> {
    if (this.options.url !== undefined) return work(this.options.url)
    const folder = new DataFolder()
    try {
      const broker = await BrokerProcess.start({
        main: this.options.main,
        folder,
        flags: [...this.options.flags, ...flags],
      })
      try {
        const result = await work(broker.url)
        await broker.end()
        return result
      } catch (fault) {
        throw await broker.abandon(fault)
      }
    } finally {
      folder.remove()
    }
  }

  /** The same, with the devices in it; a broker that others use is left without them. */
  async withDevices<T>(flags: readonly string[], work: (url: string) => Promise<T>): Promise<T> {
    return this.withBroker(flags, async (url) => {
      this.report.progress('creating devices')
      await createDevices(url, this.options.devices, 0)
      try {
        return await work(url)
      } finally {
        if (this.options.url !== undefined) await removeDevices(url, this.options.devices)
      }
    })
  }

  async version(): Promise<string | undefined> {
    return this.withBroker([], versionOf)
  }

  /** Where the reference listens, which from now on answers this to every GET. */
  async reference(constant = ''): Promise<string> {
    return (await this.#echo.ask({ constant })).url
  }

  /** Loads one server once and complains about answers that should not be. */
  async load(title: string, task: Omit<LoadTask, 'firstFresh'>, generator: GeneratorTask['generator'] = 'rigel') {
    this.report.progress(title)
    const result = await this.#generator.ask({ ...task, generator, firstFresh: this.#nextFresh })
    this.#nextFresh += result.sent
    if (count(result.failures) > 0) this.report.fail(`${title}: ${JSON.stringify(result.failures)}`)
    if (result.answered === 0) this.report.fail(`${title}: nothing was answered while it was measured`)
    return result
  }

  /**
   * Loads the broker and the reference in turns, so that what else the machine does hits both, and adds the medians
   * of the rounds to the report.
   */
  async compare({ constant, url, ...comparison }: Comparison, more: Line = {}): Promise<Compared> {
    const { duration_s, rounds } = this.options
    const { bench, connections, requests } = comparison
    const reference = await this.reference(constant)
    const task = { connections, requests, ...times(duration_s / rounds) }
    const title = `${bench}, ${comparison.case}, ${connections} connections`
    const measured: LoadResult[] = []
    const compared: LoadResult[] = []
    for (let round = 1; round <= rounds; round++) {
      measured.push(await this.load(`${title}, round ${round}`, { ...task, url, checked: true }))
      compared.push(await this.load(`${title}, round ${round}, reference`, { ...task, url: reference, checked: false }))
    }
    const failures = [...measured, ...compared].reduce((sum, { failures }) => sum + count(failures), 0)
    const rate_per_s = median(measured.map((result) => result.rate_per_s))
    const reference_per_s = median(compared.map((result) => result.rate_per_s))
    const line = {
      bench,
      case: comparison.case,
      connections,
      rounds,
      ...medians(measured),
      reference_per_s: Math.round(reference_per_s),
      ratio: rounded(rate_per_s / reference_per_s),
      reference_generator_cpu_ratio: rounded(median(compared.map((result) => result.generator_cpu_ratio))),
      ...(failures === 0 ? {} : { failures }),
      ...more,
    }
    this.report.add(line)
    return { line, sent: measured.reduce((sum, { sent }) => sum + sent, 0) }
  }

  async end(): Promise<void> {
    await Promise.all([this.#generator.end(), this.#echo.end()])
  }
}

/** A load's time: measured after a part of it, at most a second, in which connections open and code gets warm. */
export function times(duration_s: number): Pick<LoadTask, 'warmUp_s' | 'duration_s'> {
  return { duration_s, warmUp_s: Math.min(1, duration_s / 2) }
}

/** The rounds of one case as the columns of one line: medians, and the longest wait of all. */
export function medians(rounds: readonly LoadResult[]): Line {
  return {
    rate_per_s: Math.round(median(rounds.map((round) => round.rate_per_s))),
    p50_ms: rounded(median(rounds.map((round) => round.p50_ms))),
    p90_ms: rounded(median(rounds.map((round) => round.p90_ms))),
    p99_ms: rounded(median(rounds.map((round) => round.p99_ms))),
    max_ms: rounded(Math.max(...rounds.map((round) => round.max_ms))),
    generator_cpu_ratio: rounded(median(rounds.map((round) => round.generator_cpu_ratio))),
  }
}

/** The middle value; of an even number of values the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const low = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN
  const high = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  return (low + high) / 2
}

function count({ status, refused, timedOut, disconnected }: Failures): number {
  return status + refused + timedOut + disconnected
}
