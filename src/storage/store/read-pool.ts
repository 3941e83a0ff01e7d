import type { Log } from '../../observe/log/log.js'
import { traceArea } from '../../observe/log/trace.js'
import type { WaitMeter } from '../../observe/measure/waits.js'
import { LedgerSemaphore } from '../../threads/shared-memory/semaphore.js'
import { type Nanoseconds, secondsText } from '../../time.js'

/** The bounded pool of read transactions of one partition, shared by all threads [management 5.3]. */
export class ReadPool {
  readonly #handles: LedgerSemaphore
  readonly #wait: WaitMeter
  readonly #log: Log | undefined

  /** The memory of a pool of this many handles, for this many threads. */
  static memory(handles: number, rows = 1): SharedArrayBuffer {
    return LedgerSemaphore.memory(handles, rows)
  }

  /** `row` is the thread's own row. */
  constructor(memory: SharedArrayBuffer, row: number, wait: WaitMeter, log?: Log) {
    this.#handles = new LedgerSemaphore(memory, row)
    this.#wait = wait
    this.#log = log
  }

  /** The number of free handles. */
  get free(): number {
    return this.#handles.free
  }

  /** Takes a handle: returns undefined if one was free, otherwise a promise that resolves when this thread has it. */
  take(): Promise<void> | undefined {
    if (this.#traces('storage.pool')) this.#log?.trace('storage.pool', 'read handle asked for', { free: this.free })
    const meter = this.#wait
    const turn = this.#handles.take()
    if (turn === undefined) {
      if (meter.on) meter.free()
      return undefined
    }
    if (!meter.on && !this.#traces('wait.pool')) return turn
    const since = process.hrtime.bigint()
    return turn.then(() => this.#waited(process.hrtime.bigint() - since))
  }

  /** Gives a handle back. */
  release(): void {
    if (this.#traces('storage.pool')) this.#log?.trace('storage.pool', 'read handle returned')
    this.#handles.release()
  }

  /** Releases the handles of a thread that has ended. The row must not be in use. */
  giveBackOf(row: number): void {
    this.#handles.giveBackOf(row)
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
}
