import type { Transaction } from 'lmdb'
import type { Entity, EntityId, EntityType, Place, ServicePath, Tenant } from '../context/entity.js'
import type { ChangeMarks } from '../partition/change-marks.js'
import type { NoticeNumber } from '../subscription/notice.js'
import { type Environment, type EnvironmentSettings, openEnvironment } from './environment.js'
import { countsOf, idInAllPaths, idInPath, type KeyRange, recordKey, recordsOf, typeFrom } from './keys.js'
import { lastNumber } from './outbox.js'
import { decodeEntity, decodeLocated, type Located } from './record.js'

/** A count of the partition: entities of a type in a path, or of those among them that have an attribute. */
export interface Count {
  readonly path: ServicePath
  readonly type: EntityType
  readonly attribute: string | undefined
  readonly count: number
}

/** An entity that an index names; its record is read only when it is asked for. */
export interface Candidate extends Located {
  readonly place: Place
  load(): Entity | undefined
}

/** Reads one partition from snapshots, in any thread, while its owner writes. */
export class PartitionReader {
  readonly #environment: Environment
  readonly #marks: ChangeMarks
  #seen = -1

  /** The partition's marks tell when a snapshot is old. */
  constructor(path: string, settings: Omit<EnvironmentSettings, 'readOnly'>, marks: ChangeMarks) {
    this.#environment = openEnvironment(path, { ...settings, readOnly: true })
    this.#marks = marks
  }

  /** The entities of one id in one service path, or in all of them, of every type, in no order. */
  entities(tenant: Tenant, path: ServicePath | undefined, id: EntityId): readonly Entity[] {
    this.#refresh()
    const range = path === undefined ? idInAllPaths(tenant, id) : idInPath(tenant, id, path)
    const found: Entity[] = []
    for (const { value } of this.#environment.ids.getRange(range)) {
      const record = this.#environment.records.get(recordKey(tenant, Number(value) as Place))
      if (record !== undefined) found.push(decodeEntity(record))
    }
    return found
  }

  /** A snapshot that stays the same until it is closed. */
  snapshot(): Snapshot {
    this.#refresh()
    return new Snapshot(this.#environment)
  }

  async close(): Promise<void> {
    await this.#environment.root.close()
  }

  /** What was acknowledged is visible to the next read: a snapshot from before the last commit is given up. */
  #refresh(): void {
    const { commits } = this.#marks
    if (commits === this.#seen) return
    this.#seen = commits
    this.#environment.root.resetReadTxn()
  }
}

/** One state of a partition, held by a read transaction of its own. */
export class Snapshot {
  readonly #environment: Environment
  readonly #transaction: Transaction

  constructor(environment: Environment) {
    this.#environment = environment
    this.#transaction = environment.root.useReadTransaction()
  }

  /** The number of the last notice that was made when this state came about. */
  get lastNotice(): NoticeNumber {
    return lastNumber(this.#environment, this.#transaction)
  }

  /** All entities of a tenant after a place, in the order of creation. */
  *all(tenant: Tenant, after = -1): Generator<Candidate> {
    for (const { key, value } of this.#environment.records.getRange(this.#in(recordsOf(tenant, after + 1)))) {
      const entity = decodeEntity(value)
      yield { place: Number(key[1]) as Place, id: entity.id, path: entity.path, load: () => entity }
    }
  }

  /** The entities of one type after a place, in the order of creation. */
  *ofType(tenant: Tenant, type: EntityType, after = -1): Generator<Candidate> {
    for (const { key, value } of this.#environment.types.getRange(this.#in(typeFrom(tenant, type, after + 1)))) {
      const place = Number(key[2]) as Place
      yield { ...decodeLocated(value), place, load: () => this.#record(tenant, place) }
    }
  }

  /** The entities of these ids, in every service path and of every type, in the order of creation. */
  ofIds(tenant: Tenant, ids: ReadonlySet<EntityId>): readonly Candidate[] {
    const found: Candidate[] = []
    for (const id of ids) {
      for (const { key, value } of this.#environment.ids.getRange(this.#in(idInAllPaths(tenant, id)))) {
        const place = Number(value) as Place
        found.push({ id, path: String(key[2]) as ServicePath, place, load: () => this.#record(tenant, place) })
      }
    }
    return found.sort((a, b) => a.place - b.place)
  }

  /** The counts of a tenant's types and attribute names. */
  *counts(tenant: Tenant): Generator<Count> {
    for (const { key, value } of this.#environment.counts.getRange(this.#in(countsOf(tenant)))) {
      const [, path, type, attribute] = key
      yield {
        path: String(path) as ServicePath,
        type: String(type) as EntityType,
        attribute: attribute === undefined ? undefined : String(attribute),
        count: Number(value),
      }
    }
  }

  close(): void {
    this.#transaction.done()
  }

  #in(range: KeyRange): KeyRange & { transaction: Transaction } {
    return { ...range, transaction: this.#transaction }
  }

  #record(tenant: Tenant, place: Place): Entity | undefined {
    const text = this.#environment.records.get(recordKey(tenant, place), { transaction: this.#transaction })
    return text === undefined ? undefined : decodeEntity(text)
  }
}
