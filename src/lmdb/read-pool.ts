import type { Log } from '../log/log.js'
import type { WaitMeter } from '../measure/waits.js'
import { type Ticket, Tickets } from '../tickets.js'
import { type Nanoseconds, secondsText } from '../time.js'
import { traceArea } from '../trace-area.js'

/** The bounded pool of read transactions of one partition, shared by all threads [management 5.3]. */
export class ReadPool {
  readonly #tickets: Tickets
  readonly #wait: WaitMeter
  readonly #log: Log | undefined

  /** The memory of a pool of this many handles. */
  static memory(handles: number): SharedArrayBuffer {
    return Tickets.memory(handles)
  }

  constructor(memory: SharedArrayBuffer, wait: WaitMeter, log?: Log) {
    this.#log = log
    this.#tickets = new Tickets(memory)
    this.#wait = wait
  }

  /** Handles that nobody holds. */
  get free(): number {
    return this.#tickets.free
  }

  /** Takes a handle: nothing to wait for when one is free, which is answered at once. */
  take(): Promise<void> | undefined {
    if (this.#traces('storage.pool')) this.#log?.trace('storage.pool', 'read handle asked for', { free: this.free })
    const ticket = this.#tickets.draw()
    const meter = this.#wait
    if (this.#tickets.isGranted(ticket)) {
      if (meter.on) meter.free()
      return undefined
    }
    if (!meter.on && !this.#traces('wait.pool')) return this.#turnOf(ticket)
    const since = process.hrtime.bigint()
    return this.#turnOf(ticket).then(() => this.#waited(process.hrtime.bigint() - since))
  }

  /** Gives a handle back. */
  release(): void {
    if (this.#traces('storage.pool')) this.#log?.trace('storage.pool', 'read handle returned')
    this.#tickets.release()
  }

  #waited(wait: Nanoseconds): void {
    if (this.#wait.on) this.#wait.waited(wait)
    if (this.#traces('wait.pool')) {
      this.#log?.trace('wait.pool', `waited ${secondsText(wait)} s for a read handle`, { wait_ns: String(wait) })
    }
  }

  #traces(area: 'storage.pool' | 'wait.pool'): boolean {
    return this.#log?.traces[traceArea[area]] === 1
  }

  async #turnOf(ticket: Ticket): Promise<void> {
    while (!this.#tickets.isGranted(ticket)) await this.#tickets.mayBeGranted(ticket)
  }
}
