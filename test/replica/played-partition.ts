import assert from 'node:assert/strict'
import { ClusterLog } from '../../src/cluster/cluster-log.js'
import { partitionReplica } from '../../src/lmdb/partition-replica.js'
import { LmdbPartitionStore } from '../../src/lmdb/partition-store.js'
import { TurnRunner, TurnTimes } from '../../src/mailbox/turn-runner.js'
import { Measures } from '../../src/measure/measures.js'
import type { Command, Reply } from '../../src/partition/commands.js'
import type { Replica } from '../../src/replica/replica.js'
import { Bell } from '../../src/shared-memory/bell.js'
import { PartitionPosition } from '../../src/shared-memory/partition-position.js'
import type { LogSequence } from '../../src/wal/record-log.js'
import { id, matcher, noDamages, noWords, root, silentLog, storeSettings, tenant, versions } from '../given.js'
import { keepFree_bytes } from './played-disk.js'
import type { PlayedLink, SentRecord } from './played-logs.js'
import type { TimersOwner } from './played-time.js'

export const tanks = ['Tank1', 'Tank2']

export interface PlayedPartitionParts {
  readonly node: string
  readonly folder: string
  readonly process: TimersOwner
  readonly position: SharedArrayBuffer
  /** To its log; made when it is opened. */
  readonly link: PlayedLink
  readonly owns: (epoch: LogSequence | undefined) => void
  readonly failed: (fault: unknown) => void
}

/** The thread of a partition in a node's process, with the program's own parts: store, log, replica and turns. */
export class PlayedPartition implements TimersOwner {
  readonly position: PartitionPosition
  readonly store: LmdbPartitionStore
  readonly replica: Replica
  readonly #parts: PlayedPartitionParts
  readonly #runner: TurnRunner
  /** What the main thread has told it. */
  #told: ((partition: PlayedPartition) => void)[] = []

  /** Opens its store, as a thread that sleeps until its log answers. To be made as its own owner. */
  constructor(parts: PlayedPartitionParts, opening: (self: TimersOwner) => void) {
    this.#parts = parts
    opening(this)
    const { node, folder, link, position, owns } = parts
    const common = { matcher: matcher(), versions: versions(), log: silentLog }
    let wal: ClusterLog | undefined
    const openLog = (applied: LogSequence): ClusterLog => {
      wal = new ClusterLog(link.end, applied)
      return wal
    }
    this.position = new PartitionPosition(position)
    this.store = new LmdbPartitionStore(folder, { ...storeSettings, keepFree_bytes, durable: false }, { openLog })
    assert(wal)
    const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 })
    this.replica = partitionReplica({
      ...{ store: this.store, wal, node, position: this.position, versions: common.versions, log: silentLog },
      ...{ meter: measures.copies.meter(0), owns, awaitsOwner: true, notified: () => {} },
      // What a dead thread would do is done to a store that is closed.
      failed: (fault) => {
        if (!this.isOver) parts.failed(fault)
      },
    })
    const meter = measures.storage(0)
    const storage = {
      ...meter,
      writing: (isWriting: boolean) => {
        meter.writing(isWriting)
        if (!isWriting) this.#committed()
      },
    }
    this.#runner = new TurnRunner({
      ...{ ...common, store: this.store, interpret: noWords, bell: new Bell(), storage },
      ...{ damages: noDamages, ownership: this.replica, deprecated: { note: () => {} } },
    })
  }

  get isOver(): boolean {
    return this.#parts.link.isCut || this.#parts.process.isOver
  }

  get pausedUntil_ms(): number {
    return this.#parts.process.pausedUntil_ms
  }

  get clocks() {
    return this.#parts.process.clocks
  }

  /** The record that it has sent last, whatever became of it. */
  get sent(): SentRecord | undefined {
    return this.#parts.link.sent
  }

  /** The replies, unless the thread has died over them. */
  take(batch: readonly Command[]): readonly Reply[] | undefined {
    const replies = this.#runner.run(batch, new TurnTimes())
    if (this.isOver) return undefined
    this.replica.turned()
    return replies
  }

  /** Whether it says that there is no room for it. */
  get isFull(): boolean {
    this.store.lookForRoom()
    return this.store.isFull
  }

  /** Snapshots show a turn, and the thread has not gone on: other nodes hear of it if they ask now. */
  #committed(): void {
    const says = this.position.confirmedIndex
    if (says === undefined || says >= this.store.applied) return
    this.#parts.failed(new Error(`record ${this.store.applied} is shown, and ${says} is what this node answers for`))
  }

  /** The main thread tells it something, which it hears of later. */
  tell(what: (partition: PlayedPartition) => void): void {
    this.#told.push(what)
  }

  /** It takes what has come, from the main thread and from its log. */
  deliver(): void {
    for (const what of this.#told.splice(0)) what(this)
    if (!this.isOver) this.#parts.link.deliver()
  }

  /** It dies when it appends or claims next, or does not. */
  dieAtNext(kind: 'append' | 'claim' | undefined): void {
    this.#parts.link.dieAtNext(kind)
  }

  /** The thread dies: nothing that it does from now on is seen. */
  async die(): Promise<void> {
    this.#parts.link.cut()
    await this.store.close()
  }

  /** The thread ends in order, as `workers/partition.ts` does. */
  async end(): Promise<void> {
    await this.replica.close()
    await this.store.close()
    this.#parts.link.cut()
  }
}

/** What a store shows of the tanks. */
export function levels(store: LmdbPartitionStore): string {
  const shown = tanks.map((tank) =>
    store.entities(tenant, root, id(tank)).map(({ attributes }) => attributes[0]?.value),
  )
  return JSON.stringify(shown)
}
