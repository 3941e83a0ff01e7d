import type { Database, Transaction } from 'lmdb'
import type { Entity, EntityId, EntityType, ServicePath, Tenant } from '../../model/context/entity.js'
import { atLevel, type CellRange } from '../../model/context/geo/cells.js'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { Steps } from '../../slices.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Versions } from '../../threads/shared-memory/versions.js'
import { type Environment, type EnvironmentSettings, openEnvironment } from '../environment/environment.js'
import { entityToRead, locatedAt, missing, type RecordLocation } from '../records/damage.js'
import {
  canBeKey,
  cellsBetween,
  cellsFromLevel,
  countsBehind,
  countsOf,
  idInAllPaths,
  idInPath,
  idsBeginning,
  type Key,
  type KeyRange,
  lastCharacter,
  recordKey,
  recordsOf,
  typeFrom,
} from '../records/keys.js'
import { decodeLocated, type Located } from '../records/record.js'
import { entityName, idName } from '../records/store.js'
import type { Memtable } from './memtable.js'
import { lastNumber } from './outbox.js'
import type { HeldRecord } from './record-cache.js'

/** A count of the partition: entities of a type in a path, or of those among them that have an attribute. */
export interface Count {
  readonly path: ServicePath
  readonly type: EntityType
  readonly attribute: string | undefined
  readonly count: number
}

/** A type in use of an attribute, in entities of a type in a path. */
export interface AttributeType {
  readonly path: ServicePath
  readonly type: EntityType
  readonly attribute: string
  readonly attributeType: string
}

/** Indexes that views of the console read in order. */
export type ReadIndex = 'ids' | 'types' | 'cells' | 'counts' | 'records'

/** An entity that an index names; its record is read only when it is asked for. */
export class Candidate implements Located {
  readonly id: EntityId
  readonly path: ServicePath
  readonly sequence: Sequence
  readonly #snapshot: Snapshot
  readonly #tenant: Tenant
  readonly #text: string | undefined

  constructor(snapshot: Snapshot, tenant: Tenant, sequence: Sequence, { id, path }: Located, text?: string) {
    this.id = id
    this.path = path
    this.sequence = sequence
    this.#snapshot = snapshot
    this.#tenant = tenant
    this.#text = text
  }

  /** How much of its record has been read already. */
  get characters(): number {
    return this.#text?.length ?? 0
  }

  /** The record on disk; throws `DamagedRecord` when there is none. */
  read(): string {
    const text = this.#text ?? this.#snapshot.record(this.#tenant, this.sequence)
    if (text === undefined) throw missing(this.#where)
    return text
  }

  /** The entity of the record; throws `DamagedRecord` when it cannot be read. */
  decode(text: string): Entity {
    return entityToRead(text, this.#where)
  }

  get #where(): RecordLocation {
    return { path: this.#snapshot.folder, tenant: this.#tenant, sequence: this.sequence }
  }

  /** A candidate without the record, which is read again when it is needed. */
  unread(): Candidate {
    return this.#text === undefined ? this : new Candidate(this.#snapshot, this.#tenant, this.sequence, this)
  }
}

/** The characters that are decoded in the time of one index entry. */
const entry_characters = 1024

/** How many index entries take as long as this many characters of records. */
export function costInEntries(characters: number): number {
  return characters / entry_characters
}

/** How many entries of an index are counted at once. */
const leastCounted = 64
const mostCounted = 8192

/** As many attribute names are read in the time in which LMDB finds the next type. */
const fewNames = 32

function countIn({ key, value }: { readonly key: Key; readonly value: string }): Count {
  const [, path, type, attribute] = key
  return {
    path: String(path) as ServicePath,
    type: String(type) as EntityType,
    attribute: attribute === undefined ? undefined : String(attribute),
    count: Number(value),
  }
}

const noRecords: ReadonlyMap<string, readonly HeldRecord[]> = new Map()

/** Reads one partition from snapshots, in any thread, while its owner writes. */
export class PartitionReader {
  readonly #path: string
  readonly #environment: Environment
  readonly #versions: Versions
  readonly #memtable: Memtable | undefined
  #seen: number | undefined

  /** The partition's versions tell when a snapshot is old; its memtable, if it has one, shows what no snapshot shows yet. */
  constructor(
    path: string,
    settings: Omit<EnvironmentSettings, 'readOnly'>,
    versions: Versions,
    memtable?: Memtable | undefined,
  ) {
    this.#path = path
    this.#environment = openEnvironment(path, { ...settings, readOnly: true })
    this.#versions = versions
    this.#memtable = memtable
  }

  /**
   * Resolves when new snapshots show everything that was acknowledged before, or after the time limit: says whether they do. Nothing
   * when they do already.
   */
  whenApplied(limit_ms: number): Promise<boolean> | undefined {
    if (this.#memtable === undefined || this.#memtable.isApplied) return undefined
    return this.#memtable.whenApplied(limit_ms)
  }

  /**
   * The entities of one id in one service path, or in all of them, of every type, in no order. Nothing when their records
   * have more characters than the limit, or when looking at their keys costs as much.
   */
  entities(
    tenant: Tenant,
    path: ServicePath | undefined,
    id: EntityId,
    limit_characters: number,
  ): readonly Entity[] | undefined {
    if (!canBeKey(id)) return []
    const published = this.#published(tenant, path === undefined ? this.#pathsOf(tenant, id) : [path], id)
    const records = Array.from(published.values()).flatMap((held) =>
      held.map(({ sequence, text }) => ({ text, where: { path: this.#path, tenant, sequence } })),
    )
    let characters = 0
    for (const { text } of records) characters += text.length + entry_characters
    if (characters > limit_characters) return undefined
    if (path !== undefined && published.has(path)) return records.map(({ text, where }) => entityToRead(text, where))
    this.#refresh()
    const range = path === undefined ? idInAllPaths(tenant, id) : idInPath(tenant, id, path)
    for (const { key, value } of this.#environment.ids.getRange(range)) {
      if (published.size > 0 && published.has(String(key[2]))) continue
      const where = { path: this.#path, tenant, sequence: Number(value) as Sequence }
      const text = this.#environment.records.get(recordKey(tenant, where.sequence))
      if (text === undefined) throw missing(where)
      characters += text.length + entry_characters
      if (characters > limit_characters) return undefined
      records.push({ text, where })
    }
    return records.map(({ text, where }) => entityToRead(text, where))
  }

  /** The paths in which an id may have records in the memtable. */
  #pathsOf(tenant: Tenant, id: EntityId): readonly string[] {
    return this.#memtable?.pathsOf(idName(tenant, id)) ?? []
  }

  /** The records in the memtable, by path; nothing when LMDB has all, or has it meanwhile. */
  #published(tenant: Tenant, paths: readonly string[], id: EntityId): ReadonlyMap<string, readonly HeldRecord[]> {
    if (this.#memtable === undefined || paths.length === 0) return noRecords
    const published = new Map<string, readonly HeldRecord[]>()
    for (const path of paths) {
      const records = this.#memtable.get(entityName(tenant, path as ServicePath, id))
      if (records === undefined) return noRecords
      published.set(path, records)
    }
    return published
  }

  /** A snapshot that stays the same until it is closed. What is published only in the memtable needs `whenApplied` before. */
  snapshot(): Snapshot {
    this.#refresh()
    return new Snapshot(this.#path, this.#environment)
  }

  async close(): Promise<void> {
    await this.#environment.root.close()
  }

  /**
   * What was acknowledged, or was visible to anybody, is visible to the next read: a snapshot from before the last commit
   * or of a time in which one was under way is given up.
   */
  #refresh(): void {
    const { commits } = this.#versions
    if (commits !== undefined && commits === this.#seen) return
    this.#seen = commits
    this.#environment.root.resetReadTxn()
  }
}

/** One state of a partition, held by a read transaction of its own. */
export class Snapshot {
  /** The folder of the partition. */
  readonly folder: string
  readonly #environment: Environment
  readonly #transaction: Transaction

  constructor(folder: string, environment: Environment) {
    this.folder = folder
    this.#environment = environment
    this.#transaction = environment.root.useReadTransaction()
  }

  /** The number of the last notice that was made when this state came about. */
  get lastNotice(): NoticeNumber {
    return lastNumber(this.#environment, this.folder, this.#transaction)
  }

  /** All entities of a tenant after a sequence, in the order of creation. */
  *all(tenant: Tenant, after = -1): Generator<Candidate> {
    for (const { key, value } of this.#environment.records.getRange(this.#in(recordsOf(tenant, after + 1)))) {
      const sequence = Number(key[1]) as Sequence
      yield new Candidate(this, tenant, sequence, locatedAt(value, { path: this.folder, tenant, sequence }), value)
    }
  }

  /** The entities of one type after a sequence, in the order of creation. */
  *ofType(tenant: Tenant, type: EntityType, after = -1): Generator<Candidate> {
    if (!canBeKey(type)) return
    for (const { key, value } of this.#environment.types.getRange(this.#in(typeFrom(tenant, type, after + 1)))) {
      yield new Candidate(this, tenant, Number(key[2]) as Sequence, decodeLocated(value))
    }
  }

  /** The entities of one id, in every service path and of every type, in no order. */
  *ofId(tenant: Tenant, id: EntityId): Generator<Candidate> {
    if (!canBeKey(id)) return
    for (const { key, value } of this.#environment.ids.getRange(this.#in(idInAllPaths(tenant, id)))) {
      yield new Candidate(this, tenant, Number(value) as Sequence, { id, path: String(key[2]) as ServicePath })
    }
  }

  /**
   * The entities with a location that lies in one of the cells, or partly, and others near them; in no order, and some of them
   * more than once.
   */
  *inCells(tenant: Tenant, cover: readonly CellRange[]): Generator<Candidate> {
    for (const range of this.#cellRanges(tenant, cover)) {
      for (const { key, value } of this.#environment.cells.getRange(this.#in(range))) {
        yield new Candidate(this, tenant, Number(key[3]) as Sequence, decodeLocated(value))
      }
    }
  }

  /** The number of candidates of `inCells`, counted up to a limit. */
  *countInCells(tenant: Tenant, cover: readonly CellRange[], limit: number): Steps<number> {
    let count = 0
    for (const range of this.#cellRanges(tenant, cover)) {
      if (count >= limit) break
      count += yield* this.#count(this.#environment.cells, range, limit - count)
      yield
    }
    return count
  }

  *#cellRanges(tenant: Tenant, cover: readonly CellRange[]): Generator<KeyRange> {
    for (const level of this.#cellLevels(tenant)) {
      for (const range of atLevel(cover, level)) yield cellsBetween(tenant, level, range)
    }
  }

  /** The levels of which there are cells; finding each takes one look at the index, and so does finding that there are no more. */
  *#cellLevels(tenant: Tenant): Generator<number> {
    let level = 0
    for (;;) {
      const first = this.keyAfter('cells', cellsFromLevel(tenant, level), 0)
      if (first === undefined) return
      level = Number(first[1])
      yield level
      level += 1
    }
  }

  /** The entities whose ids have a prefix, in every service path, of some types or of all, in no order. */
  *withPrefix(tenant: Tenant, prefix: string, types: ReadonlySet<string> | undefined): Generator<Candidate> {
    if (!canBeKey(prefix as EntityId)) return
    for (const { key, value } of this.#environment.ids.getRange(this.#in(idsBeginning(tenant, prefix)))) {
      const [, id, path, itsType] = key
      if (types?.has(String(itsType)) === false) continue
      yield new Candidate(this, tenant, Number(value) as Sequence, {
        id: String(id) as EntityId,
        path: String(path) as ServicePath,
      })
    }
  }

  /** The number of candidates of `withPrefix` of all types, counted up to a limit. */
  *countWithPrefix(tenant: Tenant, prefix: string, limit: number): Steps<number> {
    if (!canBeKey(prefix as EntityId)) return 0
    return yield* this.#count(this.#environment.ids, idsBeginning(tenant, prefix), limit)
  }

  /** The entries of an index within a key range, or all of them. */
  entries(index: ReadIndex, range?: Partial<KeyRange>): Iterable<{ readonly key: Key; readonly value: string }> {
    return this.#environment[index].getRange({ ...range, transaction: this.#transaction })
  }

  /** The key at an offset in a key range; undefined when the range has fewer keys. */
  keyAfter(index: ReadIndex, range: KeyRange, offset: number): Key | undefined {
    for (const key of this.#environment[index].getKeys({ ...this.#in(range), offset, limit: 1 })) return key
    return undefined
  }

  /** The number of entries of an index within a key range. */
  countOf(index: ReadIndex, range: KeyRange): number {
    return this.#environment[index].getKeysCount(this.#in(range))
  }

  /** The key ranges of a cover's cells that may have entries. */
  cellRanges(tenant: Tenant, cover: readonly CellRange[]): Iterable<KeyRange> {
    return this.#cellRanges(tenant, cover)
  }

  /** The counts of a tenant's types and attribute names. */
  *counts(tenant: Tenant): Generator<Count> {
    for (const entry of this.#environment.counts.getRange(this.#in(countsOf(tenant)))) yield countIn(entry)
  }

  /** The counts of a tenant's types, with those of the first attribute names of each: the others are passed over at once. */
  *typeCounts(tenant: Tenant): Generator<Count> {
    let range: KeyRange | undefined = countsOf(tenant)
    while (range !== undefined) range = yield* this.#typeCountsIn(tenant, range)
  }

  /** Returns what is left of a range behind a type with many names. */
  *#typeCountsIn(tenant: Tenant, range: KeyRange): Generator<Count, KeyRange | undefined> {
    let names = 0
    for (const entry of this.#environment.counts.getRange(this.#in(range))) {
      const count = countIn(entry)
      yield count
      const { path, type, attribute } = count
      names = attribute === undefined ? 0 : names + 1
      if (names >= fewNames && attribute?.startsWith(lastCharacter) === false) return countsBehind(tenant, path, type)
    }
    return undefined
  }

  /** The types of the attributes of a tenant's entities that are in use [NGSIv2 context 13]. */
  *attributeTypes(tenant: Tenant): Generator<AttributeType> {
    for (const { key } of this.#environment.attributeTypes.getRange(this.#in(countsOf(tenant)))) {
      const [, path, type, attribute, attributeType] = key
      yield {
        path: String(path) as ServicePath,
        type: String(type) as EntityType,
        attribute: String(attribute),
        attributeType: String(attributeType),
      }
    }
  }

  close(): void {
    this.#transaction.done()
  }

  /**
   * The number of entries in a range, counted up to a limit. LMDB passes over as many entries as it is told to, also beyond the range: it
   * is told few at first, and each time twice as many.
   */
  *#count(database: Database<string, Key>, { start, end }: KeyRange, limit: number): Steps<number> {
    let count = 0
    let rest = { start, end }
    for (let next = leastCounted; count < limit; next = Math.min(2 * next, mostCounted)) {
      const offset = Math.min(next, limit - count)
      const [first] = database.getKeys({ ...this.#in(rest), offset, limit: 1 })
      if (first === undefined) return count + database.getKeysCount(this.#in(rest))
      count += offset
      rest = { start: first, end }
      yield
    }
    return count
  }

  #in(range: KeyRange): KeyRange & { transaction: Transaction } {
    return { ...range, transaction: this.#transaction }
  }

  /** The record of an entity. */
  record(tenant: Tenant, sequence: Sequence): string | undefined {
    return this.#environment.records.get(recordKey(tenant, sequence), { transaction: this.#transaction })
  }
}
