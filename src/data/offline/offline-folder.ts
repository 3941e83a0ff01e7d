import { statSync } from 'node:fs'
import { join } from 'node:path'
import { mergedStats } from '../../delivery/queue/delivery-records.js'
import { failureText } from '../../faults.js'
import { halfTheProcessors } from '../../machine.js'
import { compareBytes, type Entity, type Tenant } from '../../model/context/entity.js'
import type { DeliveryStats } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { commandSpace_bytes } from '../../storage/environment/address-space.js'
import type { WriterSettings } from '../../storage/environment/environment.js'
import { pinnedFile } from '../../storage/environment/file-pin.js'
import { type DataFolder, type FolderMaps, openDataFolder } from '../../storage/folder/data-folder.js'
import { type FolderFormat, readFormat } from '../../storage/folder/folder-format.js'
import { decideSwap, finishSwap, isDecided, type SwapSource } from '../../storage/folder/folder-swap.js'
import type { PinnedFile } from '../../storage/records/store.js'
import { mergeSorted } from '../../storage/store/merge-sorted.js'
import { MetadataStore } from '../../storage/store/metadata-store.js'
import { OutboxReader } from '../../storage/store/outbox-reader.js'
import { PartitionStore } from '../../storage/store/partition-store.js'
import { RecordWalk } from '../../storage/store/record-walk.js'
import { CommandFailure, Unfinished } from './command.js'

/** How a command opens a data folder that no broker runs on. */
export interface FolderOpening {
  readonly path: string
  /** Whether a missing folder is made, and with how many partitions; undefined for the default. */
  readonly make: false | { readonly partitions: number | undefined }
  /** Limit of the data of a partition. */
  readonly sizeMax_bytes: number
  /** Free space of the disk that is left alone. */
  readonly keepFree_bytes: number
}

/** The size for environments that are opened one after the other, however large they are. */
export const anySize_bytes = 2 ** 40

/** Limit of open read transactions. */
const maxReaders = 256

/** The format of a data folder. Throws `CommandFailure` for any other folder, and for another format. */
export function formatOf(path: string): FolderFormat {
  const format = readFormat(path)
  if (format.ok) return format.value
  const { error } = format
  throw new CommandFailure(error === 'missing' ? `${path} is no data folder: it has no format.json` : error.reason)
}

/**
 * Opens the folder of a stopped broker for this process alone and finishes a swap that was decided. Throws `CommandFailure` when the
 * folder is missing, in use, damaged or of another format.
 *
 * @param everyPage_bytes size up to which each page is checked
 * @param sizeMax_bytes size to which the data of each environment may grow, which are all opened then; else one after the other
 */
export async function openFolder(
  path: string,
  make: FolderOpening['make'] = false,
  everyPage_bytes = 0,
  sizeMax_bytes?: number,
): Promise<DataFolder> {
  // In the middle of a swap the format is missing; opening the folder finishes the swap.
  if (!make && !isDecided(path)) formatOf(path)
  const partitions = make ? make.partitions : undefined
  const others_bytes = (): number => commandSpace_bytes
  const maps: FolderMaps =
    sizeMax_bytes === undefined
      ? { sizeMax_bytes: anySize_bytes, others_bytes, oneByOne: true }
      : { sizeMax_bytes, others_bytes }
  const settings = { partitions, preferred: halfTheProcessors, everyPage_bytes, maxReaders, maps }
  const folder = await openDataFolder(path, settings)
  if (!folder.ok) throw new CommandFailure(folder.error.reason)
  return folder.value
}

/** The files of a folder that `openFolder` has opened, after its logs were applied as by a start. */
export async function currentFiles(
  folder: DataFolder,
): Promise<{ readonly partitions: readonly PinnedFile[]; readonly metadata: PinnedFile }> {
  // Removing expired data needs space too, so none is kept free.
  const sizeMax_bytes = anySize_bytes
  const settings: WriterSettings = { durable: true, keepFree_bytes: 0, writers: 1, sizeMax_bytes, maxReaders }
  const members = membersOf(folder)
  for (const member of members) await new PartitionStore(member, settings).close()
  await new MetadataStore(folder.metadataPath, settings, (reason) => {
    throw new CommandFailure(reason)
  }).close()
  return { partitions: members.map(pinnedFile), metadata: pinnedFile(folder.metadataPath) }
}

function membersOf(folder: DataFolder): readonly string[] {
  return Array.from({ length: folder.partitions }, (_, number) => folder.partitionPath(number))
}

/** Bytes of records that each partition keeps in memory. */
const cache_bytes = 2 ** 22

/**
 * All stores of a data folder, opened under its lock and recovered as by a start. Writes are not flushed one by one, as with
 * `-writeConcern 0`; they are on disk when the folder is closed.
 */
export class StoredFolder {
  readonly folder: DataFolder
  readonly partitions: readonly PartitionStore[]
  readonly metadata: MetadataStore
  readonly #settings: WriterSettings
  /** Readers, which are closed before the stores. */
  readonly #readers: { close(): Promise<void> }[] = []

  private constructor(
    folder: DataFolder,
    settings: WriterSettings,
    partitions: readonly PartitionStore[],
    metadata: MetadataStore,
  ) {
    this.folder = folder
    this.#settings = settings
    this.partitions = partitions
    this.metadata = metadata
  }

  /** Opens a folder. Throws `CommandFailure`, and leaves nothing open then. */
  static async open({ path, make, sizeMax_bytes, keepFree_bytes }: FolderOpening): Promise<StoredFolder> {
    const folder = await openFolder(path, make, 2 ** 30, sizeMax_bytes)
    const settings = { durable: false, keepFree_bytes, writers: 1, sizeMax_bytes, maxReaders }
    const partitions: PartitionStore[] = []
    const broken = (reason: string): never => {
      throw new Error(reason)
    }
    try {
      for (const member of membersOf(folder)) partitions.push(new PartitionStore(member, settings, { cache_bytes }))
      return new StoredFolder(folder, settings, partitions, new MetadataStore(folder.metadataPath, settings, broken))
    } catch (fault) {
      for (const partition of partitions) await partition.close()
      folder.release()
      throw new CommandFailure(`the data folder ${path} cannot be used: ${failureText(fault)}`)
    }
  }

  get entityCount(): number {
    return this.partitions.reduce((sum, { entityCount }) => sum + entityCount, 0)
  }

  /** Upper bound of the space that a copy of the data takes. */
  get used_bytes(): number {
    const partitions_bytes = this.partitions.reduce((sum, { size }) => sum + size.used_bytes, 0)
    return partitions_bytes + statSync(join(this.folder.metadataPath, 'data.mdb')).size
  }

  /** The highest sequence of any entity, also of removed ones. */
  get highestSequence(): number {
    return Math.max(...this.partitions.map(({ highestSequence }) => highestSequence))
  }

  /** All entities with their tenants: tenant by tenant, and each tenant's in the order of creation. */
  *entities(only?: Tenant): Generator<readonly [tenant: Tenant, entity: Entity]> {
    const walks = membersOf(this.folder).map((path) => new RecordWalk(path, this.#settings))
    this.#readers.push(...walks)
    const tenants = only === undefined ? new Set(walks.flatMap((walk) => walk.tenants())) : [only]
    for (const tenant of [...tenants].sort(compareBytes)) {
      const sequences = walks.map((walk) => walk.entities(tenant))
      for (const entity of mergeSorted(sequences, (a, b) => a.sequence - b.sequence)) yield [tenant, entity]
    }
  }

  /** The delivery stats of each subscription, merged over all outboxes or over those of partitions. */
  stats(of: 'all' | 'partitions' = 'all'): ReadonlyMap<SubscriptionId, DeliveryStats> {
    const parts = new Map<SubscriptionId, DeliveryStats[]>()
    for (const path of [...membersOf(this.folder), ...(of === 'all' ? [this.folder.metadataPath] : [])]) {
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

  /** Closes the stores, with everything on disk, then calls `last` while the folder is still locked, and releases it. */
  async close(last = (): void => {}): Promise<void> {
    for (const reader of this.#readers) await reader.close()
    for (const partition of this.partitions) await partition.close()
    await this.metadata.close()
    try {
      last()
    } finally {
      this.folder.release()
    }
  }
}

/** The stats of several outboxes as those of one. */
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

/**
 * Replaces the members of a folder by new ones, or by the previous ones; the caller has the lock of the folder. Throws
 * `CommandFailure` when nothing was changed: what was built is removed then. Throws `Unfinished` when the swap is decided, and the next
 * command or start has to finish it.
 */
export function swapMembers(path: string, source: SwapSource): void {
  try {
    const decided = decideSwap(path, source)
    if (!decided.ok) throw new CommandFailure(decided.error.reason)
  } catch (fault) {
    removeBuilt(path)
    if (!isDecided(path)) throw fault
  }
  try {
    for (const _ of finishSwap(path));
  } catch (fault) {
    throw new Unfinished(
      `${path} is in the middle of a swap of its files (${failureText(fault)}): see to that, the next start or command finishes it`,
    )
  }
}

/** Removes what was built for a swap that was not decided. Errors are left to the next command, which removes it too. */
export function removeBuilt(path: string): void {
  if (isDecided(path)) return
  try {
    for (const _ of finishSwap(path));
  } catch {
    // The first error is the one to report.
  }
}
