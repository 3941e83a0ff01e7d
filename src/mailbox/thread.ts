import { MessageChannel, type MessagePort, receiveMessageOnPort, type TransferListItem } from 'node:worker_threads'
import { Piscina } from 'piscina'

/** Whatever a thread says names its kind; with `ready` it says that it has begun. */
export interface Saying {
  readonly kind: string
}

/** What a thread says of one kind. */
type Of<Said extends Saying, Kind extends Said['kind']> = Extract<Said, { readonly kind: Kind }>

export interface ThreadSettings<Task, Said> {
  /** The thread's entry in `workers/`: its default export runs the task until it is told to end. */
  readonly entry: URL
  readonly task: Task
  readonly transfer?: readonly TransferListItem[]
  /** How large its heap may grow, in MiB: beyond it the thread dies. As large as Node allows unless it is given. */
  readonly heap_MiB?: number | undefined
  /** Takes what the thread says and nobody waits for, from the beginning: it may say something before it is ready. */
  readonly said?: (said: Said) => void
}

/** Batches live for a turn: room for several of them keeps short-lived objects from being copied again and again. */
const youngGeneration_MB = 64

/**
 * A thread that one task occupies for all its life: a piscina pool of one. (piscina's own queue is of no use to an
 * actor: it would hand a partition's work to whichever thread is idle.) The task talks through a port of its own.
 */
export class ActorThread<Task extends object, Said extends Saying> {
  /** Gives what the thread says when it is ready; fails when it ends before that. */
  readonly ready: Promise<Of<Said, 'ready'>>
  /** Resolves when the task has ended as it was told to; fails when the thread died. */
  readonly ended: Promise<void>
  readonly #pool: Piscina
  readonly #control: MessagePort
  readonly #over: Promise<void>
  /** Each takes what it waits for, and says whether that was it. */
  readonly #waiting: ((said: Said) => boolean)[] = []

  constructor({ entry, task, transfer = [], heap_MiB, said = () => {} }: ThreadSettings<Task, Said>) {
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
    const take = (message: Said): void => {
      const taken = this.#waiting.findIndex((takes) => takes(message))
      if (taken === -1) said(message)
      else this.#waiting.splice(taken, 1)
    }
    port1.on('message', take)
    const running: Promise<unknown> = this.#pool.run(
      { ...task, control: port2 },
      { transferList: [port2, ...transfer] },
    )
    // That the task has ended comes on another port, and may come before what the task said last.
    this.#over = running.then(() => {
      for (let left = receiveMessageOnPort(port1); left; left = receiveMessageOnPort(port1)) take(left.message)
    })
    this.ready = this.hear('ready')
    this.ended = this.#over
    // Whoever waits for one of them gets the failure; the other one is not an unhandled rejection.
    this.ready.catch(() => {})
    this.ended.catch(() => {})
  }

  /** The next thing of a kind that the thread says; fails when it ends before that. */
  hear<Kind extends Said['kind']>(kind: Kind): Promise<Of<Said, Kind>> {
    const said = new Promise<Of<Said, Kind>>((resolve) =>
      this.#waiting.push((message) => {
        if (!isOf(message, kind)) return false
        resolve(message)
        return true
      }),
    )
    return Promise.race([said, this.#over.then(endedEarly)])
  }

  /** Tells the task something, in order. */
  tell(message: unknown, transfer: readonly TransferListItem[] = []): void {
    this.#control.postMessage(message, transfer)
  }

  /** Lets go of the pool once the task has ended or the thread has died. */
  async close(): Promise<void> {
    this.#control.close()
    await this.#pool.destroy()
  }
}

function isOf<Said extends Saying, Kind extends Said['kind']>(said: Said, kind: Kind): said is Of<Said, Kind> {
  return said.kind === kind
}

function endedEarly(): never {
  throw new Error('the thread ended without having said what was waited for')
}
