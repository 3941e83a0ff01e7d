import type { RootDatabase } from 'lmdb'
import { commandSpace_bytes } from '../../storage/environment/address-space.js'
import { openDatabase, openEnvironment, openRoot, type WriterSettings } from '../../storage/environment/environment.js'
import { writeInTransaction } from '../../storage/environment/write-transaction.js'
import { openDataFolder } from '../../storage/folder/data-folder.js'
import type { Key } from '../../storage/records/keys.js'
import { encodeNotice } from '../../storage/records/outbox-record.js'
import { goOnBehind, Outbox, openOutbox } from '../../storage/store/outbox.js'
import { OutboxMove } from '../../storage/store/outbox-move.js'
import { noticeAt, noticesAfter, OutboxReader } from '../../storage/store/outbox-reader.js'
import { putHighestSequence } from '../../storage/store/partition-store.js'
import { CommandFailure } from '../offline/command.js'
import { type FolderOpening, StoredFolder } from '../offline/offline-folder.js'
import { EntityBatch } from './folder-sink.js'

export interface Resharded {
  readonly entities: number
  /** The number of waiting notices, which were moved as well. */
  readonly notices: number
}

/** The number of entities that are committed together. */
const together = 2000

/**
 * Builds in a new folder the contents of another one, with another number of partitions: entities with their sequences, waiting
 * notices, delivery stats, and all metadata. The other folder is only read. `progressed` is called now and then, and ends it by
 * an error. Throws `CommandFailure`.
 */
export async function reshardInto(
  source: StoredFolder,
  target: FolderOpening & { readonly make: { readonly partitions: number } },
  progressed: (entities: number) => void,
): Promise<Resharded> {
  const notices = await moveOutboxes(source, target)
  const stored = await StoredFolder.open(target)
  try {
    let entities = 0
    let batch = new EntityBatch(stored)
    for (const [tenant, entity] of source.entities()) {
      batch.put(tenant, entity, undefined)
      entities += 1
      if (entities % together !== 0) continue
      batch.commit()
      batch = new EntityBatch(stored)
      await new Promise(setImmediate) // Signals and the timers of logs and checkpoints have their turn.
      progressed(entities)
    }
    batch.commit()
    return { entities, notices }
  } finally {
    await stored.close()
  }
}

/** Makes the members, and writes everything but entities before any log is begun; gives the number of notices. */
async function moveOutboxes(
  source: StoredFolder,
  { path, make, sizeMax_bytes, keepFree_bytes }: FolderOpening & { readonly make: { readonly partitions: number } },
): Promise<number> {
  const settings: WriterSettings = { durable: false, maxReaders: 256, sizeMax_bytes, keepFree_bytes, writers: 1 }
  const { partitions } = make
  const made = await openDataFolder(path, {
    partitions: partitions,
    preferred: partitions,
    everyPage_bytes: 0,
    maxReaders: 256,
    maps: { sizeMax_bytes, others_bytes: () => commandSpace_bytes },
  })
  if (!made.ok) throw new CommandFailure(made.error.reason)
  const readers = source.partitions.map(
    (_, number) => new OutboxReader(source.folder.partitionPath(number), settings, thrown),
  )
  const last = Math.max(...readers.map((reader) => reader.last()))
  const targets = Array.from({ length: partitions }, (_, number) => {
    const folder = made.value.partitionPath(number)
    const environment = openEnvironment(folder, { ...settings, readOnly: false })
    putHighestSequence(environment, source.highestSequence)
    goOnBehind(environment, last)
    return { outbox: new Outbox(environment, folder), root: environment.root }
  })
  const move = new OutboxMove(readers, targets)
  await copyMetadata(source.folder.metadataPath, made.value.metadataPath, settings, move)
  move.move()
  for (const [id, stats] of source.stats('partitions')) move.putStats(id, stats)
  for (const { root } of targets) await root.close()
  made.value.release()
  return move.count
}

function thrown(damage: Error): never {
  throw damage
}

/** The coordinator's databases, without the facts about its environment itself. */
const metadataDatabases = [
  'subscriptions',
  'ticks',
  'registrations',
  'availability',
  'notices',
  'groups',
  'shown',
  'deliveryStats',
] as const

/**
 * Copies the coordinator's data. A notice may wait for earlier ones in the partitions; those have been moved before it, so it
 * waits for the same ones under their new numbers.
 */
async function copyMetadata(from: string, to: string, settings: WriterSettings, move: OutboxMove): Promise<void> {
  const source = openRoot(from, { ...settings, readOnly: true })
  const target = openRoot(to, { ...settings, readOnly: false })
  for (const name of metadataDatabases) copyDatabase(source, target, name)
  const outbox = openOutbox(target)
  goOnBehind(outbox, new Outbox(openOutbox(source), from).last)
  for (let number = 0; ; ) {
    const page = noticesAfter(outbox, number, 500)
    for (const { number: own, notice } of page) {
      number = own
      if (notice.after === undefined) continue
      const whole = noticeAt(outbox, own)
      if (whole === undefined || whole.body === undefined) throw new Error(`notice ${own} cannot be read`)
      outbox.notices.putSync([own], encodeNotice({ ...whole, after: move.move(notice.after) }))
    }
    if (page.length === 0) break
  }
  await target.close()
}

/** The number of entries that are copied in one transaction. */
const entriesAtOnce = 10_000

function copyDatabase(from: RootDatabase<string, Key>, to: RootDatabase<string, Key>, name: string): void {
  const [source, target] = [openDatabase(from, name), openDatabase(to, name)]
  const entries = source.getRange({})[Symbol.iterator]()
  for (let done = false; !done; ) {
    writeInTransaction(
      to,
      () => {
        for (let count = 0; count < entriesAtOnce; count += 1) {
          const next = entries.next()
          done = next.done === true
          if (next.done) return
          const { key, value } = next.value
          target.putSync(Array.isArray(key) ? key : [key], value)
        }
      },
      undefined,
    )
  }
}
