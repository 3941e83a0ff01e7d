import { MessageChannel, type MessagePort, type TransferListItem } from 'node:worker_threads'
import { faultText, isBehind, isDiskFault, isGivenUp, LogGivenUp } from '../../faults.js'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId, SubscriptionInForce } from '../../model/subscription/subscription.js'
import type { Log } from '../../observe/log/log.js'
import {
  type GateEnd,
  type PartitionEvents,
  type PartitionOperations,
  partitionEvents,
  partitionOperations,
} from '../../partition/mailbox/batch.js'
import { err, ok, type Result } from '../../result.js'
import type { PinFailure, PinnedFile } from '../../storage/records/store.js'
import type { LogSequence } from '../../storage/wal/record-log.js'
import { LinkedThread } from '../../threads/calls/linked-thread.js'
import { methodsOf } from '../../threads/calls/service.js'
import { PinGate } from '../../threads/shared-memory/signals.js'
import type { FarPins } from './snapshot-transfers.js'

/** A front end as the partitions see it: somebody to be given a port whenever a partition has a new thread. */
export interface FrontEndLink {
  connect(partition: number, port: MessagePort): void
}

/** The data that a new thread begins with. */
export interface Launch<Task> {
  readonly task: Task
  readonly transfer: readonly TransferListItem[]
  /** See `LinkedThread`. */
  readonly begins?: () => () => void
  /** The limit of its heap; by default as large as Node allows. */
  readonly heap_MiB?: number
}

interface PartitionsSettings<Task> {
  readonly entry: URL
  readonly count: number
  /** Called for every thread, also for one that replaces another. */
  readonly launch: (partition: number) => Launch<Task>
  readonly log: Log
  /** Called when a thread was replaced. */
  readonly restarted: (partition: number) => void
  /** Whether the partition's thread is inside a write transaction now. */
  readonly isWriting: (partition: number) => boolean
  /** In a cluster: called when this node has come to own the log of a partition, with the epoch, or has lost it. */
  readonly owns?: (partition: number, epoch: LogSequence | undefined) => void
  /** Called with the reason when the broker cannot continue. */
  readonly fatal: (reason: string) => void
  /** In a cluster: nor can it here, since a log does not have any more what a partition needs, but after another start. */
  readonly behind: (reason: string) => void
}

/** Commits that partitions keep, in the order of their numbers. */
export interface PinnedPartitions {
  readonly files: readonly PinnedFile[]
  /** Releases the commits; returns whether all were kept until now, that is whether no thread has died. */
  release(): Promise<boolean>
}

/** Why commits are not kept: a partition did not arrive in time, or could not pin its commit. */
export type PinRefusal = 'notTogether' | PinFailure

/** How long a partition may take to answer, and how long all partitions may pause until the last one has arrived. */
const able_ms = 2000
const gateLimits_ms = [50, 150, 500] as const

/** A thread that dies this often within a minute is not replaced again [management 12.2]. */
export const deathsPerMinute = 5

/** The deaths of a thread and of those that replaced it. */
export class Deaths {
  #moments_ms: readonly number[] = []

  /** Notes a death now; returns whether there were too many. */
  areTooMany(): boolean {
    const now_ms = performance.now()
    this.#moments_ms = [...this.#moments_ms.filter((moment_ms) => now_ms - moment_ms < 60_000), now_ms]
    return this.#moments_ms.length >= deathsPerMinute
  }
}

type PartitionThread<Task extends object> = LinkedThread<Task, PartitionOperations>

/** The thread of a partition has died before its store was open, which says nothing about the store. */
export class DiedOpening extends Error {
  override readonly name = 'DiedOpening'
  readonly partition: number

  constructor(partition: number, fault: unknown) {
    super(faultText(fault), { cause: fault })
    this.partition = partition
  }
}

/** The partitions' threads: starts, connects and drains them, and replaces those that die. */
export class Partitions<Task extends object> {
  readonly #settings: PartitionsSettings<Task>
  readonly #threads = new Map<number, PartitionThread<Task>>()
  /** Threads that are opening their stores. */
  readonly #starting = new Map<number, Promise<number>>()
  readonly #opening = new Set<PartitionThread<Task>>()
  readonly #links: FrontEndLink[] = []
  readonly #deaths = new Map<number, Deaths>()
  /** Partitions whose threads were told to own their logs and have not reported the outcome. */
  readonly #campaigning = new Set<number>()
  /** The metadata version that is in force in every partition. */
  #metadataVersion = 0 as LogSequence
  #draining = false

  constructor(settings: PartitionsSettings<Task>) {
    this.#settings = settings
  }

  /** Opens all partitions; returns the highest sequence that an entity ever had. */
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

  /** Resolves when no partition makes notices of the subscription any more. */
  async unsubscribe(id: SubscriptionId): Promise<void> {
    this.#settings.log.trace('subscription.sync', `all partitions are told that subscription ${id} is gone`)
    await this.#everywhere((far) => far.unsubscribe(id))
  }

  /** In a cluster: sets the metadata version that is in force in every partition. */
  metadataInForce(metadataVersion: LogSequence): void {
    this.#metadataVersion = metadataVersion
    for (const { far } of this.#threads.values()) far.metadataInForce(metadataVersion)
  }

  /**
   * Has the partitions that this node owns append a heartbeat record to their logs, which says what is in force. Gives the numbers of
   * their last notices before that, by partition.
   */
  async heartbeat(): Promise<ReadonlyMap<number, NoticeNumber>> {
    const last = new Map<number, NoticeNumber>()
    const requests = [...this.#threads].map(async ([partition, thread]) => {
      const notice = await thread.unlessGone(thread.far.heartbeat())
      if (notice !== undefined) last.set(partition, notice)
    })
    await Promise.all(requests)
    return last
  }

  /**
   * Has every partition keep its last commit for a copy of its file. All of them do so at one moment, in which
   * `atMoment` is called and no turn begins: what one keeps was answered before anything that another one does not keep.
   * Refuses when they did not come together in time, and when one of them cannot pin its commit.
   */
  async pin(atMoment: () => void): Promise<Result<PinnedPartitions, PinRefusal>> {
    const threads = [...this.#threads].sort(([a], [b]) => a - b).map(([, thread]) => thread)
    if (this.#draining || threads.length < this.#settings.count) return err('notTogether')
    const release = (): Promise<boolean> => this.#unpinned(threads)
    // Before all partitions pause, each is asked whether it answers and can read its file.
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
      if (refusal !== 'notTogether') break
    }
    // A partition that has not arrived is not waited for: it handles the messages in their order.
    void release()
    return err(refusal)
  }

  /** The pins of the thread that a partition has now; nothing while it has none. */
  pinsOf(partition: number): FarPins | undefined {
    const thread = this.#threads.get(partition)
    if (thread === undefined || this.#draining) return undefined
    return {
      pin: async (purpose) => {
        const commit = await thread.unlessGone(thread.far.pin(purpose))
        return commit?.ok === true ? commit.value : undefined
      },
      unpin: async (purpose) => (await thread.unlessGone(thread.far.unpin(purpose))) === true,
    }
  }

  async #unpinned(threads: readonly PartitionThread<Task>[]): Promise<boolean> {
    const were = await Promise.all(threads.map((thread) => thread.unlessGone(thread.far.unpin('backup'))))
    return were.every((wasPinned) => wasPinned === true)
  }

  #everywhere(call: (far: PartitionOperations) => Promise<NoticeNumber>): Promise<readonly NoticeNumber[]> {
    const numbers = Array.from({ length: this.#settings.count }, (_, number) => number)
    return Promise.all(numbers.map((partition) => this.#responseOf(partition, call)))
  }

  /**
   * Asks a partition and, if its thread dies, the thread that replaces it. There is no time limit, since every partition must have the
   * change in force.
   */
  async #responseOf(
    partition: number,
    call: (far: PartitionOperations) => Promise<NoticeNumber>,
  ): Promise<NoticeNumber> {
    await this.#starting.get(partition)
    const thread = this.#threads.get(partition)
    if (!thread || this.#draining) throw new LogGivenUp(`partition ${partition} has no thread: the process ends`)
    return (await thread.unlessGone(call(thread.far))) ?? this.#responseOf(partition, call)
  }

  /** Has the thread of a partition campaign for its log, or the next thread if there is none now, or release it. */
  instruct(partition: number, what: 'own' | 'release'): void {
    if (what === 'own') this.#campaigning.add(partition)
    else this.#campaigning.delete(partition)
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
        this.#campaigning.delete(partition)
        this.#settings.owns?.(partition, epoch)
      },
    }
    const thread: PartitionThread<Task> = new LinkedThread({
      ...{ entry: this.#settings.entry, ...this.#settings.launch(partition) },
      ...{ far: partitionOperations, offered: methodsOf(events, partitionEvents) },
    })
    this.#opening.add(thread)
    const highestSequence = await opened(partition, thread).finally(() => this.#opening.delete(thread))
    this.#threads.set(partition, thread)
    if (this.#metadataVersion > 0) thread.far.metadataInForce(this.#metadataVersion)
    if (this.#campaigning.has(partition)) thread.far.own()
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

/** The files of the last commits if all partitions keep theirs; refuses as soon as one refuses or is late. */
function pinned(
  threads: readonly PartitionThread<object>[],
  gate?: GateEnd,
): Promise<Result<readonly PinnedFile[], PinRefusal>> {
  return new Promise((resolve) => {
    const limit = setTimeout(() => resolve(err('notTogether')), able_ms)
    const pinning = threads.map(async (thread) => {
      const commit = await thread.far.pin('backup', gate)
      if (commit.ok) return commit.value.file
      resolve(commit)
      return undefined
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

/** The response of a partition that has opened its store; a thread that cannot open it is released. */
async function opened(partition: number, thread: PartitionThread<object>): Promise<number> {
  try {
    return await thread.far.opened()
  } catch (fault) {
    const { hasDied } = thread
    await thread.close()
    throw hasDied && !isBehind(fault) && !isGivenUp(fault) ? new DiedOpening(partition, fault) : fault
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
