import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Entity, EntityId, ServicePath, Tenant } from '../context/entity.js'
import { type EntityLimits, noLimits } from '../context/entity-size.js'
import type { Log } from '../log/log.js'
import { type EntityChange, entityName, type PartitionStore, type TurnChanges } from '../partition/store.js'
import type { Sequence } from '../shared-memory/sequences.js'
import { StorageFull } from '../storage-fault.js'
import type { NoticeNumber } from '../subscription/notice.js'
import { traceArea } from '../trace-area.js'
import { CountChanges } from './count-changes.js'
import { entityOf, missing, numberOf } from './damage.js'
import { faultOf } from './disk-fault.js'
import { DiskRoom } from './disk-room.js'
import { type Environment, figuresOf, openEnvironment, usedBytes, type WriterSettings } from './environment.js'
import { idInPath, idKey, recordKey, typeKey } from './keys.js'
import { Outbox } from './outbox.js'
import { encodeEntity, encodeLocated } from './record.js'
import { type HeldRecord, RecordCache } from './record-cache.js'

/** The fact that keeps the order of creation growing over restarts: the highest sequence of an entity. Part of the format on disk. */
const highestFact = ['place']

/** What is written between two looks at the size of the data: by at most this may the data exceed its limit. */
const charactersPerLook = 2 ** 18

/** What a store is opened with beside its environment. */
export interface StoreParts {
  /** Bytes of the records that are kept in memory. */
  readonly cache_bytes?: number
  readonly log?: Log
  /** How large entities may become; as large as they like without it. */
  readonly limits?: EntityLimits
}

/** A partition's store in an LMDB environment, of which this is the only writer. */
export class LmdbPartitionStore implements PartitionStore {
  readonly limits: EntityLimits
  readonly #path: string
  readonly #log: Log | undefined
  readonly #environment: Environment
  readonly #outbox: Outbox
  readonly #cache: RecordCache
  readonly #disk: DiskRoom
  readonly #sizeMax: number
  #highest: number
  /** Whether the data was below its limit at the last look. */
  #wasBelowLimit = true
  #isLookDue = false
  /** Characters that were written since the last look. */
  #written = 0

  constructor(
    path: string,
    settings: WriterSettings,
    { cache_bytes = 2 ** 20, log, limits = noLimits }: StoreParts = {},
  ) {
    this.limits = limits
    this.#path = path
    this.#log = log
    this.#environment = openEnvironment(path, { ...settings, readOnly: false })
    this.#outbox = new Outbox(this.#environment, path)
    this.#cache = new RecordCache(cache_bytes)
    const inFile_bytes = () => statSync(join(path, 'data.mdb')).size - usedBytes(this.#environment)
    this.#disk = new DiskRoom(path, settings.keepFree_bytes, inFile_bytes)
    this.#sizeMax = settings.sizeMax_bytes
    this.#highest = numberOf(this.#environment.facts.get(highestFact), path, 'the highest sequence')
  }

  /** The highest sequence at which an entity of this partition was ever created. */
  get highestSequence(): number {
    return this.#highest
  }

  get lastNotice(): NoticeNumber {
    return this.#outbox.last
  }

  get entityCount(): number {
    return figuresOf(this.#environment.records).entryCount
  }

  /** The bytes that the data take, and those that they may take. */
  get size(): { readonly used_bytes: number; readonly max_bytes: number } {
    return { used_bytes: usedBytes(this.#environment), max_bytes: this.#sizeMax }
  }

  get isFull(): boolean {
    return !this.#isBelowLimit() || this.#disk.isFull
  }

  hasRoom(): boolean {
    this.#disk.lookIfDue()
    return this.#isBelowLimit() && this.#disk.mayGrow
  }

  /** Looks for room on the disk, which somebody may have made or taken while nothing was written. */
  lookForRoom(): void {
    this.#disk.look()
  }

  entities(tenant: Tenant, path: ServicePath, id: EntityId): readonly Entity[] {
    const name = entityName(tenant, path, id)
    const records = this.#cache.get(name) ?? this.#read(name, tenant, path, id)
    const found = records.map(({ sequence, text }) => entityOf(text, { path: this.#path, tenant, sequence }))
    return found.length > 1 ? found.sort((a, b) => a.sequence - b.sequence) : found
  }

  apply({ entities, notices, acks }: TurnChanges, written?: () => void): void {
    this.#disk.enter()
    const highest = this.#highest
    const lastNotice = this.#outbox.last
    try {
      this.#environment.root.transactionSync(() => {
        this.#write(entities)
        this.#written += this.#outbox.enqueue(notices)
        this.#outbox.ack(acks)
        written?.()
      })
    } catch (fault) {
      this.#cache.clear()
      this.#highest = highest
      this.#outbox.rewind(lastNotice)
      const known = faultOf(fault, this.#path)
      if (known instanceof StorageFull) this.#disk.wasFull()
      throw known
    }
    // The turn is on disk: what stands here must not throw, since a fault says that nothing was written.
    if (entities.some(({ kind }) => kind === 'put')) this.#disk.hasGrown()
    this.#isLookDue = !this.#wasBelowLimit || this.#written >= charactersPerLook
  }

  /** Closes the environment for this thread. Only between turns. */
  async close(): Promise<void> {
    await this.#environment.root.close()
  }

  /** Asks LMDB for its figures now and then; after every turn while there is no room, so that a removal helps at once. */
  #isBelowLimit(): boolean {
    if (this.#isLookDue) {
      this.#isLookDue = false
      this.#written = 0
      this.#wasBelowLimit = this.size.used_bytes < this.#sizeMax
    }
    return this.#wasBelowLimit
  }

  /** Outside of write transactions: lmdb reads the last commit of this thread. */
  #read(name: string, tenant: Tenant, path: ServicePath, id: EntityId): readonly HeldRecord[] {
    try {
      const records: HeldRecord[] = []
      for (const { value } of this.#environment.ids.getRange(idInPath(tenant, id, path))) {
        records.push(this.#record(tenant, Number(value) as Sequence))
      }
      this.#cache.put(name, records)
      return records
    } catch (fault) {
      throw faultOf(fault, this.#path)
    }
  }

  #record(tenant: Tenant, sequence: Sequence): HeldRecord {
    const text = this.#environment.records.get(recordKey(tenant, sequence))
    if (text === undefined) throw missing({ path: this.#path, tenant, sequence })
    return { sequence, text }
  }

  #write(changes: readonly EntityChange[]): void {
    const counts = new CountChanges()
    // Of several updates of one entity in a turn, only the last one's record has to be written.
    const last = new Map<Sequence, EntityChange>()
    for (const change of changes) {
      if (change.kind === 'remove') this.#removeFromIndexes(change)
      else if (change.before === undefined) this.#putIntoIndexes(change)
      last.set(change.entity.sequence, change)
      counts.note(change)
    }
    for (const change of last.values()) this.#writeRecord(change)
    counts.write(this.#environment.counts)
    this.#trace(changes, last.size)
  }

  #putIntoIndexes({ tenant, entity }: EntityChange): void {
    const { ids, types, facts } = this.#environment
    const { id, path, type, sequence } = entity
    ids.putSync(idKey(tenant, id, path, type), String(sequence))
    types.putSync(typeKey(tenant, type, sequence), encodeLocated(entity))
    if (sequence <= this.#highest) return
    this.#highest = sequence
    facts.putSync(highestFact, String(sequence))
  }

  #removeFromIndexes({ tenant, entity: { id, path, type, sequence } }: EntityChange): void {
    this.#environment.ids.removeSync(idKey(tenant, id, path, type))
    this.#environment.types.removeSync(typeKey(tenant, type, sequence))
  }

  #writeRecord({ kind, tenant, entity }: EntityChange): void {
    const key = recordKey(tenant, entity.sequence)
    const name = entityName(tenant, entity.path, entity.id)
    if (kind === 'remove') {
      this.#environment.records.removeSync(key)
      this.#cache.change(name, entity.sequence, undefined)
      return
    }
    const text = encodeEntity(entity)
    this.#written += text.length
    this.#environment.records.putSync(key, text)
    this.#cache.change(name, entity.sequence, text)
  }

  #trace(changes: readonly EntityChange[], records: number): void {
    const log = this.#log
    if (log?.traces[traceArea['storage.write']] === 1)
      log.trace('storage.write', `${records} records written`, { records })
    if (log?.traces[traceArea['storage.index']] !== 1) return
    for (const { kind, entity, ...change } of changes) {
      const what = kind === 'remove' ? 'left' : 'before' in change && change.before ? undefined : 'entered'
      if (what) log.trace('storage.index', `${entity.id} (${entity.type}) in ${entity.path} ${what} the indexes`)
    }
  }
}
