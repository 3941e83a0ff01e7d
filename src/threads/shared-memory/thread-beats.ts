import { readlinkSync } from 'node:fs'
import { StartGivenUp } from '../../faults.js'
import type { Nanoseconds } from '../../time.js'

const stageCell = 0
const beatsCell = 1
const threadCell = 2
const writingCell = 3
const cells = 4

/** What is in the first cell of a row: nobody is watched, a thread that loads its program, or one that shows beats. */
const stages = { none: 0n, begins: 1n, runs: 2n } as const

/** How often the event loop of a thread shows a beat. */
const beat_ms = 1000

/** The signs of life of a thread. */
export interface ThreadBeat {
  readonly isWatched: boolean
  /** Whether it still loads its program: it was started, and has shown no beat. */
  readonly isBeginning: boolean
  /** Counts up while the thread returns to its event loop, or waits in an allowed way. */
  readonly beats: bigint
  /** The system's number of the thread; 0 where that is unknown. */
  readonly thread: number
  /** Since when it is inside a write transaction, by the monotonic clock; 0 while it is not. */
  readonly writingSince: Nanoseconds
}

/**
 * Signs of life of all threads: each thread writes its own row, which other threads read. A thread that stands still cannot
 * report that itself.
 */
export class ThreadBeats {
  readonly #cells: BigInt64Array

  static memory(rows: number): SharedArrayBuffer {
    return new SharedArrayBuffer((rows * cells + 1) * BigInt64Array.BYTES_PER_ELEMENT)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new BigInt64Array(memory)
  }

  get rows(): number {
    return this.#givenUpCell / cells
  }

  /** Has all threads that recover a log stop: the process ends before it has started. */
  giveUpStart(): void {
    Atomics.store(this.#cells, this.#givenUpCell, 1n)
  }

  of(row: number): ThreadBeat {
    const stage = this.#cell(row, stageCell)
    return {
      isWatched: stage !== stages.none,
      isBeginning: stage === stages.begins,
      beats: this.#cell(row, beatsCell),
      thread: Number(this.#cell(row, threadCell)),
      writingSince: this.#cell(row, writingCell),
    }
  }

  /** Watches a thread that the calling one starts, until it ends: the starter calls what this gives when it has. */
  begins(row: number): () => void {
    this.#put(row, threadCell, 0n)
    this.#put(row, stageCell, stages.begins)
    return () => this.#put(row, stageCell, stages.none)
  }

  /** Watches the calling thread from now on, until it ends or the function that this gives is called. */
  watch(row: number): () => void {
    this.#put(row, threadCell, BigInt(ownThread()))
    this.#put(row, writingCell, 0n)
    this.beat(row)
    this.#put(row, stageCell, stages.runs)
    const timer = setInterval(() => this.beat(row), beat_ms).unref()
    const stop = (): void => {
      clearInterval(timer)
      process.off('exit', stop)
      this.#put(row, stageCell, stages.none)
    }
    // A thread's exit event also comes when an exception ends it.
    process.once('exit', stop)
    return stop
  }

  /** The thread runs, although its event loop may not have turned. */
  beat(row: number): void {
    Atomics.add(this.#cells, row * cells + beatsCell, 1n)
  }

  /** The record of the thread's write transactions. */
  writing(row: number): WriteWatch {
    return {
      begun: () => this.#put(row, writingCell, process.hrtime.bigint()),
      ended: () => this.#put(row, writingCell, 0n),
      goesOn: () => this.beat(row),
      recovers: () => {
        this.beat(row)
        if (Atomics.load(this.#cells, this.#givenUpCell) === 1n) throw new StartGivenUp('the start was given up')
      },
    }
  }

  /** Behind all rows. */
  get #givenUpCell(): number {
    return this.#cells.length - 1
  }

  #cell(row: number, cell: number): bigint {
    return Atomics.load(this.#cells, row * cells + cell)
  }

  #put(row: number, cell: number, value: bigint): void {
    Atomics.store(this.#cells, row * cells + cell, value)
  }
}

/** Records the write transactions of a thread. A thread that dies inside of one never reports its end. */
export interface WriteWatch {
  begun(): void
  ended(): void
  /** Marks progress of work that blocks the event loop. */
  goesOn(): void
  /** Marks progress of the recovery of a log, which takes long. Throws when the start was given up. */
  recovers(): void
}

/** The system's number of the calling thread; 0 where that is unknown. */
function ownThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return 0
  }
}
