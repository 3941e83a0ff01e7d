import { MessageChannel, type MessagePort, receiveMessageOnPort, type TransferListItem } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { ThreadLink } from './link.js'
import type { Methods, Operations } from './service.js'

interface ThreadSettings<Task, Far extends object> {
  /** The thread's entry in `workers/`: its default export runs the task until it is told to end. */
  readonly entry: URL
  readonly task: Task
  readonly transfer?: readonly TransferListItem[]
  /** How large its heap may grow, in MiB: beyond it the thread dies. As large as Node allows unless it is given. */
  readonly heap_MiB?: number | undefined
  /** What the thread offers. */
  readonly far: Operations<Far>
  /** What is offered to it. */
  readonly offered: Methods
}

/** Batches live for a turn: room for several of them keeps short-lived objects from being copied again and again. */
const youngGeneration_MB = 64

/**
 * A thread that one task occupies for all its life: a piscina pool of one. (piscina's own queue is of no use to an
 * actor: it would hand a partition's work to whichever thread is idle.) The thread that starts it calls it, and is called by it, by a
 * port of its own, see `ThreadLink`.
 */
export class LinkedThread<Task extends object, Far extends object> {
  /** What was not answered rejects with the fault of which the thread has died. */
  readonly far: Far
  /** Resolves when the task has ended as it was told to; fails when the thread died. */
  readonly ended: Promise<void>
  readonly #pool: Piscina
  readonly #control: MessagePort
  /** See `parkWhenTold`. */
  readonly #parking: MessagePort
  #isGone = false

  constructor({ entry, task, transfer = [], heap_MiB, far, offered }: ThreadSettings<Task, Far>) {
    this.#pool = new Piscina({
      filename: entry.href,
      // With one the pool would start another thread in the place of one that died, for nobody: and Node aborts the process
      // when the pool is let go of while that thread still loads its program.
      minThreads: 0,
      maxThreads: 1,
      concurrentTasksPerWorker: 1,
      atomics: 'disabled', // The default lets a thread sleep between tasks without looking at its ports and timers.
      idleTimeout: Number.POSITIVE_INFINITY,
      resourceLimits: {
        maxYoungGenerationSizeMb: youngGeneration_MB,
        ...(heap_MiB !== undefined && { maxOldGenerationSizeMb: heap_MiB }),
      },
      recordTiming: false, // Counts microseconds; waits are measured elsewhere, in nanoseconds.
    })
    const { port1, port2 } = new MessageChannel()
    this.#control = port1
    const parking = new MessageChannel()
    this.#parking = parking.port1
    // Whoever waits for it keeps the process.
    parking.port1.unref()
    const link = new ThreadLink<Far>({ port: port1, far, offered, answersFaults: true })
    this.far = link.far
    const running: Promise<unknown> = this.#pool.run(
      { ...task, control: port2, parking: parking.port2 },
      { transferList: [port2, parking.port2, ...transfer] },
    )
    // That the task has ended comes on another port, and may come before its last message.
    this.ended = running.then(() => {
      for (let left = receiveMessageOnPort(port1); left; left = receiveMessageOnPort(port1)) link.take(left.message)
    })
    const gone = (why: unknown): void => {
      this.#isGone = true
      link.gone(why)
    }
    // Whoever waits for the end gets the failure; else it is not an unhandled rejection.
    this.ended.then(() => gone(new Error('the thread has ended without the answer that was waited for')), gone)
  }

  /** What the thread answers; nothing when it has ended before that. */
  async unlessGone<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await answer
    } catch (fault) {
      if (this.#isGone) return undefined
      throw fault
    }
  }

  /**
   * Has the thread sleep for good, wherever it is with its task, so that the process can be ended. Resolves when it sleeps, or has
   * ended; to be followed by nothing else.
   */
  async park(): Promise<void> {
    const parked = new Promise<void>((resolve) => this.#parking.once('message', () => resolve()))
    this.#parking.postMessage('park')
    await Promise.race([parked, this.ended.catch(() => {})])
  }

  /** Lets go of the pool once the task has ended or the thread has died. */
  async close(): Promise<void> {
    this.#control.close()
    this.#parking.close()
    await this.#pool.destroy()
  }
}
