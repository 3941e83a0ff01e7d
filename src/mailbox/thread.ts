import { MessageChannel, type MessagePort, receiveMessageOnPort, type TransferListItem } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { Lifetime } from '../lifetime.js'
import { type LinkMessage, ThreadLink } from '../thread/link.js'
import { onMessages } from '../thread/messages.js'
import type { Method, Operations } from '../thread/service.js'

/** What a thread reports names its kind; with `ready` it reports that it has begun. */
export interface ThreadReport {
  readonly kind: string
}

/** The reports of one kind. */
type OfKind<Report extends ThreadReport, Kind extends Report['kind']> = Extract<Report, { readonly kind: Kind }>

export interface ThreadSettings<Task, Report> {
  /** The thread's entry in `workers/`: its default export runs the task until it is told to end. */
  readonly entry: URL
  readonly task: Task
  readonly transfer?: readonly TransferListItem[]
  /** How large its heap may grow, in MiB: beyond it the thread dies. As large as Node allows unless it is given. */
  readonly heap_MiB?: number | undefined
  /** Takes the reports that nobody waits for, from the beginning: some may come before the thread is ready. */
  readonly reported?: (report: Report) => void
}

/** Batches live for a turn: room for several of them keeps short-lived objects from being copied again and again. */
const youngGeneration_MB = 64

/**
 * A thread that one task occupies for all its life: a piscina pool of one. (piscina's own queue is of no use to an
 * actor: it would hand a partition's work to whichever thread is idle.) The task talks through a port of its own.
 */
export class ActorThread<Task extends object, Report extends ThreadReport> {
  /** Gives the report that the thread is ready; fails when it ends before that. */
  readonly ready: Promise<OfKind<Report, 'ready'>>
  /** Resolves when the task has ended as it was told to; fails when the thread died. */
  readonly ended: Promise<void>
  readonly #pool: Piscina
  readonly #control: MessagePort
  /** See `parkWhenTold`. */
  readonly #parking: MessagePort
  readonly #over: Promise<void>
  readonly #lifetime = new Lifetime()
  /** Each takes the report that it waits for; says whether this was it. */
  readonly #waiting: ((report: Report) => boolean)[] = []

  constructor({ entry, task, transfer = [], heap_MiB, reported = () => {} }: ThreadSettings<Task, Report>) {
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
    const take = (report: Report): void => {
      const taken = this.#waiting.findIndex((takes) => takes(report))
      if (taken === -1) reported(report)
      else this.#waiting.splice(taken, 1)
    }
    onMessages(port1, take)
    const running: Promise<unknown> = this.#pool.run(
      { ...task, control: port2, parking: parking.port2 },
      { transferList: [port2, parking.port2, ...transfer] },
    )
    // That the task has ended comes on another port, and may come before its last report.
    this.#over = running.then(() => {
      for (let left = receiveMessageOnPort(port1); left; left = receiveMessageOnPort(port1)) take(left.message)
    })
    this.ready = this.next('ready')
    this.ended = this.#over
    this.ended.then(
      () => this.#lifetime.end(new Error('the thread ended without the report that was waited for')),
      (fault: unknown) => this.#lifetime.end(fault),
    )
    // Whoever waits for one of them gets the failure; the other one is not an unhandled rejection.
    this.ready.catch(() => {})
    this.ended.catch(() => {})
  }

  /** The next report of a kind; fails when the thread ends before that. */
  next<Kind extends Report['kind']>(kind: Kind): Promise<OfKind<Report, Kind>> {
    const next = new Promise<OfKind<Report, Kind>>((resolve) =>
      this.#waiting.push((report) => {
        if (!isOfKind(report, kind)) return false
        resolve(report)
        return true
      }),
    )
    return this.#lifetime.during(next)
  }

  /** What some work of the thread gives; rejects when the thread ends before that. */
  during<Value>(work: Promise<Value>): Promise<Value> {
    return this.#lifetime.during(work)
  }

  /** Tells the task something, in order. */
  tell(message: unknown, transfer: readonly TransferListItem[] = []): void {
    this.#control.postMessage(message, transfer)
  }

  /**
   * Has the thread sleep for good, wherever it is with its task, so that the process can be ended. Resolves when it sleeps, or has
   * ended; to be followed by nothing else.
   */
  async park(): Promise<void> {
    const parked = new Promise<void>((resolve) => this.#parking.once('message', () => resolve()))
    this.#parking.postMessage('park')
    await Promise.race([parked, this.#over.catch(() => {})])
  }

  /** Lets go of the pool once the task has ended or the thread has died. */
  async close(): Promise<void> {
    this.#control.close()
    this.#parking.close()
    await this.#pool.destroy()
  }
}

interface LinkedSettings<Task, Far extends object> extends Omit<ThreadSettings<Task, LinkMessage>, 'reported'> {
  /** What the thread offers. */
  readonly far: Operations<Far>
  /** What is offered to it. */
  readonly offered: ReadonlyMap<string, Method>
}

/** A thread that this one calls, and that calls this one, see `ThreadLink`. */
export class LinkedThread<Task extends object, Far extends object> extends ActorThread<Task, LinkMessage> {
  /** What was not answered rejects with the fault of which the thread has died. */
  readonly far: Far
  #isGone = false

  constructor({ far, offered, ...settings }: LinkedSettings<Task, Far>) {
    super({ ...settings, reported: (message) => link.take(message) })
    const link = new ThreadLink<Far>({ post: (message, transfer) => this.tell(message, transfer), far, offered })
    this.far = link.far
    const gone = (why: unknown): void => {
      this.#isGone = true
      link.gone(why)
    }
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
}

function isOfKind<Report extends ThreadReport, Kind extends Report['kind']>(
  report: Report,
  kind: Kind,
): report is OfKind<Report, Kind> {
  return report.kind === kind
}
