import { readdirSync } from 'node:fs'
import { BrokerProcess, DataFolder } from './broker-process.js'
import { addressOf, Connection } from './connection.js'
import { Helper } from './helper.js'
import { residentBeyondFiles_MiB } from './memory.js'
import { refusalIn } from './ngsi.js'
import { helpOf, option, parseCount, parseOptions, type ValuesOf } from './options.js'
import { runProgram } from './program.js'
import type { ReceiverReply, ReceiverTask } from './receiver.js'
import { written } from './request.js'
import { rounded } from './rounds.js'
import { growths, sampled, steadinessOptions } from './steadiness.js'

const soakOptions = {
  ...steadinessOptions({ minutes: '30', interval: '60', devices: '10000' }),
  connections: option('connections N', 'connections, each with one request at a time', parseCount, '32'),
} as const

type SoakOptions = ValuesOf<typeof soakOptions>

const help = `node dist/bench/soak.js [option ...]

Updates, reads, queries and notifications at full rate for a long time. Says every interval how much memory the process
uses, how many descriptors, how many requests there were and how long they took; and at the end whether that stayed as it
was: the mean of the last third against that of the second third, the first one being for warming up.

${helpOf(soakOptions)}

The lines and the result are JSON on standard output. The exit code is 0 when all stayed as it was and every request had
the answer it should have, otherwise 1, and 2 for a wrong command line.`

/** What was so in one interval. */
interface Sample {
  readonly resident_MiB: number
  readonly descriptors: number
  readonly rate_per_s: number
  readonly p99_ms: number
}

/** The clients, and what they have seen since they were last asked. */
class SoakLoad {
  readonly #url: string
  readonly #options: SoakOptions
  #times_ms: number[] = []
  #taken_ms = performance.now()
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

  /** How many requests were answered in a second since the last time, and the time in which 99 of 100 were. */
  taken(): Pick<Sample, 'rate_per_s' | 'p99_ms'> {
    const times = this.#times_ms.sort((a, b) => a - b)
    const passed_ms = performance.now() - this.#taken_ms
    this.#times_ms = []
    this.#taken_ms += passed_ms
    return { rate_per_s: (times.length * 1000) / passed_ms, p99_ms: times[Math.floor(times.length * 0.99)] ?? 0 }
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
    const samples = await sampled(options, () => sampleOf(broker.pid, load))
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

function sampleOf(pid: number, load: SoakLoad): Sample {
  const { rate_per_s, p99_ms } = load.taken()
  return {
    resident_MiB: Math.round(residentBeyondFiles_MiB(pid) ?? 0),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    rate_per_s: Math.round(rate_per_s),
    p99_ms: rounded(p99_ms),
  }
}

/** Whether all stayed as it was, and by how much it has changed. */
function verdict(samples: readonly Sample[], tolerance_percent: number) {
  const change = growths(samples, {
    resident: (sample) => sample.resident_MiB,
    descriptors: (sample) => sample.descriptors,
    rate: (sample) => sample.rate_per_s,
  })
  const { resident_change_percent, descriptors_change_percent, rate_change_percent } = change
  const steady =
    Math.max(resident_change_percent, descriptors_change_percent, -rate_change_percent) <= tolerance_percent
  const last = samples.slice(-Math.max(1, Math.floor(samples.length / 3)))
  return { steady, ...change, p99_ms: Math.max(...last.map((sample) => sample.p99_ms)) }
}

await runProgram({ help, parse: (argv) => parseOptions(soakOptions, argv)?.values, run: soak })
