import assert from 'node:assert/strict'
import { Measures } from '../../src/observe/measure/measures.js'
import { TurnRunner, TurnTimes } from '../../src/partition/mailbox/turn-runner.js'
import { partitionReplica } from '../../src/partition/replica/partition-replica.js'
import type { Replica } from '../../src/partition/replica/replica.js'
import type { Command, Reply } from '../../src/partition/turn/commands.js'
import { ClusterLog } from '../../src/storage/etcd/cluster-log.js'
import { Memtable } from '../../src/storage/store/memtable.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import { Bell } from '../../src/threads/shared-memory/signals.js'
import { Versions } from '../../src/threads/shared-memory/versions.js'
import { id, matcher, noDamages, noWords, root, silentLog, storeSettings, tenant } from '../given.js'
import { keepFree_bytes } from './played-disk.js'
import { PlayedMember, type PlayedMemberParts } from './played-member.js'
import type { TimersOwner } from './played-time.js'

export const tanks = ['Tank1', 'Tank2']

/** The thread of a partition in a node's process, with the program's own parts: store, log, replica and turns. */
export class PlayedPartition extends PlayedMember {
  readonly #position: PartitionPosition
  readonly #store: PartitionStore
  readonly #replica: Replica
  readonly #runner: TurnRunner
  /** What the main thread has told it. */
  #told: (() => void)[] = []

  /** Opens its store, as a thread that sleeps until its log answers. To be made as its own owner. */
  constructor(parts: PlayedMemberParts, opening: (self: TimersOwner) => void) {
    super(parts, opening)
    const { node, folder, link, position, owns, published } = parts
    const shown = new ShownVersions((by) => this.#shows(by))
    const common = { matcher: matcher(), versions: shown, log: silentLog }
    const memtable = new Memtable(published.memtable)
    let wal: ClusterLog | undefined
    const openLog = (applied: LogSequence): ClusterLog => {
      wal = new ClusterLog(link.end, applied, undefined, this.#position.commitIndex)
      return wal
    }
    this.#position = new PartitionPosition(position)
    this.#store = new PartitionStore(
      folder,
      { ...storeSettings, keepFree_bytes, durable: false },
      {
        ...{ openLog, deferral: { memtable, versions: shown } },
        writing: this.transactions.writing,
        failed: (fault) => this.failed(fault),
      },
    )
    assert(wal)
    this.transactions.opened(this.#store.outbox)
    const { applied } = this.#store
    if (applied < published.last) this.failed(new Error(`${applied} is applied, and ${published.last} was published`))
    memtable.applied()
    const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 })
    this.#replica = partitionReplica({
      ...{ store: this.#store, wal, node, position: this.#position, versions: common.versions, log: silentLog },
      ...{ figures: measures.replicas.row(0), owns, awaitsOwner: true, notified: () => {} },
      failed: (fault) => this.failed(fault),
    })
    this.#runner = new TurnRunner({
      ...{ ...common, store: this.#store, interpret: noWords, bell: new Bell(), storage: measures.storage(0) },
      ...{ damages: noDamages, ownership: this.#replica, deprecated: { note: () => {} } },
    })
  }

  get isOwner(): boolean {
    return this.#replica.isOwner
  }

  get shown(): string {
    return levels(this.#store)
  }

  /** The replies, unless the thread has died over them. */
  take(batch: readonly Command[]): readonly Reply[] | undefined {
    const replies = this.#runner.run(batch, new TurnTimes())
    // As `Inbox` does.
    if (this.#runner.broken !== undefined) this.failed(this.#runner.broken.fault)
    if (this.isOver) return undefined
    this.#replica.turned()
    return replies
  }

  get isFull(): boolean {
    this.#store.lookForRoom()
    return this.#store.isFull
  }

  /** A turn is about to be shown, in the memtable or by LMDB: other nodes hear of it if they ask now. */
  #shows(by: 'commit' | 'memtable'): void {
    const confirmed = this.#position.confirmedIndex
    const { last } = this.#store.wal
    if (by === 'memtable') this.parts.published.last = last
    if (confirmed === undefined || confirmed >= last) return
    this.parts.failed(new Error(`record ${last} is shown, and ${confirmed} is what this node answers for`))
  }

  instruct(what: 'own' | 'release'): void {
    this.#told.push(() => this.#replica[what]())
  }

  override deliver(): void {
    for (const what of this.#told.splice(0)) what()
    super.deliver()
  }

  override awaitLmdb(): void {
    try {
      this.#store.applyForReader()
    } catch (fault) {
      this.failed(fault)
    }
  }

  async die(): Promise<void> {
    this.parts.link.cut()
    await this.#store.close()
  }

  /** As `workers/partition.ts` does. */
  end(ended: (fault?: unknown) => void): void {
    this.throwNext(undefined)
    this.#told.push(() => void this.#ended().then(ended, ended))
  }

  async #ended(): Promise<void> {
    await this.#replica.close()
    await this.#store.close()
    this.parts.link.cut()
  }
}

/** Tells when changes of entities are about to be shown. */
class ShownVersions extends Versions {
  readonly #shows: (by: 'commit' | 'memtable') => void

  constructor(shows: (by: 'commit' | 'memtable') => void) {
    super(Versions.memory())
    this.#shows = shows
  }

  override begin(...[changed, by = 'commit']: Parameters<Versions['begin']>): void {
    if (by === 'memtable' || [...changed].length > 0) this.#shows(by)
    super.begin(changed, by)
  }
}

/** What a store shows of the tanks. */
export function levels(store: PartitionStore): string {
  const shown = tanks.map((tank) =>
    store.entities(tenant, root, id(tank)).map(({ attributes }) => attributes[0]?.value),
  )
  return JSON.stringify(shown)
}
