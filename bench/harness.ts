import { versionFacts } from '../src/version.js'
import { BrokerProcess, DataFolder, ownBroker, versionOf } from './broker-process.js'
import type { EchoReply, EchoTask } from './echo.js'
import { type Append, createDevices, removeDevices } from './fleet.js'
import { Helper } from './helper.js'
import type { LoadResult, LoadTask } from './load.js'
import type { ArrivalResult, ArrivalTask } from './open-loop.js'
import type { BenchOptions } from './options.js'
import { PreparedFolders } from './prepared.js'
import type { Report } from './report.js'
import { firstFresh, type Request } from './request.js'
import { besides, count, inTurns, median, medians, rateSpread, rounded, times, versus } from './rounds.js'
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
  /** The broker of another version, if there is one. */
  readonly against?: string | undefined
  readonly connections: number
  readonly requests: readonly Request[]
  /** What the reference answers to a read. */
  readonly constant?: string
  /** What else the case varies. */
  readonly varied?: Line
  /** What else is known behind the last round. */
  readonly after?: () => Promise<Line>
}

/** A load on one server; the harness gives it its fresh numbers. */
export type Load = Omit<LoadTask, 'firstFresh'>

/** What benchmarks share: brokers, the reference, the generator of load, and the report. */
export class Harness {
  readonly options: BenchOptions
  readonly report: Report
  readonly #generator = new Helper<LoadTask, LoadResult>('./load-generator.js')
  readonly #arrivals = new Helper<ArrivalTask, ArrivalResult>('./open-loop.js')
  readonly #echo = new Helper<EchoTask, EchoReply>('./echo.js')
  readonly #prepared: PreparedFolders
  /** Those of the other version: even if it is the same script, no folder serves two brokers at once. */
  readonly #preparedAgainst: PreparedFolders | undefined
  #nextFresh = firstFresh

  constructor(options: BenchOptions, report: Report) {
    this.options = options
    this.report = report
    const { main, against, flags } = options
    this.#prepared = new PreparedFolders({ main, flags })
    this.#preparedAgainst = against === undefined ? undefined : new PreparedFolders({ main: against, flags })
  }

  /** Whether brokers of our own can be started and ended; when not, says what is left out. */
  hasOwnBrokers(leftOut: string): boolean {
    const own = this.options.url === undefined
    if (!own) this.report.note(`Left out, since it needs brokers of our own: ${leftOut}.`)
    return own
  }

  /** Works with the broker that `--url` names, or else with one of our own that lives as long as the work. */
  async withBroker<T>(flags: readonly string[], work: (url: string) => Promise<T>): Promise<T> {
    if (this.options.url !== undefined) return work(this.options.url)
    return this.#withOwnBroker(this.options.main, flags, work)
  }

  /** Works with such a broker that holds the devices; a broker that others use is left without them. */
  async withDevices<T>(
    flags: readonly string[],
    work: (url: string) => Promise<T>,
    devices = this.options.devices,
    append?: Append,
  ): Promise<T> {
    return this.withBroker(flags, async (url) => {
      await createDevices(url, devices, 0, this.#progressOf(devices), append)
      try {
        return await work(url)
      } finally {
        if (this.options.url !== undefined) await removeDevices(url, devices)
      }
    })
  }

  /** Works with a broker that holds the devices, and with one of the version that `--against` names, if it names one. */
  async withVersions<T>(
    work: (url: string, against: string | undefined) => Promise<T>,
    devices = this.options.devices,
  ): Promise<T> {
    const { against } = this.options
    return this.withDevices(
      [],
      async (url) => {
        if (against === undefined) return work(url, undefined)
        return this.#withOwnBroker(against, [], async (other) => {
          await createDevices(other, devices, 0, this.#progressOf(devices))
          return work(url, other)
        })
      },
      devices,
    )
  }

  /** Works with a broker of our own on the folder of this many devices, which the whole run shares. */
  async withPrepared<T>(devices: number, work: (broker: BrokerProcess) => Promise<T>): Promise<T> {
    return this.#withPrepared(this.#prepared, devices, work)
  }

  /** That folder, while no broker of ours runs on it. */
  preparedFolder(devices: number): Promise<DataFolder> {
    return this.#prepared.of(devices, this.#progressOf(devices))
  }

  /** Works with such a broker of the version that `--against` names; without the option, with undefined. */
  async withPreparedAgainst<T>(devices: number, work: (broker: BrokerProcess | undefined) => Promise<T>): Promise<T> {
    return this.#preparedAgainst === undefined
      ? work(undefined)
      : this.#withPrepared(this.#preparedAgainst, devices, work)
  }

  /** The versions of the brokers that are measured, as they say themselves. */
  async versions(): Promise<Line> {
    const { main, against, url } = this.options
    return {
      broker: url === undefined ? await this.#versionOf(main) : ((await versionOf(url)) ?? 'unknown'),
      ...(against !== undefined && { against: await this.#versionOf(against) }),
    }
  }

  /** Another program than that which was built with this one says its version when it runs. */
  async #versionOf(main: string): Promise<string> {
    if (main === ownBroker) return versionFacts.version
    return (await this.#withOwnBroker(main, [], versionOf)) ?? 'unknown'
  }

  /** Where the reference listens, which from now on answers this to every read. */
  async reference(constant = ''): Promise<string> {
    return (await this.#echo.ask({ constant })).url
  }

  /** Loads one server once and complains about answers that should not be. */
  async load(title: string, task: Load): Promise<LoadResult> {
    this.report.progress(title)
    const result = await this.#generator.ask({ ...task, firstFresh: this.#nextFresh })
    this.#nextFresh += result.sent
    this.complain(title, result)
    return result
  }

  /** Loads one server once in each round. */
  rounds(title: string, task: Load): (round: number) => Promise<LoadResult> {
    return (round) => this.load(`${title}, round ${round}`, task)
  }

  /** Loads a broker of another version once in each round; undefined when there is none. */
  roundsAgainst(
    title: string,
    task: Omit<Load, 'url'>,
    against: string | undefined,
  ): ((round: number) => Promise<LoadResult>) | undefined {
    return against === undefined ? undefined : this.rounds(`${title}, the other version`, { ...task, url: against })
  }

  /** Lets requests arrive at a fixed rate, whether those before them are answered or not. */
  async arrivals(title: string, task: Omit<ArrivalTask, 'firstFresh'>): Promise<ArrivalResult> {
    this.report.progress(title)
    const result = await this.#arrivals.ask({ ...task, firstFresh: this.#nextFresh })
    this.#nextFresh += result.sent
    if (result.failed > 0) this.report.fail(`${title}: ${result.failed} requests had neither 200 nor 503`)
    if (result.accepted === 0) this.report.fail(`${title}: nothing was accepted`)
    return result
  }

  /** Fails the run when a load was not answered as it should be. */
  complain(title: string, { failures, answered }: LoadResult): void {
    if (count(failures) > 0) this.report.fail(`${title}: ${JSON.stringify(failures)}`)
    if (answered === 0) this.report.fail(`${title}: nothing was answered while it was measured`)
  }

  /** Loads the broker, the reference and the other version in turns, and adds the medians of the rounds to the report. */
  async compare({ constant, url, against: other, varied = {}, after, ...comparison }: Comparison): Promise<void> {
    const { duration_s, rounds } = this.options
    const { bench, connections, requests } = comparison
    const echo = await this.reference(constant)
    const task = { connections, requests, ...times(duration_s / rounds) }
    const title = `${bench}, ${comparison.case}, ${connections} connections`
    const { measured, reference, against } = await inTurns(
      rounds,
      this.rounds(title, { ...task, url, checked: true }),
      this.rounds(`${title}, reference`, { ...task, url: echo, checked: false }),
      this.roundsAgainst(title, { ...task, checked: true }, other),
    )
    this.report.add({
      bench,
      case: comparison.case,
      connections,
      ...varied,
      rounds,
      ...medians(measured),
      ...(await after?.()),
      ...besides('reference_per_s', measured, reference),
      ...versus(measured, against),
      ...(reference.length < 2 ? {} : { reference_spread: { reference_per_s: rateSpread(reference) } }),
      reference_generator_cpu_ratio: rounded(median(reference.map((result) => result.generator_cpu_ratio))),
    })
  }

  async end(): Promise<void> {
    this.#prepared.remove()
    this.#preparedAgainst?.remove()
    await Promise.all([this.#generator.end(), this.#arrivals.end(), this.#echo.end()])
  }

  async #withOwnBroker<T>(main: string, flags: readonly string[], work: (url: string) => Promise<T>): Promise<T> {
    const folder = new DataFolder()
    try {
      return await this.#withBrokerOn(main, folder, flags, ({ url }) => work(url))
    } finally {
      folder.remove()
    }
  }

  async #withPrepared<T>(
    prepared: PreparedFolders,
    devices: number,
    work: (broker: BrokerProcess) => Promise<T>,
  ): Promise<T> {
    const folder = await prepared.of(devices, this.#progressOf(devices))
    return this.#withBrokerOn(prepared.main, folder, [], work)
  }

  async #withBrokerOn<T>(
    main: string,
    folder: DataFolder,
    flags: readonly string[],
    work: (broker: BrokerProcess) => Promise<T>,
  ): Promise<T> {
    const broker = await BrokerProcess.start({ main, folder, flags: [...this.options.flags, ...flags] })
    try {
      const result = await work(broker)
      await broker.end()
      return result
    } catch (fault) {
      throw await broker.abandon(fault)
    }
  }

  #progressOf(devices: number): (created: number) => void {
    return (created) => this.report.progress(`creating devices: ${created} of ${devices}`)
  }
}
