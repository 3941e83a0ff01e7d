import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Browser } from 'playwright-core'
import { BrokerProcess, DataFolder, ownBroker } from './broker-process.js'
import { missingBrowser, startChromium } from './chromium.js'
import { addressOf, Connection } from './connection.js'
import { MeasuredTab, type TabMemory } from './console-tab.js'
import { updateReading } from './device.js'
import { createDevices } from './fleet.js'
import { residentBeyondFiles_MiB } from './memory.js'
import { orWrong, parseAmount, parseCount, parseFlags } from './options.js'
import { runProgram } from './program.js'
import { written } from './request.js'
import { rounded } from './rounds.js'
import { growth_percent } from './steadiness.js'

const help = `node dist/bench/console-soak.js [option ...]

The console in a browser for a long time, beside a light load: one tab that stays on its first page, and one that is led
through all pages before each line. Says every interval how much memory the broker and the tabs hold, the latter after their
garbage was collected; and at the end whether that stayed as it was: the mean of the last third against that of the second
third, the first one being for warming up.

  --minutes N       how long (60)
  --interval S      seconds between two lines (30)
  --rate N          updates in a second (50)
  --devices N       entities that are updated (1000)
  --tolerance P     how many per cent anything may grow from one third to the next (10)
  --broker FILE     the script of the broker to start (the one built with this program)
  --flags="FLAGS"   further flags for it

The lines and the result are JSON on standard output. The exit code is 0 when all stayed as it was, otherwise 1, and 2 for a
wrong command line.`

interface ConsoleSoakOptions {
  readonly duration_ms: number
  readonly interval_ms: number
  readonly rate_per_s: number
  readonly devices: number
  readonly tolerance_percent: number
  readonly main: string
  readonly flags: readonly string[]
}

function parseConsoleSoakOptions(argv: readonly string[]): ConsoleSoakOptions | undefined {
  const text = { type: 'string' } as const
  const options = {
    minutes: { ...text, default: '60' },
    interval: { ...text, default: '30' },
    rate: { ...text, default: '50' },
    devices: { ...text, default: '1000' },
    tolerance: { ...text, default: '10' },
    broker: { ...text, default: ownBroker },
    flags: { ...text, default: '' },
    help: { type: 'boolean', short: 'h', default: false },
  } as const
  const { values } = orWrong(() => parseArgs({ args: [...argv], options, strict: true }))
  if (values.help) return undefined
  return {
    duration_ms: parseAmount('--minutes', values.minutes) * 60_000,
    interval_ms: parseAmount('--interval', values.interval) * 1000,
    rate_per_s: parseAmount('--rate', values.rate),
    devices: parseCount('--devices', values.devices),
    tolerance_percent: parseAmount('--tolerance', values.tolerance),
    main: values.broker,
    flags: parseFlags(values.flags),
  }
}

/** A client that updates one device after the other, slowly. */
class LightLoad {
  updates = 0
  failed = 0
  readonly #connection: Connection
  readonly #url: string
  readonly #options: ConsoleSoakOptions
  #running = true

  constructor(url: string, options: ConsoleSoakOptions) {
    this.#connection = new Connection(addressOf(url), 60_000)
    this.#url = url
    this.#options = options
  }

  async run(): Promise<void> {
    const { rate_per_s, devices } = this.#options
    const began_ms = performance.now()
    for (let number = 0; this.#running; number += 1) {
      const request = written(updateReading(number % devices, number), addressOf(this.#url))
      const succeeded = await this.#connection.ask(request).then(
        ({ status }) => status === 200,
        () => false,
      )
      if (succeeded) this.updates += 1
      else this.failed += 1
      const early_ms = began_ms + (1000 * (number + 1)) / rate_per_s - performance.now()
      if (early_ms > 0) await new Promise((resolve) => setTimeout(resolve, early_ms))
    }
    this.#connection.close()
  }

  stop(): void {
    this.#running = false
  }
}

/** What was so at the end of an interval. */
interface ConsoleSample {
  readonly resident_MiB: number
  /** Of the main thread, its garbage included. */
  readonly heap_MiB: number
  readonly descriptors: number
  readonly tab: TabMemory
  readonly walkedTab: TabMemory
}

async function consoleSoak(options: ConsoleSoakOptions): Promise<boolean> {
  const missing = missingBrowser()
  if (missing !== undefined) throw new Error(missing)
  const folder = new DataFolder()
  const broker = await BrokerProcess.start({ main: options.main, folder, flags: options.flags })
  const browser = await startChromium()
  try {
    await createDevices(broker.url, options.devices, 0)
    const load = new LightLoad(broker.url, options)
    const running = load.run()
    const samples = await sampled(broker, browser, options)
    load.stop()
    await running
    const change = {
      resident_change_percent: growth_percent(samples, (sample) => sample.resident_MiB),
      descriptors_change_percent: growth_percent(samples, (sample) => sample.descriptors),
      ...changes('tab', samples, (sample) => sample.tab),
      ...changes('walked_tab', samples, (sample) => sample.walkedTab),
    }
    const steady = Math.max(...Object.values(change)) <= options.tolerance_percent
    const { updates, failed } = load
    const minutes = rounded(options.duration_ms / 60_000)
    console.log(JSON.stringify({ bench: 'console soak', minutes, updates, failed, steady, ...change }))
    await browser.close()
    await broker.end()
    return steady && failed === 0
  } catch (fault) {
    await browser.close()
    throw await broker.abandon(fault)
  } finally {
    folder.remove()
  }
}

function changes(name: string, samples: readonly ConsoleSample[], of: (sample: ConsoleSample) => TabMemory) {
  return {
    [`${name}_heap_change_percent`]: growth_percent(samples, (sample) => of(sample).heap_MiB),
    [`${name}_nodes_change_percent`]: growth_percent(samples, (sample) => of(sample).nodes),
    [`${name}_listeners_change_percent`]: growth_percent(samples, (sample) => of(sample).listeners),
  }
}

async function sampled(
  broker: BrokerProcess,
  browser: Browser,
  { duration_ms, interval_ms }: ConsoleSoakOptions,
): Promise<readonly ConsoleSample[]> {
  const [still, walked] = [await MeasuredTab.open(browser), await MeasuredTab.open(browser)]
  for (const tab of [still, walked]) await tab.load(broker.url)
  const ids = await walked.pageIds()
  const samples: ConsoleSample[] = []
  const began_ms = performance.now()
  while (performance.now() - began_ms < duration_ms) {
    await new Promise((resolve) => setTimeout(resolve, interval_ms))
    for (const id of [...ids.slice(1), ids[0] ?? '']) await walked.show(id)
    const sample = {
      resident_MiB: rounded(residentBeyondFiles_MiB(broker.pid) ?? 0),
      heap_MiB: rounded(await heap_MiB(broker.url)),
      descriptors: readdirSync(`/proc/${broker.pid}/fd`).length,
      tab: await still.memory(),
      walkedTab: await walked.memory(),
    }
    samples.push(sample)
    const at_s = Math.round((performance.now() - began_ms) / 1000)
    console.log(JSON.stringify({ soak: 'interval', at_s, ...sample }))
  }
  return samples
}

async function heap_MiB(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]) / 2 ** 20
}

await runProgram(async (argv) => {
  const options = parseConsoleSoakOptions(argv)
  if (options !== undefined) return consoleSoak(options)
  console.log(help)
  return true
})
