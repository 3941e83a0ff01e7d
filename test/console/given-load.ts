import { Agent, request } from 'node:http'
import type { Test } from 'tap'
import type { RunningBroker } from '../running.js'

/** What a client of the broker sends while somebody looks at the console. */
export class Load {
  /** Updates that were answered with success. */
  succeeded = 0
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8 })
  readonly #broker: RunningBroker
  #isOver = false
  #running: Promise<void> | undefined

  constructor(t: Test, broker: RunningBroker) {
    this.#broker = broker
    t.teardown(() => this.end())
  }

  /** Updates and reads at about this rate, in small groups, until it is ended. */
  begin(perSecond: number): void {
    this.#isOver = false
    this.#running = this.#run(perSecond)
  }

  async end(): Promise<void> {
    this.#isOver = true
    await this.#running
    this.#agent.destroy()
  }

  async #run(perSecond: number): Promise<void> {
    const group = Math.max(1, Math.round(perSecond / 50))
    const begun_ms = Date.now()
    for (let sent = 0; !this.#isOver; sent += group) {
      const numbers = Array.from({ length: group }, (_, at) => sent + at)
      await Promise.all([...numbers.map((number) => this.#update(number)), this.#send('GET', '/v2/entities/Room0')])
      const early_ms = begun_ms + (1000 * (sent + group)) / perSecond - Date.now()
      if (early_ms > 0) await new Promise((resolve) => setTimeout(resolve, early_ms))
    }
  }

  async #update(number: number): Promise<void> {
    const temperature = { type: 'Number', value: number }
    const entity = { id: `Room${number % 50}`, type: 'Room', temperature }
    const status = await this.#send('POST', '/v2/entities?options=upsert', JSON.stringify(entity))
    if (status < 300) this.succeeded += 1
  }

  /** The status; 0 without a response, as while the broker is not there. */
  #send(method: string, path: string, body = ''): Promise<number> {
    const headers = body === '' ? {} : { 'Content-Type': 'application/json' }
    return new Promise((resolve) => {
      const options = { host: '127.0.0.1', port: this.#broker.port, method, path, headers, agent: this.#agent }
      request(options, (response) => response.resume().on('end', () => resolve(response.statusCode ?? 0)))
        .on('error', () => resolve(0))
        .end(body)
    })
  }
}
