import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Entity, EntityId, ServicePath, Tenant } from '../context/entity.js'
import { type EntityLimits, noLimits } from '../context/entity-size.js'
import type { Log } from '../log/log.js'
import { entityName } from '../partition/entity-name.js'
import type { Effect } from '../partition/message.js'
import { type PartitionStore, StorageFull } from '../partition/store.js'
import type { Sequence } from '../shared-memory/sequences.js'
import type { NewNotice, NoticeAck, NoticeNumber } from '../subscription/notice.js'
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

/** The fact that keeps the order of creation growing over restarts: the highest place that an entity was created at. */
const placeFact = ['place']

/** What is written between two looks at the size of the data: so much may it exceed its limit. */
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
  readonly #environment: Environment
  readonly #outbox: Outbox
  readonly #cache: RecordCache
  readonly #sizeMax: number
  readonly limits: EntityLimits
  readonly #log: Log | undefined
  readonly #path: string
  readonly #disk: DiskRoom
  #highest: number
  #hasRoom = true
  /** Whether the turn under way writes more than it removes. */
  #grows = false
  #written = 0

  constructor(
    path: string,
    settings: WriterSettings,
    { cache_bytes = 2 ** 20, log, limits = noLimits }: StoreParts = {},
  ) {
    this.#log = log
    this.#path = path
    this.limits = limits
    this.#cache = new RecordCache(cache_bytes)
    this.#environment = openEnvironment(path, { ...settings, readOnly: false })
    const inFile_bytes = () => statSync(join(path, 'data.mdb')).size - usedBytes(this.#environment)
    this.#disk = new DiskRoom(path, settings.keepFree_bytes, inFile_bytes)
    this.#sizeMax = settings.sizeMax_bytes
    this.#outbox = new Outbox(this.#environment, path)
    this.#highest = numberOf(this.#environment.facts.get(placeFact), path, 'the highest place')
  }

  /** The highest place that an entity of this partition was ever created at. */
  get highestPlace(): number {
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

  get hasRoom(): boolean {
    return this.#hasRoom && this.#disk.mayGrow
  }

  get isFull(): boolean {
    return !this.#hasRoom || this.#disk.isFull
  }

  /** Looks for room on the disk, which somebody may have made or taken while nothing was written. */
  lookForRoom(): void {
    this.#disk.look()
  }

  transact<Result>(turn: () => Result): Result {
    this.#disk.enter()
    const before = this.#highest
    const lastNotice = this.#outbox.last
    try {
      // Nothing stands between the commit and the end of this: a fault there would be taken for one of the transaction.
      return this.#environment.root.transactionSync(turn)
    } catch (fault) {
      this.#cache.rollback()
      this.#grows = false
      this.#highest = before
      this.#outbox.rewind(lastNotice)
      const known = faultOf(fault, this.#path)
      if (known instanceof StorageFull) this.#disk.wasFull()
      throw known
    }
  }

  committed(): void {
    this.#cache.commit()
    if (this.#grows) this.#disk.hasGrown()
    this.#grows = false
    this.#lookForRoom()
  }

  entities(tenant: Tenant, path: ServicePath, id: EntityId): readonly Entity[] {
    const name = entityName(tenant, path, id)
    const records = this.#cache.get(name) ?? this.#read(name, tenant, path, id)
    const found = records.map(({ sequence, text }) => entityOf(text, { path: this.#path, tenant, sequence }))
    return found.length > 1 ? found.sort((a, b) => a.sequence - b.sequence) : found
  }

  #read(name: string, tenant: Tenant, path: ServicePath, id: EntityId): readonly HeldRecord[] {
    const records: HeldRecord[] = []
    for (const { value } of this.#environment.ids.getRange(idInPath(tenant, id, path))) {
      records.push(this.#record(tenant, Number(value) as Sequence))
    }
    this.#cache.read(name, records)
    return records
  }

  write(effects: readonly Effect[]): void {
    const counts = new CountChanges()
    // Of several updates of one entity in a turn, only the last one's record has to be written.
    const records = new Map<Sequence, Effect>()
    for (const effect of effects) {
      if (effect.kind === 'remove') this.#forget(effect)
      else {
        this.#grows = true
        if (effect.before === undefined) this.#enter(effect)
      }
      records.set(effect.entity.sequence, effect)
      counts.note(effect)
    }
    for (const effect of records.values()) this.#writeRecord(effect)
    counts.write(this.#environment.counts)
    this.#trace(effects, records.size)
  }

  enqueue(notices: readonly NewNotice[]): void {
    this.#written += this.#outbox.enqueue(notices)
  }

  ack(acks: readonly NoticeAck[]): void {
    this.#outbox.ack(acks)
  }

  #trace(effects: readonly Effect[], records: number): void {
    const log = this.#log
    if (log?.traces[traceArea['storage.write']] === 1)
      log.trace('storage.write', `${records} records written`, { records })
    if (log?.traces[traceArea['storage.index']] !== 1) return
    for (const { kind, entity, ...effect } of effects) {
      const what = kind === 'remove' ? 'left' : 'before' in effect && effect.before ? undefined : 'entered'
      if (what) log.trace('storage.index', `${entity.id} (${entity.type}) in ${entity.path} ${what} the indexes`)
    }
  }

  /** Closes the environment for this thread. Only between turns. */
  async close(): Promise<void> {
    await this.#environment.root.close()
  }

  /** Asks LMDB for its figures now and then; always while there is no room, so that a removal helps at once. */
  #lookForRoom(): void {
    if (this.#hasRoom && this.#written < charactersPerLook) return
    this.#written = 0
    this.#hasRoom = this.size.used_bytes < this.#sizeMax
  }

  #record(tenant: Tenant, sequence: Sequence): HeldRecord {
    const text = this.#environment.records.get(recordKey(tenant, sequence))
    if (text === undefined) throw missing({ path: this.#path, tenant, sequence })
    return { sequence, text }
  }

  #writeRecord({ kind, tenant, entity }: Effect): void {
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

  #enter({ tenant, entity }: Effect): void {
    const { ids, types, facts } = this.#environment
    const { id, path, type, sequence } = entity
    ids.putSync(idKey(tenant, id, path, type), String(sequence))
    types.putSync(typeKey(tenant, type, sequence), encodeLocated(entity))
    if (sequence <= this.#highest) return
    this.#highest = sequence
    facts.putSync(placeFact, String(sequence))
  }

  #forget({ tenant, entity: { id, path, type, sequence } }: Effect): void {
    this.#environment.ids.removeSync(idKey(tenant, id, path, type))
    this.#environment.types.removeSync(typeKey(tenant, type, sequence))
  }
}
