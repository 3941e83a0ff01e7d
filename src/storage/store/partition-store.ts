import { statSync } from 'node:fs'
import { join } from 'node:path'
import { StorageFull } from '../../faults.js'
import type { Entity, EntityId, ServicePath, Tenant } from '../../model/context/entity.js'
import { type EntityLimits, noLimits } from '../../model/context/entity-size.js'
import type { Log } from '../../observe/log/log.js'
import { traceArea } from '../../observe/log/trace.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { WriteWatch } from '../../threads/shared-memory/thread-beats.js'
import type { Milliseconds, Nanoseconds } from '../../time.js'
import { Checkpoints } from '../environment/checkpoint.js'
import { faultOf } from '../environment/disk-fault.js'
import {
  type Environment,
  environmentOf,
  figuresOf,
  orClose,
  usedBytes,
  type WriterSettings,
} from '../environment/environment.js'
import type { LoggedParts } from '../environment/logged-environment.js'
import { entityOf, missing, storedNumber } from '../records/damage.js'
import { idInPath, type Key, recordKey } from '../records/keys.js'
import { type Expired, entityName, type PinnedCommit, type PinPurpose, type TurnChanges } from '../records/store.js'
import {
  decodeTurnRecord,
  type EntityWrite,
  encodeTurnRecord,
  type TurnRecord,
  turnRecord,
} from '../records/turn-record.js'
import type { FlushTime, LogRecord, LogSequence } from '../wal/record-log.js'
import { CountChanges } from './count-changes.js'
import { entryChangesOf, expiredIn, writeEntries } from './index-entries.js'
import { KnownEntities } from './known-entities.js'
import { LoggedStore } from './logged-store.js'
import { Outbox } from './outbox.js'
import { type HeldRecord, RecordCache } from './record-cache.js'
import { changesByName, type Deferral, nameOf, type Publication, TurnPublisher, textOf } from './turn-publisher.js'

/** The fact that keeps the order of creation growing over restarts: the highest sequence of an entity. Part of the format on disk. */
export const highestFact: Key = ['place']

/** Notes the highest sequence ever given in an empty partition. */
export function putHighestSequence({ facts }: Pick<Environment, 'facts'>, highest: number): void {
  facts.putSync(highestFact, String(highest))
}

/** The characters written between two looks at the size of the data, which may exceed its limit by as much. */
const charactersPerLook = 2 ** 18

/** For how long turns are applied at once behind a read that had to wait for LMDB. */
const read_ms = 100

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
  /** Publishes turns before LMDB has them; without it each turn is applied at once. */
  readonly deferral?: Deferral | undefined
}

/** What the caller of a commit does at its stages. */
export interface CommitStages {
  /** The record is in the log, has this size, and is durable unless it is flushed soon; nobody can see the changes yet. */
  readonly logged?: (bytes: number, flush: FlushTime) => void
  /** LMDB is about to be written with the turn. */
  readonly applying?: () => void
}

/** Ends the thread of a partition after a fault that leaves the state of the disk unknown. */
export function endThread(fault: unknown): void {
  setImmediate(() => {
    throw fault
  })
}

/** What a partition's environment holds, as far as its store has it in memory. */
function heldIn({ root }: Checkpoints, path: string) {
  const environment = environmentOf(root)
  const highest = storedNumber(environment.facts.get(highestFact), path, 'the highest sequence')
  return { environment, outbox: new Outbox(environment, path), highest }
}

/** Whether a turn says only what became of notices: should its record be lost, they are sent again, which at least once allows. */
function isOfAcks({ entities, notices }: TurnRecord): boolean {
  return entities.length === 0 && notices.length === 0
}

function changesIn({ entities, notices, acks }: TurnRecord): number {
  return entities.length + notices.length + acks.length
}

/** A partition's store in an LMDB environment, of which its thread is the only writer. */
export class PartitionStore extends LoggedStore<TurnRecord> {
  readonly limits: EntityLimits
  readonly #log: Log | undefined
  readonly #environment: Environment
  readonly #cache: RecordCache
  readonly #large: KnownEntities
  readonly #sizeMax: number
  readonly #publisher: TurnPublisher | undefined
  readonly #isLogLocal: boolean
  /** Until when turns are applied at once, by `performance.now()`. */
  #atOnceUntil_ms = 0
  #highest: number
  /** Whether the data was below its limit at the last look. */
  #wasBelowLimit = true
  #isLookDue = false
  /** Characters that were written since the last look. */
  #written = 0

  constructor(path: string, settings: WriterSettings, { cache_bytes = 2 ** 20, ...parts }: StoreParts = {}) {
    const { log, limits = noLimits, failed = endThread, checkpointed, openLog, writing, deferral } = parts
    const checkpoints = Checkpoints.open(path, settings)
    const { environment, outbox, highest } = orClose(
      () => heldIn(checkpoints, path),
      () => checkpoints.abandon(),
    )
    const { facts } = environment
    const { durable } = settings
    const logged = { path, checkpoints, facts, durable, log, failed, checkpointed, openLog, writing }
    const inFile_bytes = (): number => statSync(join(path, 'data.mdb')).size - usedBytes(environment)
    super(logged, outbox, settings, inFile_bytes)
    this.limits = limits
    this.#log = log
    this.#environment = environment
    this.#cache = new RecordCache((1 - largeShare) * cache_bytes)
    this.#large = new KnownEntities(largeShare * cache_bytes)
    this.#sizeMax = settings.sizeMax_bytes
    this.#publisher = deferral && new TurnPublisher(deferral)
    this.#isLogLocal = openLog === undefined
    this.#highest = highest
    this.recover()
    this.#cache.clear()
  }

  /** The highest sequence at which an entity of this partition was ever created. */
  get highestSequence(): number {
    return this.#highest
  }

  get entityCount(): number {
    return figuresOf(this.#environment.records).entryCount
  }

  /** The bytes that the data take, and those that they may take. */
  get size(): { readonly used_bytes: number; readonly max_bytes: number } {
    return { used_bytes: usedBytes(this.#environment), max_bytes: this.#sizeMax }
  }

  /** Whether there was no room at the last look; growth may be tried again nevertheless. */
  get isFull(): boolean {
    return !this.#isBelowLimit() || this.disk.isFull
  }

  /**
   * Whether the next turn may make the data grow; otherwise only removals are decided. Ask once per turn before deciding it: the
   * call looks at the disk.
   */
  hasRoom(): boolean {
    // Pages that were freed since the last checkpoint can not be used again: when they are needed, each turn is followed by one.
    if (this.disk.isLow) this.logged.checkpoint()
    this.disk.lookIfDue()
    return this.#isBelowLimit() && this.disk.mayGrow
  }

  /** Looks for room on the disk, which may have changed while nothing was written. */
  lookForRoom(): void {
    this.disk.look()
  }

  /** The entities of one id in one service path as the last turn left them, of all types, oldest first. */
  entities(tenant: Tenant, path: ServicePath, id: EntityId): readonly Entity[] {
    const found = this.#records(tenant, path, id).map(({ sequence, text }) =>
      this.#large.entity(sequence, text, () => entityOf(text, { path: this.path, tenant, sequence })),
    )
    return found.length > 1 ? found.sort((a, b) => a.sequence - b.sequence) : found
  }

  /** At most `limit` entities that have expired by a time, in the order of expiration [NGSIv2 context 3.4]. */
  expired(time: Milliseconds, limit: number): readonly Expired[] {
    this.applyPublished()
    try {
      return expiredIn(this.#environment, time, limit)
    } catch (fault) {
      throw faultOf(fault, this.path)
    }
  }

  /** A backup has no log beside it, so it needs everything. A node that fetches a snapshot reads what is missing in it from the log. */
  override pin(purpose: PinPurpose): PinnedCommit {
    if (purpose === 'backup') this.#applyNow()
    else this.applyPublished()
    return super.pin(purpose)
  }

  /**
   * Applies what was published first. While that is not possible nothing is noted: LMDB would name a record behind turns that it lacks, and
   * the next start, which reads the log from there, would leave them out.
   */
  override pass(last: LogSequence): void {
    this.applyPublished()
    if (this.#publisher?.last === undefined) super.pass(last)
  }

  override follow(
    turns: readonly LogRecord[],
    last: LogSequence,
    committing?: (turns: readonly TurnRecord[]) => void,
  ): readonly TurnRecord[] {
    // What was published here stands in the log before these turns.
    this.#applyNow()
    const followed = super.follow(turns, last, committing)
    this.#hasWritten(followed)
    return followed
  }

  /**
   * Logs the changes of a turn, and applies or publishes them, all of them or nothing; says whether there were any. Throws `StorageFull`
   * when there is no room.
   */
  commit(changes: TurnChanges, stages: CommitStages = {}): boolean {
    const turn = turnRecord(changes, this.#highest)
    if (turn === undefined) return false
    const publication = this.#publicationOf(turn)
    // LMDB applies the turns in their order.
    if (publication === undefined) this.#applyNow()
    const bytes = encodeTurnRecord(turn)
    if (publication === undefined) this.disk.enterAtOnce({ bytes: bytes.length, changes: changesIn(turn) })
    else this.disk.enter()
    // In a cluster every record waits for etcd, whatever it says.
    const flush = this.#isLogLocal && this.#publisher !== undefined && isOfAcks(turn) ? 'soon' : 'now'
    const appended = this.wal.appendSync(this.wal.last, bytes, flush)
    if (publication === undefined) {
      this.applyOwn(appended, turn, () => {
        stages.logged?.(bytes.length, flush)
        stages.applying?.()
      })
    } else {
      const sequence = this.sequenceOf(appended)
      stages.logged?.(bytes.length, flush)
      this.#publish(publication, sequence)
    }
    this.#hasWritten([turn])
    return true
  }

  /**
   * Has LMDB follow the log, if that is possible: while the disk is full, what was published stays in memory, and growth is refused.
   * Only between two turns.
   */
  override applyPublished(): void {
    try {
      this.#applyNow()
    } catch (fault) {
      if (!(fault instanceof StorageFull)) throw fault
    }
  }

  /** A reader waits for LMDB: applies what was published, and for a while applies each turn at once, since more reads are likely. */
  applyForReader(): void {
    this.applyPublished()
    this.#atOnceUntil_ms = performance.now() + read_ms
  }

  /** As of every store. In a cluster the folder alone lacks what could not be applied, which etcd has. */
  override async close(): Promise<void> {
    await super.close()
    const last = this.#publisher?.last
    if (last === undefined || this.#isLogLocal) return
    this.#log?.warn(
      'storage:log',
      `${this.path} lacks records ${this.applied + 1} to ${last} of its log, which etcd has: the disk is full`,
    )
  }

  /** As `applyPublished`, but throws `StorageFull` when LMDB cannot be written. */
  #applyNow(): void {
    const publisher = this.#publisher
    const last = publisher?.last
    if (publisher === undefined || last === undefined) return
    this.disk.enter(publisher.size_bytes)
    publisher.apply((write) =>
      this.attempt(() =>
        this.logged.apply(last, () => {
          write(this.#environment, this.outbox)
          this.#environment.facts.putSync(highestFact, String(this.#highest))
        }),
      ),
    )
  }

  /**
   * How a turn is published before LMDB has it; undefined when it is applied at once: notices that share what they show, what does not
   * fit into the memtable even when that is empty, and whatever comes while snapshots are read or the disk is nearly full.
   */
  #publicationOf(turn: TurnRecord): Publication | undefined {
    const publisher = this.#publisher
    if (publisher === undefined) return undefined
    if (!this.disk.isAmple || performance.now() < this.#atOnceUntil_ms) return undefined
    const publication = publisher.publicationOf(turn, ({ tenant, entity: { path, id } }) =>
      this.#records(tenant, path, id),
    )
    if (publication === undefined) return undefined
    if (!publisher.takes(publication)) this.#applyNow()
    return publisher.takes(publication) ? publication : undefined
  }

  #publish(publication: Publication, sequence: LogSequence): void {
    const { turn, all, notices } = publication
    this.#highest = Math.max(this.#highest, turn.highest)
    for (const [name, { records }] of all) this.#cache.put(name, records)
    for (const write of turn.entities) this.#note(write)
    for (const text of notices) this.#written += text.length
    this.#publisher?.publish(sequence, publication, this.outbox)
    this.#trace(turn.entities)
  }

  protected override decode(bytes: Uint8Array): TurnRecord {
    return decodeTurnRecord(bytes, (...of) => this.#held(...of))
  }

  protected override savepoint(): () => void {
    const rollBack = super.savepoint()
    const highest = this.#highest
    return () => {
      rollBack()
      this.#cache.clear()
      this.#highest = highest
    }
  }

  /** The turns are applied: this must not throw, since a fault says that nothing was written. */
  #hasWritten(turns: readonly TurnRecord[]): void {
    if (turns.some(({ entities }) => entities.some(({ kind }) => kind === 'put'))) this.disk.hasGrown()
    this.#isLookDue = !this.#wasBelowLimit || this.#written >= charactersPerLook
  }

  /**
   * Whether the data is below its limit. LMDB is asked now and then, and after every turn while there is no room, so that a removal
   * helps at once.
   */
  #isBelowLimit(): boolean {
    if (this.#isLookDue) {
      this.#isLookDue = false
      this.#written = 0
      if (this.size.used_bytes + (this.#publisher?.size_bytes ?? 0) >= this.#sizeMax) this.applyPublished()
      this.#wasBelowLimit = this.size.used_bytes < this.#sizeMax
    }
    return this.#wasBelowLimit
  }

  /** The records of one id in one service path as the last turn left them, in no order. */
  #records(tenant: Tenant, path: ServicePath, id: EntityId): readonly HeldRecord[] {
    const name = entityName(tenant, path, id)
    const known = this.#cache.get(name)
    if (known !== undefined) return known
    const records = this.#publisher?.records(name) ?? this.#read(tenant, path, id)
    this.#cache.put(name, records)
    return records
  }

  /** Outside of write transactions: lmdb reads the last commit of this thread. */
  #read(tenant: Tenant, path: ServicePath, id: EntityId): readonly HeldRecord[] {
    try {
      const sequences = this.#environment.ids.getRange(idInPath(tenant, id, path))
      return Array.from(sequences, ({ value }) => this.#record(tenant, Number(value) as Sequence))
    } catch (fault) {
      throw faultOf(fault, this.path)
    }
  }

  #record(tenant: Tenant, sequence: Sequence): HeldRecord {
    const text = this.#environment.records.get(recordKey(tenant, sequence))
    if (text === undefined) throw missing({ path: this.path, tenant, sequence })
    return { sequence, text }
  }

  #held(tenant: Tenant, sequence: Sequence): Entity {
    return entityOf(this.#record(tenant, sequence).text, { path: this.path, tenant, sequence })
  }

  protected override write({ highest, entities, notices, acks }: TurnRecord): void {
    const counts = new CountChanges()
    for (const write of entities) {
      this.#writeRecord(write)
      writeEntries(this.#environment, entryChangesOf(write))
      counts.note(write)
    }
    this.#cacheChanges(entities)
    counts.write(this.#environment)
    this.#written += this.outbox.enqueue(notices)
    this.outbox.ack(acks)
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
    this.#note(write)
  }

  /** Notes what a write means for memory. */
  #note(write: EntityWrite): void {
    if (write.kind === 'remove') return
    this.#written += write.text.length
    this.#large.put(write.entity.sequence, write.text, write.entity)
  }

  #cacheChanges(entities: readonly EntityWrite[]): void {
    const [only] = entities
    if (only === undefined) return
    if (entities.length === 1) {
      this.#cache.change(nameOf(only), only.entity.sequence, textOf(only))
      return
    }
    for (const [name, { texts }] of changesByName(entities)) this.#cache.changeAll(name, texts)
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
