import { MessageChannel, type MessagePort, receiveMessageOnPort, type TransferListItem } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { ThreadLink } from './link.js'
import type { Methods, Operations } from './service.js'

interface ThreadSettings<Task, Far extends object> {
  /** The thread's entry in `workers/`: its default export runs the task until it is told to end. */
  readonly entry: URL
  readonly task: Task
  readonly transfer?: readonly TransferListItem[]
  /** The heap limit in MiB, beyond which the thread dies; absent: Node's limit. */
  readonly heap_MiB?: number | undefined
  /** The operations that the thread offers. */
  readonly far: Operations<Far>
  /** The methods offered to the thread. */
  readonly offered: Methods
  /** Told when the thread is started; what it gives is called when the thread has ended. */
  readonly begins?: () => () => void
}

/** Batches live for a turn: room for several of them keeps short-lived objects from being copied repeatedly. */
const youngGeneration_MB = 64

/**
 * A thread that one task occupies for all its life: a piscina pool of one thread. (piscina's own queue does not fit an actor: it
 * would hand a partition's work to any idle thread.) The thread and its starter call each other on a port, see `ThreadLink`.
 */
export class LinkedThread<Task extends object, Far extends object> {
  /** Unanswered questions reject with the fault that ended the thread. */
  readonly far: Far
  /** Resolves when the task has ended as told; rejects when the thread died. */
  readonly ended: Promise<void>
  readonly #pool: Piscina
  readonly #control: MessagePort
  /** See `parkWhenTold`. */
  readonly #parking: MessagePort
  #isGone = false
  #hasDied = false

  constructor({ entry, task, transfer = [], heap_MiB, far, offered, begins }: ThreadSettings<Task, Far>) {
    this.#pool = new Piscina({
      filename: entry.href,
      // With a minimum of one, the pool would replace a dead thread by another that nobody uses, and Node aborts the process when
      // the pool is destroyed while that thread still loads its program.
      minThreads: 0,
      maxThreads: 1,
      concurrentTasksPerWorker: 1,
      atomics: 'disabled', // The default lets a thread sleep between tasks without looking at its ports and timers.
      idleTimeout: Number.POSITIVE_INFINITY,
      resourceLimits: {
        maxYoungGenerationSizeMb: youngGeneration_MB,
        ...(heap_MiB !== undefined && { maxOldGenerationSizeMb: heap_MiB }),
      },
      recordTiming: false, // It counts microseconds; waits are measured elsewhere, in nanoseconds.
    })
    const { port1, port2 } = new MessageChannel()
    this.#control = port1
    const parking = new MessageChannel()
    this.#parking = parking.port1
    // Only a caller that waits for it keeps the process alive.
    parking.port1.unref()
    const link = new ThreadLink<Far>({ port: port1, far, offered, answersFaults: true })
    this.far = link.far
    const ends = begins?.()
    const running: Promise<unknown> = Promise.race([
      this.#endBeforeTask(),
      this.#pool.run(
        { ...task, control: port2, parking: parking.port2 },
        { transferList: [port2, parking.port2, ...transfer] },
      ),
    ])
    // The end of the task comes on another port, possibly before its last message.
    this.ended = running.then(() => {
      for (let left = receiveMessageOnPort(port1); left; left = receiveMessageOnPort(port1)) link.take(left.message)
    })
    const gone = (why: unknown): void => {
      this.#isGone = true
      ends?.()
      link.gone(why)
    }
    // A caller that waits for the end gets the failure; without one it must not become an unhandled rejection.
    this.ended.then(() => gone(new Error('the thread has ended without the response that was waited for')), gone)
  }

  /** Whether the thread itself is gone, of whatever; a task that fails leaves it. */
  get hasDied(): boolean {
    return this.#hasDied
  }

  /** The thread's answer; undefined when the thread has ended before. */
  async unlessGone<Response>(response: Promise<Response>): Promise<Response | undefined> {
    try {
      return await response
    } catch (fault) {
      if (this.#isGone) return undefined
      throw fault
    }
  }

  /**
   * Makes the thread sleep for good, whatever its task is doing, so that the process can be ended. Resolves when it sleeps or has
   * ended; nothing else may follow.
   */
  async park(): Promise<void> {
    const parked = new Promise<void>((resolve) => this.#parking.once('message', () => resolve()))
    this.#parking.postMessage('park')
    await Promise.race([parked, this.ended.catch(() => {})])
  }

  /**
   * Rejects when the thread dies while it still loads its program. The task is handed to it after that: the pool says so with an event
   * that ends the process where nobody listens, or, of a thread that exits, with none.
   */
  #endBeforeTask(): Promise<never> {
    return new Promise((_, reject) => {
      this.#pool.on('error', reject)
      this.#pool.on('workerDestroy', () => {
        this.#hasDied = true
        // The fault, if there is one, is told of behind this.
        setImmediate(() => reject(new Error('the thread has ended before its task')))
      })
    })
  }

  /** Destroys the pool once the task has ended or the thread has died. */
  async close(): Promise<void> {
    this.#control.close()
    this.#parking.close()
    await this.#pool.destroy()
  }
}
