import { MessageChannel, type MessagePort, type TransferListItem } from 'node:worker_threads'
import { isBehind, isDiskFault, isGivenUp, LogGivenUp } from '../faults.js'
import { faultText, type Log } from '../log/log.js'
import {
  type GateEnd,
  type PartitionEvents,
  type PartitionOperations,
  partitionEvents,
  partitionOperations,
} from '../mailbox/batch.js'
import type { PinnedFile } from '../partition/store.js'
import { err, ok, type Result } from '../result.js'
import { PinGate } from '../shared-memory/signals.js'
import type { NoticeNumber } from '../subscription/notice.js'
import type { SubscriptionId, SubscriptionInForce } from '../subscription/subscription.js'
import { LinkedThread } from '../thread/linked-thread.js'
import { methodsOf } from '../thread/service.js'
import type { LogSequence } from '../wal/record-log.js'
import type { FarPins } from './copies.js'

/** A front end as the partitions see it: somebody to be given a port whenever a partition has a new thread. */
export interface FrontEndLink {
  connect(partition: number, port: MessagePort): void
}

/** What a new thread is handed to begin with. */
export interface Launch<Task> {
  readonly task: Task
  readonly transfer: readonly TransferListItem[]
  /** See `ThreadSettings`. */
  readonly heap_MiB?: number
}

interface PartitionsSettings<Task> {
  readonly entry: URL
  readonly count: number
  /** Called for every thread, also for one that replaces another. */
  readonly launch: (partition: number) => Launch<Task>
  readonly log: Log
  /** Counts a replaced thread. */
  readonly restarted: (partition: number) => void
  /** Whether the partition's thread is inside a write transaction now. */
  readonly isWriting: (partition: number) => boolean
  /** In a cluster: this node owns the log of a partition since a claim, or no more. */
  readonly owns?: (partition: number, epoch: LogSequence | undefined) => void
  /** The broker can not go on: the reason. */
  readonly fatal: (reason: string) => void
  /** In a cluster: nor can it here, since a log does not have any more what a partition needs, but after another start. */
  readonly behind: (reason: string) => void
}

/** Commits that partitions keep, in the order of their numbers. */
export interface PinnedPartitions {
  readonly files: readonly PinnedFile[]
  /** Says whether all of them were kept until then: the thread of none has died. */
  release(): Promise<boolean>
}

/** Why commits are not kept: a partition did not come in time, or its file cannot be read. */
export type PinRefusal = 'notTogether' | 'unreadable'

/** How long a partition may take to answer, and how long all may stand still until the last one has come, each time. */
const able_ms = 2000
const gateLimits_ms = [50, 150, 500] as const

/** A thread that dies this often within a minute is not replaced again [management 12.2]. */
export const deathsPerMinute = 5

/** When a thread died, and those that replaced it. */
export class Deaths {
  #moments_ms: readonly number[] = []

  /** It has died now; whether that was once too often. */
  areTooMany(): boolean {
    const now_ms = performance.now()
    this.#moments_ms = [...this.#moments_ms.filter((moment_ms) => now_ms - moment_ms < 60_000), now_ms]
    return this.#moments_ms.length >= deathsPerMinute
  }
}

type PartitionThread<Task extends object> = LinkedThread<Task, PartitionOperations>

/** The life of the partitions' threads: started, connected to the front ends, replaced when they die, drained. */
export class Partitions<Task extends object> {
  readonly #settings: PartitionsSettings<Task>
  readonly #threads = new Map<number, PartitionThread<Task>>()
  /** Threads that open their stores: the first ones, and those that replace others. */
  readonly #starting = new Map<number, Promise<number>>()
  readonly #opening = new Set<PartitionThread<Task>>()
  readonly #links: FrontEndLink[] = []
  readonly #deaths = new Map<number, Deaths>()
  /** Partitions whose threads are to claim their logs, and have not said yet what became of that. */
  readonly #claiming = new Set<number>()
  /** See `controlled`. */
  #control = 0 as LogSequence
  #draining = false

  constructor(settings: PartitionsSettings<Task>) {
    this.#settings = settings
  }

  /** Opens all partitions; gives the highest sequence that an entity ever had. */
  async start(): Promise<number> {
    const numbers = Array.from({ length: this.#settings.count }, (_, number) => number)
    return Math.max(0, ...(await Promise.all(numbers.map((partition) => this.#start(partition)))))
  }

  /** Connects a front end to every partition, now and whenever one is replaced. */
  add(link: FrontEndLink): void {
    if (!this.#links.includes(link)) this.#links.push(link)
    for (const [partition, thread] of this.#threads) join(link, partition, thread)
  }

  /** Lets every partition finish what it has and close its store. The front ends' mailboxes are empty by then. */
  async drain(): Promise<void> {
    this.#draining = true
    // One that fails does not keep the others from being waited for.
    const ends = await Promise.allSettled([...this.#threads.values()].map(drained))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  /** Ends all partitions at once: a thread that still opens its store is parked and leaves the store as it is on disk. */
  async halt(): Promise<void> {
    const opening = [...this.#opening].map((thread) => thread.park())
    await Promise.allSettled([this.drain(), ...opening])
  }

  /** Puts a subscription in force in every partition; gives the number of the last notice of each before that. */
  subscribe(inForce: SubscriptionInForce): Promise<readonly NoticeNumber[]> {
    this.#settings.log.trace('subscription.sync', `all partitions are told of subscription ${inForce.subscription.id}`)
    return this.#everywhere((far) => far.subscribe(inForce))
  }

  /** From now on no partition makes notices of it. */
  async unsubscribe(id: SubscriptionId): Promise<void> {
    this.#settings.log.trace('subscription.sync', `all partitions are told that subscription ${id} is gone`)
    await this.#everywhere((far) => far.unsubscribe(id))
  }

  /** What the coordinator's log of a cluster says up to this record is in force in every partition: see `subscribe`. */
  controlled(control: LogSequence): void {
    this.#control = control
    for (const { far } of this.#threads.values()) far.controlled(control)
  }

  /**
   * Has the partitions that this node owns append a heartbeat record to their logs, which says what is in force. Gives the numbers of
   * their last notices before that, by partition.
   */
  async heartbeat(): Promise<ReadonlyMap<number, NoticeNumber>> {
    const last = new Map<number, NoticeNumber>()
    const asked = [...this.#threads].map(async ([partition, thread]) => {
      const notice = await thread.unlessGone(thread.far.heartbeat())
      if (notice !== undefined) last.set(partition, notice)
    })
    await Promise.all(asked)
    return last
  }

  /**
   * Has every partition keep its last commit for a copy of its file. All of them do so at one moment, in which
   * `atMoment` is called and no turn begins: what one keeps was answered before anything that another one does not keep.
   * Refuses when they did not come together in time, and when a file cannot be read.
   */
  async pin(atMoment: () => void): Promise<Result<PinnedPartitions, PinRefusal>> {
    const threads = [...this.#threads].sort(([a], [b]) => a - b).map(([, thread]) => thread)
    if (this.#draining || threads.length < this.#settings.count) return err('notTogether')
    const release = (): Promise<boolean> => this.#unpinned(threads)
    // Nobody stands still for what can be known before: whether each answers, and can read its file.
    const able = await pinned(threads)
    let refusal: PinRefusal = able.ok ? 'notTogether' : able.error
    for (const limit_ms of able.ok ? gateLimits_ms : []) {
      const gate = new PinGate()
      const pinning = pinned(threads, { memory: gate.memory, limit_ms })
      const come = await Promise.race([gate.haveCome(threads.length, limit_ms), pinning])
      try {
        if (come.ok) atMoment()
      } catch (fault) {
        gate.open()
        await release()
        throw fault
      }
      const isTogether = gate.open()
      const files = come.ok ? await pinning : come
      if (isTogether && files.ok) return ok({ files: files.value, release })
      refusal = files.ok ? 'notTogether' : files.error
      if (refusal === 'unreadable') break
    }
    // Nobody waits for one that does not come: it does what it was told in its order.
    void release()
    return err(refusal)
  }

  /** The pins of the thread that a partition has now; nothing while it has none. */
  pinsOf(partition: number): FarPins | undefined {
    const thread = this.#threads.get(partition)
    if (thread === undefined || this.#draining) return undefined
    return {
      pin: (purpose) => thread.unlessGone(thread.far.pin(purpose)),
      unpin: async (purpose) => (await thread.unlessGone(thread.far.unpin(purpose))) === true,
    }
  }

  async #unpinned(threads: readonly PartitionThread<Task>[]): Promise<boolean> {
    const were = await Promise.all(threads.map((thread) => thread.unlessGone(thread.far.unpin('backup'))))
    return were.every((wasPinned) => wasPinned === true)
  }

  #everywhere(ask: (far: PartitionOperations) => Promise<NoticeNumber>): Promise<readonly NoticeNumber[]> {
    const numbers = Array.from({ length: this.#settings.count }, (_, number) => number)
    return Promise.all(numbers.map((partition) => this.#asked(partition, ask)))
  }

  /** Asks a partition, and if its thread dies over it, the one that replaces it. There is no time limit: all have to have it in force. */
  async #asked(partition: number, ask: (far: PartitionOperations) => Promise<NoticeNumber>): Promise<NoticeNumber> {
    await this.#starting.get(partition)
    const thread = this.#threads.get(partition)
    if (!thread || this.#draining) throw new LogGivenUp(`partition ${partition} has no thread: the process ends`)
    return (await thread.unlessGone(ask(thread.far))) ?? this.#asked(partition, ask)
  }

  /** Has the thread of a partition claim its log, or the next thread if there is none now, or release it. */
  instruct(partition: number, what: 'own' | 'release'): void {
    if (what === 'own') this.#claiming.add(partition)
    else this.#claiming.delete(partition)
    this.#threads.get(partition)?.far[what]()
  }

  #start(partition: number): Promise<number> {
    const starting = this.#opened(partition).finally(() => this.#starting.delete(partition))
    this.#starting.set(partition, starting)
    return starting
  }

  async #opened(partition: number): Promise<number> {
    const events: PartitionEvents = {
      owns: (epoch) => {
        this.#claiming.delete(partition)
        this.#settings.owns?.(partition, epoch)
      },
    }
    const thread: PartitionThread<Task> = new LinkedThread({
      ...{ entry: this.#settings.entry, ...this.#settings.launch(partition) },
      ...{ far: partitionOperations, offered: methodsOf(events, partitionEvents) },
    })
    this.#opening.add(thread)
    const highestSequence = await opened(thread).finally(() => this.#opening.delete(thread))
    this.#threads.set(partition, thread)
    if (this.#control > 0) thread.far.controlled(this.#control)
    if (this.#claiming.has(partition)) thread.far.own()
    this.#settings.log.trace('worker', `partition ${partition} has started`)
    thread.ended.catch((fault: unknown) => this.#died(partition, thread, fault))
    for (const link of this.#links) join(link, partition, thread)
    return highestSequence
  }

  #died(partition: number, thread: PartitionThread<Task>, fault: unknown): void {
    const { log, fatal, behind, isWriting, restarted, owns } = this.#settings
    this.#threads.delete(partition)
    owns?.(partition, undefined)
    log.error('worker:died', `partition ${partition} failed: ${faultText(fault)}`, { partition, stack: stackOf(fault) })
    if (fault instanceof Error && isDiskFault(fault)) fatal(fault.message)
    else if (isBehind(fault)) behind(faultText(fault))
    // Its write lock would never be given back: the whole process would hang at the next commit.
    else if (isWriting(partition)) fatal(`partition ${partition} died inside a write transaction`)
    else if (this.#deathsOf(partition).areTooMany())
      fatal(`partition ${partition} died ${deathsPerMinute} times within a minute`)
    else if (!this.#draining) {
      restarted(partition)
      this.#replace(partition, thread).catch((failure: unknown) => {
        if (isGivenUp(failure))
          log.warn('worker:replaced', `partition ${partition} has no thread: ${faultText(failure)}`)
        else if (isBehind(failure)) behind(faultText(failure))
        else fatal(`partition ${partition} cannot be restarted: ${faultText(failure)}`)
      })
    }
  }

  async #replace(partition: number, dead: PartitionThread<Task>): Promise<void> {
    this.#settings.log.trace('worker', `partition ${partition} gets a new thread`)
    await this.#start(partition).finally(() => dead.close())
    this.#settings.log.warn('worker:replaced', `partition ${partition} runs again in a new thread`, { partition })
  }

  #deathsOf(partition: number): Deaths {
    const deaths = this.#deaths.get(partition) ?? new Deaths()
    this.#deaths.set(partition, deaths)
    return deaths
  }
}

/** The files of the last commits, which all keep; refuses as soon as one does not, or not in time. */
function pinned(
  threads: readonly PartitionThread<object>[],
  gate?: GateEnd,
): Promise<Result<readonly PinnedFile[], PinRefusal>> {
  return new Promise((resolve) => {
    const limit = setTimeout(() => resolve(err('notTogether')), able_ms)
    const pinning = threads.map(async (thread) => {
      const commit = await thread.far.pin('backup', gate)
      if (commit === undefined) resolve(err('unreadable'))
      return commit?.file
    })
    Promise.all(pinning)
      .then(
        (files) => resolve(ok(files.filter((file) => file !== undefined))),
        () => resolve(err('notTogether')),
      )
      .finally(() => clearTimeout(limit))
  })
}

function join(link: FrontEndLink, partition: number, { far }: PartitionThread<object>): void {
  const { port1, port2 } = new MessageChannel()
  far.connect(port2)
  link.connect(partition, port1)
}

/** What an open partition says; a thread that does not open its store is let go of. */
async function opened(thread: PartitionThread<object>): Promise<number> {
  try {
    return await thread.far.opened()
  } catch (fault) {
    await thread.close()
    throw fault
  }
}

async function drained(thread: PartitionThread<object>): Promise<void> {
  thread.far.drain()
  await thread.ended
  await thread.close()
}

/** The stack of a fault, for a line of the log. */
export function stackOf(fault: unknown): string | undefined {
  return fault instanceof Error ? fault.stack : undefined
}
