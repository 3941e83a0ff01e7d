import type { Log } from '../log/log.js'
import type { WaitMeter } from '../measure/waits.js'
import { type Nanoseconds, secondsText } from '../time.js'
import { traceArea } from '../trace-area.js'

const nextTicket = 0
const granted = 1

/**
 * The bounded pool of read transactions of one partition, shared by all threads: a semaphore of tickets in shared
 * memory. Whoever draws a ticket below the number granted may read; everybody else is served in the order of the
 * tickets, whichever thread they wait in [management 5.3].
 */
export class ReadPool {
  readonly #cells: Int32Array
  readonly #wait: WaitMeter
  readonly #log: Log | undefined

  /** The memory of a pool of this many handles. */
  static memory(handles: number): SharedArrayBuffer {
    const memory = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
    new Int32Array(memory)[granted] = handles
    return memory
  }

  constructor(memory: SharedArrayBuffer, wait: WaitMeter, log?: Log) {
    this.#log = log
    this.#cells = new Int32Array(memory)
    this.#wait = wait
  }

  /** Handles that nobody holds. */
  get free(): number {
    const left = (Atomics.load(this.#cells, granted) - Atomics.load(this.#cells, nextTicket)) | 0
    return Math.max(0, left)
  }

  /** Takes a handle: nothing to wait for when one is free, which is answered at once. */
  take(): Promise<void> | undefined {
    if (this.#traces('storage.pool')) this.#log?.trace('storage.pool', 'read handle asked for', { free: this.free })
    const ticket = Atomics.add(this.#cells, nextTicket, 1)
    const meter = this.#wait
    if (this.#isGranted(ticket)) {
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
    Atomics.add(this.#cells, granted, 1)
    Atomics.notify(this.#cells, granted)
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

  /** The difference is taken modulo 2^32, so that tickets may run around. */
  #isGranted(ticket: number): boolean {
    return ((ticket - Atomics.load(this.#cells, granted)) | 0) < 0
  }

  async #turnOf(ticket: number): Promise<void> {
    while (!this.#isGranted(ticket)) {
      const seen = Atomics.load(this.#cells, granted)
      if (this.#isGranted(ticket)) return
      await Atomics.waitAsync(this.#cells, granted, seen).value
    }
  }
}
