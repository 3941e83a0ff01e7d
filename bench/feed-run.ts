import { performance } from 'node:perf_hooks'
import { addressOf, Connection, Disconnected } from './connection.js'
import { deviceId, readDevice, readingOf, updateDevice } from './device.js'
import type { Ledger } from './ledger.js'
import { refusalIn } from './ngsi.js'
import { firstFresh, fresh, type Prepared, prepare, written } from './request.js'

/** What devices send: readings that count up, over connections that own their devices. */
export class Feed {
  readonly #ledger: Ledger
  readonly #connections: number
  #nextReading = firstFresh
  #until = 0
  #feeding_ms = 0
  #over = false
  /** Updates that the broker answered with 200, inside and out. */
  acknowledged = 0

  constructor(ledger: Ledger, connections: number) {
    this.#ledger = ledger
    this.#connections = Math.min(connections, ledger.devices)
  }

  get feeding_s(): number {
    return this.#feeding_ms / 1000
  }

  /**
   * Feeds the broker until this many updates in all are acknowledged, then calls `reached` at once, while the requests of
   * the other connections are under way, and resolves when these are answered or lost. A connection that is lost
   * before that is a fault, and so is a refusal.
   */
  async until(updates: number, url: string, reached: () => void): Promise<void> {
    this.#until = updates
    this.#over = false
    const started_ms = performance.now()
    const stop = () => {
      this.#over = true
      this.#feeding_ms += performance.now() - started_ms
      reached()
    }
    if (this.acknowledged >= updates) return stop()
    await this.#perConnection(url, (connection, devices) => this.#feed(connection, devices, url, stop))
  }

  /** Reads every device and gives what is wrong, and how many of the updates under way the broker has kept. */
  async check(url: string): Promise<{ readonly wrong: readonly string[]; readonly kept: number }> {
    const wrong: string[] = []
    let kept = 0
    await this.#perConnection(url, async (connection, devices) => {
      for (const device of devices) {
        const { text } = await connection.ask(written(readDevice(device), addressOf(url)))
        const refusal = refusalIn(text)
        const found = refusal === undefined ? readingOf(text) : { wrong: refusal }
        const compared = 'wrong' in found ? { ...found, kept: false } : this.#ledger.compare(device, found.reading)
        if (compared.wrong !== undefined) wrong.push(`${deviceId(device)}: ${compared.wrong}`)
        if (compared.kept) kept += 1
      }
    })
    return { wrong, kept }
  }

  async #feed(connection: Connection, devices: readonly number[], url: string, stop: () => void): Promise<void> {
    // Requests are written when they are first needed and kept: writing JSON costs more than sending it.
    const requests = new Map<number, Prepared>()
    while (!this.#over) {
      for (const device of devices) {
        if (this.#over) return
        const request = requests.get(device) ?? prepare(updateDevice(device, fresh), addressOf(url))
        requests.set(device, request)
        if (!(await this.#update(connection, device, request))) return
        if (this.acknowledged === this.#until) stop()
      }
    }
  }

  /** Sends one update; false when the broker is gone, as it should be once the feed is over. */
  async #update(connection: Connection, device: number, request: Prepared): Promise<boolean> {
    const reading = this.#nextReading++
    this.#ledger.sent(device, reading)
    try {
      const { status, text } = await connection.ask(request(reading))
      const refusal = status === 200 ? refusalIn(text) : `HTTP ${status} ${text.slice(0, 200)}`
      if (refusal !== undefined) throw new Error(`an update of ${deviceId(device)} was refused: ${refusal}`)
      this.#ledger.acknowledged(device, reading)
      this.acknowledged += 1
      return true
    } catch (fault) {
      if (this.#over && fault instanceof Disconnected) return false
      this.#over = true // One fault ends the whole feed.
      throw fault
    }
  }

  async #perConnection(
    url: string,
    work: (connection: Connection, devices: readonly number[]) => Promise<void>,
  ): Promise<void> {
    const all = Array.from({ length: this.#ledger.devices }, (_, device) => device)
    await Promise.all(
      Array.from({ length: this.#connections }, async (_, sequence) => {
        const connection = new Connection(addressOf(url), 30_000)
        try {
          await work(
            connection,
            all.filter((device) => device % this.#connections === sequence),
          )
        } finally {
          connection.close()
        }
      }),
    )
  }
}
