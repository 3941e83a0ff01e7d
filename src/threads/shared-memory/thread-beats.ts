import { readlinkSync } from 'node:fs'
import type { Nanoseconds } from '../../time.js'

const isWatchedCell = 0
const beatsCell = 1
const threadCell = 2
const writingCell = 3
const cells = 4

/** How often the event loop of a thread shows that it runs. */
const beat_ms = 1000

/** What a thread shows of itself. */
export interface ThreadBeat {
  readonly isWatched: boolean
  /** Counts up while the thread gives way to its event loop, or waits for something that it may wait for. */
  readonly beats: bigint
  /** How the system numbers the thread; 0 where that is not known. */
  readonly thread: number
  /** Since when it is inside a write transaction, by the monotonic clock; 0 while it is not. */
  readonly writingSince: Nanoseconds
}

/**
 * Whether each thread runs: a row for each, which the thread writes itself, for whoever looks from another thread. A thread that stands
 * still cannot say so.
 */
export class ThreadBeats {
  readonly #cells: BigInt64Array

  static memory(rows: number): SharedArrayBuffer {
    return new SharedArrayBuffer(rows * cells * BigInt64Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new BigInt64Array(memory)
  }

  get rows(): number {
    return this.#cells.length / cells
  }

  of(row: number): ThreadBeat {
    return {
      isWatched: this.#cell(row, isWatchedCell) === 1n,
      beats: this.#cell(row, beatsCell),
      thread: Number(this.#cell(row, threadCell)),
      writingSince: this.#cell(row, writingCell),
    }
  }

  /** The calling thread is to be watched from now on, until it ends or the function that this gives is called. */
  watch(row: number): () => void {
    this.#put(row, threadCell, BigInt(ownThread()))
    this.#put(row, writingCell, 0n)
    this.beat(row)
    this.#put(row, isWatchedCell, 1n)
    const timer = setInterval(() => this.beat(row), beat_ms).unref()
    const stop = (): void => {
      clearInterval(timer)
      process.off('exit', stop)
      this.#put(row, isWatchedCell, 0n)
    }
    // In a thread this is called when the thread ends, also by an exception.
    process.once('exit', stop)
    return stop
  }

  /** The thread runs, although its event loop may not have turned. */
  beat(row: number): void {
    Atomics.add(this.#cells, row * cells + beatsCell, 1n)
  }

  /** Where a thread notes that it is inside a write transaction. */
  writing(row: number): WriteWatch {
    return {
      begun: () => this.#put(row, writingCell, process.hrtime.bigint()),
      ended: () => this.#put(row, writingCell, 0n),
      goesOn: () => this.beat(row),
    }
  }

  #cell(row: number, cell: number): bigint {
    return Atomics.load(this.#cells, row * cells + cell)
  }

  #put(row: number, cell: number, value: bigint): void {
    Atomics.store(this.#cells, row * cells + cell, value)
  }
}

/** Hears of the write transactions of a thread. A thread that ends inside of one never tells of its end. */
export interface WriteWatch {
  begun(): void
  ended(): void
  /** Work that gives way to nothing has come one step further: a log that is recovered takes as long as it is. */
  goesOn(): void
}

/** How the system numbers the calling thread; 0 where it does not say. */
function ownThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return 0
  }
}
