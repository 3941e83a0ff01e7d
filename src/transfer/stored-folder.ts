import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { compareBytes, type Entity, type Tenant } from '../context/entity.js'
import { mergedStats } from '../delivery/delivery-stats.js'
import { LmdbRegistryStore } from '../lmdb/control-registry.js'
import { ControlStore } from '../lmdb/control-store.js'
import { type DataFolder, openDataFolder } from '../lmdb/data-folder.js'
import type { WriterSettings } from '../lmdb/environment.js'
import { formatFile } from '../lmdb/folder-format.js'
import { OutboxReader } from '../lmdb/outbox-reader.js'
import { LmdbPartitionStore } from '../lmdb/partition-store.js'
import { RecordWalk } from '../lmdb/record-walk.js'
import { halfTheProcessors } from '../machine.js'
import { CommandFailure, failureText } from '../offline/command.js'
import type { DeliveryStats } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { byOrder } from './item-order.js'

/** How a command opens a data folder that no broker runs on. */
export interface FolderOpening {
  readonly path: string
  /** Whether one that is not there is made, with so many partitions if that is said. */
  readonly make: false | { readonly partitions: number | undefined }
  /** The size that the data of a partition may grow to. */
  readonly sizeMax_bytes: number
  /** What is to stay free of the disk. */
  readonly keepFree_bytes: number
}

/** Read transactions that may be open at one time. */
const maxReaders = 256

/** Bytes of records that each partition keeps in memory. */
const cache_bytes = 2 ** 22

/**
 * All stores of a data folder, opened under its lock and recovered as a start does. What is written is not flushed by
 * the turn, as with `-writeConcern 0`: it is on disk when the folder is closed.
 */
export class StoredFolder {
  readonly folder: DataFolder
  readonly partitions: readonly LmdbPartitionStore[]
  readonly control: ControlStore
  readonly registry: LmdbRegistryStore
  readonly #settings: WriterSettings
  /** What was opened to be read, and is closed before the stores are. */
  readonly #readers: { close(): Promise<void> }[] = []

  private constructor(folder: DataFolder, settings: WriterSettings) {
    this.folder = folder
    this.#settings = settings
    const numbers = Array.from({ length: folder.partitions }, (_, number) => number)
    this.partitions = numbers.map(
      (number) => new LmdbPartitionStore(folder.partitionPath(number), settings, { cache_bytes }),
    )
    const broken = (reason: string): never => {
      throw new Error(reason)
    }
    const control = new ControlStore(folder.controlPath, settings, broken)
    this.control = control
    this.registry = new LmdbRegistryStore({
      databases: { registrations: control.database('registrations'), availability: control.database('availability') },
      transact: (change, grows) => control.transact(change, grows),
    })
  }

  /** Opens a folder; throws `CommandFailure` for one that is not there, not usable, or in use. */
  static async open(opening: FolderOpening): Promise<StoredFolder> {
    const { path, make, sizeMax_bytes, keepFree_bytes } = opening
    if (!make && !existsSync(formatFile(path))) {
      throw new CommandFailure(`${path} is no data directory: name the one of the broker with -dbPath`)
    }
    const asked = make ? make.partitions : undefined
    const everyPage_bytes = 2 ** 30
    const folder = await openDataFolder(path, { asked, preferred: halfTheProcessors, everyPage_bytes, maxReaders })
    if (!folder.ok) throw new CommandFailure(folder.error.reason)
    try {
      const settings = { durable: false, keepFree_bytes, sizeMax_bytes, maxReaders }
      return new StoredFolder(folder.value, settings)
    } catch (fault) {
      folder.value.release()
      throw new CommandFailure(`the data directory ${path} cannot be used: ${failureText(fault)}`)
    }
  }

  /** How many entities there are. */
  get entityCount(): number {
    return this.partitions.reduce((sum, { entityCount }) => sum + entityCount, 0)
  }

  /** What all that is stored takes of the disk, at most. */
  get used_bytes(): number {
    const partitions_bytes = this.partitions.reduce((sum, { size }) => sum + size.used_bytes, 0)
    return partitions_bytes + statSync(join(this.folder.controlPath, 'data.mdb')).size
  }

  /** The highest sequence that an entity was ever created with. */
  get highestSequence(): number {
    return Math.max(...this.partitions.map(({ highestSequence }) => highestSequence))
  }

  /** All entities with their tenants: tenant by tenant, and each tenant's in the order of creation. */
  *entities(only?: Tenant): Generator<readonly [tenant: Tenant, entity: Entity]> {
    const walks = this.#paths().map((path) => new RecordWalk(path, this.#settings))
    this.#readers.push(...walks)
    const tenants = only === undefined ? new Set(walks.flatMap((walk) => walk.tenants())) : [only]
    for (const tenant of [...tenants].sort(compareBytes)) {
      const ordered = byOrder(
        walks.map((walk) => walk.entities(tenant)),
        ({ sequence }) => sequence,
      )
      for (const entity of ordered) yield [tenant, entity]
    }
  }

  /** The delivery stats of each subscription, of all outboxes together or only of those of partitions. */
  stats(of: 'all' | 'partitions' = 'all'): ReadonlyMap<SubscriptionId, DeliveryStats> {
    const parts = new Map<SubscriptionId, DeliveryStats[]>()
    for (const path of [...this.#paths(), ...(of === 'all' ? [this.folder.controlPath] : [])]) {
      const reader = new OutboxReader(path, this.#settings, (damage) => {
        throw damage
      })
      this.#readers.push(reader)
      for (const [id, stats] of reader.stats()) {
        const known = parts.get(id)
        if (known === undefined) parts.set(id, [stats])
        else known.push(stats)
      }
    }
    return new Map([...parts].map(([id, all]) => [id, together(all)]))
  }

  /** Puts everything on disk and gives the folder back. */
  async close(): Promise<void> {
    for (const reader of this.#readers) await reader.close()
    for (const partition of this.partitions) await partition.close()
    await this.control.close()
    this.folder.release()
  }

  #paths(): readonly string[] {
    return this.partitions.map((_, number) => this.folder.partitionPath(number))
  }
}

/** What several outboxes know of a subscription, as one of them would. */
function together(all: readonly DeliveryStats[]): DeliveryStats {
  const { timesSent, failsCounter, ...merged } = mergedStats(all)
  const attempted = all.map((stats) => stats.attempted ?? 0).sort((a, b) => b - a)[0]
  return {
    ...merged,
    sent: timesSent,
    fails: failsCounter,
    tried: [],
    ...(attempted && { attempted: attempted as NonNullable<DeliveryStats['attempted']> }),
  }
}
