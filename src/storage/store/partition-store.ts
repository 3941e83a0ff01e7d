import { statSync } from 'node:fs'
import { join } from 'node:path'
import { StorageFull } from '../../faults.js'
import type { Entity, EntityId, ServicePath, Tenant } from '../../model/context/entity.js'
import { type EntityLimits, noLimits } from '../../model/context/entity-size.js'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { Log } from '../../observe/log/log.js'
import { traceArea } from '../../observe/log/trace.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { WriteWatch } from '../../threads/shared-memory/thread-beats.js'
import type { Milliseconds, Nanoseconds } from '../../time.js'
import { Checkpoints } from '../environment/checkpoint.js'
import { faultOf } from '../environment/disk-fault.js'
import { DiskRoom } from '../environment/disk-room.js'
import {
  type Environment,
  environmentOf,
  figuresOf,
  usedBytes,
  type WriterSettings,
} from '../environment/environment.js'
import { LoggedEnvironment, type LoggedParts } from '../environment/logged-environment.js'
import { entityOf, missing, numberOf } from '../records/damage.js'
import { idInPath, type Key, recordKey } from '../records/keys.js'
import type { NoticeWrite } from '../records/notice-write.js'
import {
  type Expired,
  entityName,
  type PartitionStore,
  type PinnedCommit,
  type PinPurpose,
  type PreparedTurn,
  type TurnChanges,
} from '../records/store.js'
import {
  decodeTurnRecord,
  type EntityWrite,
  encodeTurnRecord,
  type TurnRecord,
  turnRecord,
} from '../records/turn-record.js'
import type { LogRecord, LogSequence, NotedLog } from '../wal/record-log.js'
import { CountChanges } from './count-changes.js'
import { expiredIn, writeEntries } from './index-entries.js'
import { KnownEntities } from './known-entities.js'
import { Outbox } from './outbox.js'
import { type HeldRecord, RecordCache } from './record-cache.js'

/** The fact that keeps the order of creation growing over restarts: the highest sequence of an entity. Part of the format on disk. */
export const highestFact: Key = ['place']

/** Notes the highest sequence ever given in an empty partition. */
export function putHighestSequence({ facts }: Pick<Environment, 'facts'>, highest: number): void {
  facts.putSync(highestFact, String(highest))
}

/** The characters written between two looks at the size of the data, which may exceed its limit by as much. */
const charactersPerLook = 2 ** 18

/** The share of its cache that a store has for large entities, decoded; the rest is for records. */
const largeShare = 0.25

/** The parts of a store beside its environment. */
export interface StoreParts {
  /** Bytes of the records, and of large entities, that are kept in memory. */
  readonly cache_bytes?: number
  readonly log?: Log
  /** The limits of entities; none by default. */
  readonly limits?: EntityLimits
  /** Called when the disk has failed in the background; by default the thread ends. */
  readonly failed?: (fault: unknown) => void
  /** Opens the log of a cluster; by default the log is in local files. */
  readonly openLog?: LoggedParts['openLog'] | undefined
  /** Called with the duration of each checkpoint in the background. */
  readonly checkpointed?: (duration: Nanoseconds) => void
  /** Notified of write transactions. */
  readonly writing?: WriteWatch | undefined
}

/** Ends the thread of a partition after a fault that leaves the state of the disk unknown. */
export function endThread(fault: unknown): void {
  setImmediate(() => {
    throw fault
  })
}

/** A partition's store in an LMDB environment, of which this is the only writer. */
export class LmdbPartitionStore implements PartitionStore {
  readonly limits: EntityLimits
  readonly #path: string
  readonly #log: Log | undefined
  readonly #environment: Environment
  readonly #logged: LoggedEnvironment
  readonly #outbox: Outbox
  readonly #cache: RecordCache
  readonly #large: KnownEntities
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
    {
      cache_bytes = 2 ** 20,
      log,
      limits = noLimits,
      failed = endThread,
      checkpointed,
      openLog,
      writing,
    }: StoreParts = {},
  ) {
    this.limits = limits
    this.#path = path
    this.#log = log
    const checkpoints = Checkpoints.open(path, settings)
    this.#environment = environmentOf(checkpoints.root)
    this.#outbox = new Outbox(this.#environment, path)
    this.#cache = new RecordCache((1 - largeShare) * cache_bytes)
    this.#large = new KnownEntities(largeShare * cache_bytes)
    this.#sizeMax = settings.sizeMax_bytes
    this.#highest = numberOf(this.#environment.facts.get(highestFact), path, 'the highest sequence')
    const { facts } = this.#environment
    const logged = { path, checkpoints, facts, durable: settings.durable, log, failed, checkpointed, openLog, writing }
    this.#logged = new LoggedEnvironment(logged)
    this.#logged.recover((bytes) => this.#write(decodeTurnRecord(bytes, (...of) => this.#held(...of))))
    this.#cache.clear()
    this.#disk = new DiskRoom(path, settings.keepFree_bytes, () => this.#freeInFile_bytes())
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
    // Pages that were freed since the last checkpoint can not be used again: when they are needed, each turn is followed by one.
    if (this.#disk.isLow) this.#logged.checkpoint()
    this.#disk.lookIfDue()
    return this.#isBelowLimit() && this.#disk.mayGrow
  }

  /** Looks for room on the disk, which may have changed while nothing was written. */
  lookForRoom(): void {
    this.#disk.look()
  }

  entities(tenant: Tenant, path: ServicePath, id: EntityId): readonly Entity[] {
    const name = entityName(tenant, path, id)
    const records = this.#cache.get(name) ?? this.#read(name, tenant, path, id)
    const found = records.map(({ sequence, text }) =>
      this.#large.entity(sequence, text, () => entityOf(text, { path: this.#path, tenant, sequence })),
    )
    return found.length > 1 ? found.sort((a, b) => a.sequence - b.sequence) : found
  }

  expired(time: Milliseconds, limit: number): readonly Expired[] {
    try {
      return expiredIn(this.#environment, time, limit)
    } catch (fault) {
      throw faultOf(fault, this.#path)
    }
  }

  /** The last record of its log that is applied. */
  get applied(): LogSequence {
    return this.#logged.applied
  }

  /**
   * Applies what others have appended to the log, as recovery does, in one transaction; gives the notices that it has put into
   * the outbox. `committing` hears which entities change, before anybody can see it. Throws `StorageFull` when there is no room.
   */
  follow(
    turns: readonly LogRecord[],
    last: LogSequence,
    committing: (changed: readonly EntityWrite[]) => void,
  ): readonly NoticeWrite[] {
    if (turns.length === 0) {
      this.#logged.pass(last)
      return []
    }
    this.#disk.enter()
    const highest = this.#highest
    const lastNotice = this.#outbox.last
    const changed: EntityWrite[] = []
    const notices: NoticeWrite[] = []
    const write = (bytes: Uint8Array): void => {
      const turn = decodeTurnRecord(bytes, (...of) => this.#held(...of))
      for (const entity of turn.entities) changed.push(entity)
      for (const notice of turn.notices) notices.push(notice)
      this.#write(turn)
    }
    try {
      this.#logged.follow(turns, last, write, () => committing(changed))
    } catch (fault) {
      this.#cache.clear()
      this.#highest = highest
      this.#outbox.rewind(lastNotice)
      throw this.#known(fault)
    }
    if (changed.some(({ kind }) => kind === 'put')) this.#disk.hasGrown()
    this.#isLookDue = !this.#wasBelowLimit || this.#written >= charactersPerLook
    return notices
  }

  /** Notes everything up to a record of the log as applied; the records since the last turn do not change anything. */
  pass(last: LogSequence): void {
    this.#logged.pass(last)
  }

  pin(purpose: PinPurpose): PinnedCommit {
    return this.#logged.pin(purpose)
  }

  unpin(purpose: PinPurpose): boolean {
    return this.#logged.unpin(purpose)
  }

  get wal(): NotedLog {
    return this.#logged.wal
  }

  prepare(changes: TurnChanges): PreparedTurn | undefined {
    const turn = turnRecord(changes, this.#highest)
    if (turn === undefined) return undefined
    this.#disk.enter()
    return { bytes: encodeTurnRecord(turn), apply: (sequence) => this.#apply(turn, sequence) }
  }

  logWasFull(): void {
    this.#disk.wasFull()
  }

  #apply(turn: TurnRecord, sequence: LogSequence): void {
    const highest = this.#highest
    const lastNotice = this.#outbox.last
    try {
      this.#logged.apply(sequence, () => this.#write(turn))
    } catch (fault) {
      this.#cache.clear()
      this.#highest = highest
      this.#outbox.rewind(lastNotice)
      throw this.#known(fault)
    }
    // The turn is applied: what stands here must not throw, since a fault says that nothing was written.
    if (turn.entities.some(({ kind }) => kind === 'put')) this.#disk.hasGrown()
    this.#isLookDue = !this.#wasBelowLimit || this.#written >= charactersPerLook
  }

  /** Classifies the fault of a transaction. */
  #known(fault: unknown): unknown {
    const known = faultOf(fault, this.#path)
    if (known instanceof StorageFull) this.#disk.wasFull()
    return known
  }

  /** Closes the environment for this thread. Only between turns. */
  async close(): Promise<void> {
    await this.#logged.close()
    await this.#environment.root.close()
  }

  #freeInFile_bytes(): number {
    if (!this.#logged.isCheckpointed) return 0
    return statSync(join(this.#path, 'data.mdb')).size - usedBytes(this.#environment)
  }

  /**
   * Whether the data is below its limit. LMDB is asked now and then, and after every turn while there is no room, so that a removal
   * helps at once.
   */
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

  #held(tenant: Tenant, sequence: Sequence): Entity {
    return entityOf(this.#record(tenant, sequence).text, { path: this.#path, tenant, sequence })
  }

  /** Writes the changes of a turn within its transaction; recovery calls it as well. */
  #write({ highest, entities, notices, acks }: TurnRecord): void {
    const counts = new CountChanges()
    for (const write of entities) {
      this.#writeRecord(write)
      writeEntries(this.#environment, write)
      counts.note(write)
    }
    this.#cacheChanges(entities)
    counts.write(this.#environment)
    this.#written += this.#outbox.enqueue(notices)
    this.#outbox.ack(acks)
    if (highest > this.#highest) {
      this.#highest = highest
      this.#environment.facts.putSync(highestFact, String(highest))
    }
    this.#trace(entities)
  }

  #writeRecord(write: EntityWrite): void {
    const { records } = this.#environment
    const { tenant, entity } = write
    const key = recordKey(tenant, entity.sequence)
    if (write.kind === 'remove') return void records.removeSync(key)
    records.putSync(key, write.text)
    this.#written += write.text.length
    this.#large.put(entity.sequence, write.text, entity)
  }

  #cacheChanges(entities: readonly EntityWrite[]): void {
    const [only] = entities
    if (only === undefined) return
    if (entities.length === 1) {
      this.#cache.change(nameOf(only), only.entity.sequence, textOf(only))
      return
    }
    const byName = new Map<string, Map<Sequence, string | undefined>>()
    for (const write of entities) {
      const name = nameOf(write)
      const changes = byName.get(name)
      if (changes === undefined) byName.set(name, new Map([[write.entity.sequence, textOf(write)]]))
      else changes.set(write.entity.sequence, textOf(write))
    }
    for (const [name, changes] of byName) this.#cache.changeAll(name, changes)
  }

  #trace(writes: readonly EntityWrite[]): void {
    const log = this.#log
    if (log?.traces[traceArea['storage.write']] === 1) {
      log.trace('storage.write', `${writes.length} records written`, { records: writes.length })
    }
    if (log?.traces[traceArea['storage.index']] !== 1) return
    for (const write of writes) {
      const what = write.kind === 'remove' ? 'left' : write.before ? undefined : 'entered'
      const { id, type, path } = write.entity
      if (what) log.trace('storage.index', `${id} (${type}) in ${path} ${what} the indexes`)
    }
  }
}

function nameOf({ tenant, entity: { path, id } }: EntityWrite): string {
  return entityName(tenant, path, id)
}

function textOf(write: EntityWrite): string | undefined {
  return write.kind === 'put' ? write.text : undefined
}
