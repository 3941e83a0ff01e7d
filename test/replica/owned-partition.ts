import { StorageFull } from '../../src/faults.js'
import { Measures } from '../../src/observe/measure/measures.js'
import { TurnRunner, TurnTimes } from '../../src/partition/mailbox/turn-runner.js'
import { partitionReplica } from '../../src/partition/replica/partition-replica.js'
import type { Replica } from '../../src/partition/replica/replica.js'
import type { Command, Reply } from '../../src/partition/turn/commands.js'
import { ClusterLog } from '../../src/storage/etcd/cluster-log.js'
import type { LogLinkEnd } from '../../src/storage/etcd/log-link.js'
import { Memtable } from '../../src/storage/store/memtable.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'
import { PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import { Bell } from '../../src/threads/shared-memory/signals.js'
import { matcher, noDamages, noWords, silentLog, storeSettings, versions } from '../given.js'
import { until } from '../until.js'

/** What the threads of a partition share in one process. */
export interface PartitionMemory {
  readonly position: SharedArrayBuffer
  readonly memtable: SharedArrayBuffer
}

export function partitionMemory(): PartitionMemory {
  return { position: PartitionPosition.memory(), memtable: Memtable.memory() }
}

/** A partition's thread on a node of a cluster, with the program's parts, which owns its log when it is told to. */
export class OwnedPartition {
  readonly store: PartitionStore
  readonly replica: Replica
  readonly position: PartitionPosition
  readonly memtable: Memtable
  readonly measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 0 })
  /** Lines of the log. */
  readonly warnings: string[] = []
  /** Whether LMDB cannot be written since the disk is full. */
  isFull = false
  readonly #runner: TurnRunner

  constructor(
    folder: string,
    link: LogLinkEnd,
    memory: PartitionMemory,
    failed: (fault: unknown) => void,
    keepFree_bytes = storeSettings.keepFree_bytes,
  ) {
    this.position = new PartitionPosition(memory.position)
    this.memtable = new Memtable(memory.memtable)
    const common = {
      versions: versions(),
      log: { ...silentLog, warn: (_: string, line: string) => this.#warned(line) },
    }
    let wal: ClusterLog | undefined
    const openLog = (applied: LogSequence): ClusterLog => {
      wal = new ClusterLog(link, applied, undefined, this.position.commitIndex)
      return wal
    }
    const begun = (): void => {
      if (this.isFull) throw new StorageFull('no space for LMDB')
    }
    this.store = new PartitionStore(
      folder,
      { ...storeSettings, keepFree_bytes },
      {
        ...{ openLog, log: common.log, deferral: { memtable: this.memtable, versions: common.versions } },
        writing: { begun, goesOn: () => {}, recovers: () => {}, ended: () => {} },
      },
    )
    if (wal === undefined) throw new Error('the log was not opened')
    this.memtable.applied()
    this.replica = partitionReplica({
      ...{ ...common, store: this.store, wal, node: link.node, position: this.position, failed },
      ...{ figures: this.measures.replicas.row(0), owns: () => {}, awaitsOwner: true, notified: () => {} },
    })
    this.#runner = new TurnRunner({
      ...{ ...common, store: this.store, interpret: noWords, matcher: matcher(), bell: new Bell() },
      ...{ storage: this.measures.storage(0), damages: noDamages, ownership: this.replica },
      deprecated: { note: () => {} },
    })
  }

  async own(): Promise<void> {
    // Who has not read the last record is not elected.
    const isOwner = (): boolean => {
      this.replica.own()
      return this.replica.isOwner
    }
    await until(isOwner)
  }

  run(...batch: readonly Command[]): readonly Reply[] {
    const replies = this.#runner.run(batch, new TurnTimes())
    this.replica.turned()
    return replies
  }

  async close(): Promise<void> {
    await this.replica.close()
    await this.store.close()
  }

  /** The thread dies: what it has published does not come to LMDB. */
  async die(): Promise<void> {
    this.isFull = true
    await this.close()
  }

  #warned(line: string): void {
    this.warnings.push(line)
  }
}
