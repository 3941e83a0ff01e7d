import { readdirSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { BrokerProcess, DataFolder } from './broker-process.js'
import { missingBrowser, startChromium } from './chromium.js'
import { addressOf, Connection } from './connection.js'
import { MeasuredTab, type TabMemory } from './console-tab.js'
import { updateReading } from './device.js'
import { createDevices } from './fleet.js'
import { residentBeyondFiles_MiB } from './memory.js'
import { helpOf, option, parseAmount, parseOptions, type ValuesOf } from './options.js'
import { runProgram } from './program.js'
import { written } from './request.js'
import { rounded } from './rounds.js'
import { growths, sampled, steadinessOptions } from './steadiness.js'

const consoleSoakOptions = {
  ...steadinessOptions({ minutes: '60', interval: '30', devices: '1000' }),
  rate_per_s: option('rate N', 'updates in a second', parseAmount, '50'),
} as const

type ConsoleSoakOptions = ValuesOf<typeof consoleSoakOptions>

const help = `node dist/bench/console-soak.js [option ...]

The console in a browser for a long time, beside a light load: one tab that stays on its first page, and one that is led
through all pages before each line. Says every interval how much memory the broker and the tabs hold, the latter after their
garbage was collected; and at the end whether that stayed as it was: the mean of the last third against that of the second
third, the first one being for warming up.

${helpOf(consoleSoakOptions)}

The lines and the result are JSON on standard output. The exit code is 0 when all stayed as it was, otherwise 1, and 2 for a
wrong command line.`

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
    const samples = await samplesOf(broker, browser, options)
    load.stop()
    await running
    const change = growths(samples, {
      resident: (sample) => sample.resident_MiB,
      descriptors: (sample) => sample.descriptors,
      tab_heap: ({ tab }) => tab.heap_MiB,
      tab_nodes: ({ tab }) => tab.nodes,
      tab_listeners: ({ tab }) => tab.listeners,
      walked_tab_heap: ({ walkedTab }) => walkedTab.heap_MiB,
      walked_tab_nodes: ({ walkedTab }) => walkedTab.nodes,
      walked_tab_listeners: ({ walkedTab }) => walkedTab.listeners,
    })
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

async function samplesOf(
  broker: BrokerProcess,
  browser: Browser,
  options: ConsoleSoakOptions,
): Promise<readonly ConsoleSample[]> {
  const [still, walked] = [await MeasuredTab.open(browser), await MeasuredTab.open(browser)]
  for (const tab of [still, walked]) await tab.load(broker.url)
  const ids = await walked.pageIds()
  return sampled(options, async () => {
    for (const id of [...ids.slice(1), ids[0] ?? '']) await walked.show(id)
    return {
      resident_MiB: rounded(residentBeyondFiles_MiB(broker.pid) ?? 0),
      heap_MiB: rounded(await heap_MiB(broker.url)),
      descriptors: readdirSync(`/proc/${broker.pid}/fd`).length,
      tab: await still.memory(),
      walkedTab: await walked.memory(),
    }
  })
}

async function heap_MiB(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)?.[1]) / 2 ** 20
}

await runProgram({ help, parse: (argv) => parseOptions(consoleSoakOptions, argv)?.values, run: consoleSoak })
