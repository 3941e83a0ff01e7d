import { readdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { BrokerProcess, DataFolder, ownBroker } from './broker-process.js'
import { addressOf, Connection } from './connection.js'
import { Helper } from './helper.js'
import { residentBeyondFiles_MiB } from './memory.js'
import { refusalIn } from './ngsi.js'
import { orWrong, parseAmount, parseCount, parseFlags } from './options.js'
import { runProgram } from './program.js'
import type { ReceiverReply, ReceiverTask } from './receiver.js'
import { written } from './request.js'
import { rounded } from './rounds.js'
import { growth_percent } from './steadiness.js'

const help = `node dist/bench/soak.js [option ...]

Updates, reads, queries and notifications at full rate for a long time. Says every interval how much memory the process
uses, how many descriptors, how many requests there were and how long they took; and at the end whether that stayed as it
was: the mean of the last third against that of the second third, the first one being for warming up.

  --minutes N       how long (30)
  --interval S      seconds between two lines (60)
  --connections N   connections, each with one request at a time (32)
  --devices N       entities that are updated and read (10000)
  --tolerance P     how many per cent memory and descriptors may grow, and the rate fall, from one third to the next (10)
  --broker FILE     the script of the broker to start (the one built with this program)
  --flags="FLAGS"   further flags for it

The lines and the result are JSON on standard output. The exit code is 0 when all stayed as it was and every request had
the answer it should have, otherwise 1, and 2 for a wrong command line.`

interface SoakOptions {
  readonly duration_ms: number
  readonly interval_ms: number
  readonly connections: number
  readonly devices: number
  readonly tolerance_percent: number
  readonly main: string
  readonly flags: readonly string[]
}

/** What was so in one interval. */
interface Sample {
  readonly resident_MiB: number
  readonly descriptors: number
  readonly rate_per_s: number
  readonly p99_ms: number
}

function parseSoakOptions(argv: readonly string[]): SoakOptions | undefined {
  const text = { type: 'string' } as const
  const options = {
    minutes: { ...text, default: '30' },
    interval: { ...text, default: '60' },
    connections: { ...text, default: '32' },
    devices: { ...text, default: '10000' },
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
    connections: parseCount('--connections', values.connections),
    devices: parseCount('--devices', values.devices),
    tolerance_percent: parseAmount('--tolerance', values.tolerance),
    main: values.broker,
    flags: parseFlags(values.flags),
  }
}

/** The clients, and what they have seen since they were last asked. */
class SoakLoad {
  readonly #url: string
  readonly #options: SoakOptions
  #times_ms: number[] = []
  #running = true
  refused = 0
  lost = 0
  requests = 0

  constructor(url: string, options: SoakOptions) {
    this.#url = url
    this.#options = options
  }

  async run(): Promise<void> {
    await Promise.all(Array.from({ length: this.#options.connections }, (_, client) => this.#client(client)))
  }

  stop(): void {
    this.#running = false
  }

  /** How many requests were answered since the last time, and the time in which 99 of 100 were. */
  taken(): { readonly count: number; readonly p99_ms: number } {
    const times = this.#times_ms.sort((a, b) => a - b)
    this.#times_ms = []
    return { count: times.length, p99_ms: times[Math.floor(times.length * 0.99)] ?? 0 }
  }

  async #client(client: number): Promise<void> {
    const address = addressOf(this.#url)
    const connection = new Connection(address, 60_000)
    for (let number = client; this.#running; number += this.#options.connections) {
      const request = written(this.#request(number), address)
      const began_ms = performance.now()
      try {
        const { text, status } = await connection.ask(request)
        if (status !== 200 || refusalIn(text) !== undefined) this.refused += 1
      } catch {
        this.lost += 1
      }
      this.#times_ms.push(performance.now() - began_ms)
      this.requests += 1
    }
    connection.close()
  }

  /** Of ten requests six update one entity, three read one, and one in a hundred is a page of a scan. */
  #request(number: number): { verb: 'GET' | 'POST'; path: string; body?: string } {
    const id = `Device-${(number * 7_919) % this.#options.devices}`
    const kind = number % 10
    if (number % 100 === 99) {
      const body = JSON.stringify({ entities: [{ type: 'Device', isPattern: 'true', id: '^Device-1' }] })
      return { verb: 'POST', path: '/v1/queryContext?limit=20', body }
    }
    if (kind >= 7 && number >= this.#options.devices) return { verb: 'GET', path: `/v1/contextEntities/${id}` }
    const attributes = [{ name: 'level', type: 'number', value: String(number) }]
    const contextElements = [{ type: 'Device', isPattern: 'false', id, attributes }]
    return {
      verb: 'POST',
      path: '/v1/updateContext',
      body: JSON.stringify({ contextElements, updateAction: 'APPEND' }),
    }
  }
}

async function soak(options: SoakOptions): Promise<boolean> {
  const folder = new DataFolder()
  const receiver = new Helper<ReceiverTask, ReceiverReply>('./receiver.js')
  const broker = await BrokerProcess.start({ main: options.main, folder, flags: options.flags })
  try {
    const { url } = await receiver.ask({ reset: true })
    await subscribe(broker.url, url)
    const load = new SoakLoad(broker.url, options)
    const running = load.run()
    const samples = await sampled(broker.pid, load, options)
    load.stop()
    await running
    const steady = verdict(samples, options.tolerance_percent)
    const { received } = await receiver.ask({ reset: false })
    const { requests, refused, lost } = load
    const minutes = rounded(options.duration_ms / 60_000)
    console.log(JSON.stringify({ bench: 'soak', minutes, requests, refused, lost, notified: received, ...steady }))
    await broker.end()
    return steady.steady && refused + lost === 0
  } catch (fault) {
    throw await broker.abandon(fault)
  } finally {
    await receiver.end()
    folder.remove()
  }
}

/** One in ten devices is notified of. */
async function subscribe(url: string, reference: string): Promise<void> {
  const entities = [{ type: 'Device', isPattern: 'true', id: '0$' }]
  const body = JSON.stringify({ entities, reference, duration: 'P1Y', notifyConditions: [{ type: 'ONCHANGE' }] })
  const address = addressOf(url)
  const connection = new Connection(address)
  const { text } = await connection.ask(written({ verb: 'POST', path: '/v1/subscribeContext', body }, address))
  connection.close()
  if (!text.includes('subscriptionId')) throw new Error(`no subscription was made: ${text}`)
}

async function sampled(pid: number, load: SoakLoad, { duration_ms, interval_ms }: SoakOptions): Promise<Sample[]> {
  const samples: Sample[] = []
  const began_ms = performance.now()
  let last_ms = began_ms
  while (performance.now() - began_ms < duration_ms) {
    await new Promise((resolve) => setTimeout(resolve, interval_ms))
    const { count, p99_ms } = load.taken()
    const now_ms = performance.now()
    const sample = {
      resident_MiB: Math.round(residentBeyondFiles_MiB(pid) ?? 0),
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      rate_per_s: Math.round((count * 1000) / (now_ms - last_ms)),
      p99_ms: rounded(p99_ms),
    }
    last_ms = now_ms
    samples.push(sample)
    console.log(JSON.stringify({ soak: 'interval', at_s: Math.round((now_ms - began_ms) / 1000), ...sample }))
  }
  return samples
}

interface Verdict {
  readonly steady: boolean
  readonly resident_change_percent: number
  readonly descriptors_change_percent: number
  readonly rate_change_percent: number
  readonly p99_ms: number
}

/** The last third of the intervals against the second one. */
function verdict(samples: readonly Sample[], tolerance_percent: number): Verdict {
  const third = Math.max(1, Math.floor(samples.length / 3))
  const resident_change_percent = growth_percent(samples, (sample) => sample.resident_MiB)
  const descriptors_change_percent = growth_percent(samples, (sample) => sample.descriptors)
  const rate_change_percent = growth_percent(samples, (sample) => sample.rate_per_s)
  const grows = Math.max(resident_change_percent, descriptors_change_percent, -rate_change_percent)
  return {
    steady: grows <= tolerance_percent,
    resident_change_percent,
    descriptors_change_percent,
    rate_change_percent,
    p99_ms: Math.max(...samples.slice(-third).map((sample) => sample.p99_ms)),
  }
}

await runProgram(async (argv) => {
  const options = parseSoakOptions(argv)
  if (options !== undefined) return soak(options)
  console.log(help)
  return true
})
