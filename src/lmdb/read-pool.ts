import type { Log } from '../log/log.js'
import type { WaitMeter } from '../measure/waits.js'
import { SharedSemaphore, type Ticket } from '../shared-memory/semaphore.js'
import { type Nanoseconds, secondsText } from '../time.js'
import { traceArea } from '../trace-area.js'

/** Behind the tickets stands what each thread has drawn of them and not given back, and how often it waits. */
const ledgerStart = SharedSemaphore.size_bytes
const cellsPerThread = 2
const drawn = 0
const waiting = 1

/**
 * The bounded pool of read transactions of one partition, shared by all threads [management 5.3]. What a thread holds
 * stands in a row of its own, so that others can give it back when the thread has ended.
 */
export class ReadPool {
  readonly #tickets: SharedSemaphore
  readonly #ledger: Int32Array
  readonly #row: number
  readonly #wait: WaitMeter
  readonly #log: Log | undefined

  /** The memory of a pool of this many handles, for this many threads. */
  static memory(handles: number, rows = 1): SharedArrayBuffer {
    return SharedSemaphore.memory(handles, rows * cellsPerThread * Int32Array.BYTES_PER_ELEMENT)
  }

  /** `row` is that of the thread, which no other one has. */
  constructor(memory: SharedArrayBuffer, row: number, wait: WaitMeter, log?: Log) {
    this.#log = log
    this.#tickets = new SharedSemaphore(memory)
    this.#ledger = new Int32Array(memory, ledgerStart)
    this.#row = row
    this.#wait = wait
  }

  /** Handles that nobody holds. */
  get free(): number {
    return this.#tickets.free
  }

  /** Takes a handle: nothing to wait for when one is free, which is answered at once. */
  take(): Promise<void> | undefined {
    if (this.#traces('storage.pool')) this.#log?.trace('storage.pool', 'read handle asked for', { free: this.free })
    this.#note(drawn, 1)
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
    this.#note(drawn, -1)
  }

  /** The thread of a row has ended: what it held goes to the others. Nobody else uses the row meanwhile. */
  giveBackOf(row: number): void {
    const take = (column: number): number => Atomics.exchange(this.#ledger, row * cellsPerThread + column, 0)
    const [held, waits] = [take(drawn), take(waiting)]
    if (held > 0 || waits > 0) this.#tickets.abandon(held, waits)
  }

  /** Only the thread of the row writes there while it lives. */
  #note(column: number, by: number): void {
    const cell = this.#row * cellsPerThread + column
    Atomics.store(this.#ledger, cell, (this.#ledger[cell] ?? 0) + by)
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
    this.#note(waiting, 1)
    while (!this.#tickets.isGranted(ticket)) await this.#tickets.mayBeGranted(ticket)
    this.#note(waiting, -1)
  }
}
