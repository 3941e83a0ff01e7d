import { shardOf } from '../../hash.js'
import type { Entity, EntityId, Tenant } from '../../model/context/entity.js'
import { inPaths, type PathRange, type Query, type QueryRefusal } from '../../model/context/query.js'
import type { NoticeNumber } from '../../model/subscription/notice.js'
import type { HandleTimes } from '../../observe/measure/slow-requests.js'
import { err, ok, type Result } from '../../result.js'
import { inSlices, Slices } from '../../slices.js'
import type { PartitionReader, Snapshot } from '../../storage/store/partition-reader.js'
import type { ReadPool } from '../../storage/store/read-pool.js'
import type { RecordPage } from '../../storage/store/result-page.js'
import { type ScanLimits, scan } from '../../storage/store/scan.js'
import { type ViewName, type Views, type ViewTask, viewed } from '../../storage/store/views/views.js'
import { Versions } from '../../threads/shared-memory/versions.js'
import type { RecentEntities } from './recent-entities.js'
import { TypeSums } from './type-sums.js'

/** A partition as one thread reads it: snapshots, the pool that bounds how many there are at one time, what has changed. */
export interface ReadSide {
  readonly reader: PartitionReader
  readonly pool: ReadPool
  readonly versions: Versions
}

/** The number of the last notice of each partition whose change a page can show; 0 where none was read. */
interface Dated {
  readonly lastNotices: readonly NoticeNumber[]
}

/** A page of entities as they were after these notices, and before all later ones. */
export interface StatePage extends Dated {
  readonly entities: readonly Entity[]
}

/** A page of stored records with the last notice of its partition. */
export type StateRecords = RecordPage & Dated

/** Reads all partitions from the thread that holds it: a front end for single ids, a query thread for scans. */
export class PartitionReaders {
  readonly #sides: readonly ReadSide[]
  readonly #cached: RecentEntities
  readonly #patience_ms: number

  /** @param patience_ms how long a query waits for LMDB to be written, which takes milliseconds unless the disk is full */
  constructor(sides: readonly ReadSide[], cached: RecentEntities, patience_ms = 5000) {
    this.#sides = sides
    this.#cached = cached
    this.#patience_ms = patience_ms
  }

  /** How many read handles a partition has left to lend, to all threads. */
  freeHandles(partition: number): number {
    return this.#sides[partition]?.pool.free ?? 0
  }

  /**
   * The entities of one id in these paths, of every type, oldest first, if they were read lately and have not changed
   * since: the same array for as long as that holds.
   */
  recentEntities(tenant: Tenant, paths: readonly PathRange[], id: EntityId): readonly Entity[] | undefined {
    const name = nameOf(tenant, paths, id)
    if (name === undefined) return undefined
    return this.#cached.get(name, Versions.groupOf(tenant, id), this.#sideOf(tenant, id).versions)
  }

  /**
   * The entities of one id in these paths, of every type, oldest first. Nothing when there is so much of them that a
   * query thread should read them.
   */
  async entities(
    tenant: Tenant,
    paths: readonly PathRange[],
    id: EntityId,
    times?: HandleTimes,
  ): Promise<readonly Entity[] | undefined> {
    const held = this.recentEntities(tenant, paths, id)
    if (held) return held
    const side = this.#sideOf(tenant, id)
    if (times) await this.#taken(side, times)
    else {
      const wait = side.pool.take()
      if (wait) await wait
    }
    try {
      const name = nameOf(tenant, paths, id)
      if (name === undefined) return read(side, tenant, paths, id)
      const group = Versions.groupOf(tenant, id)
      return this.#cached.read(name, group, side.versions, () => read(side, tenant, paths, id))
    } finally {
      side.pool.release()
    }
  }

  /** The partition that has an id. */
  partitionOf(tenant: Tenant, id: EntityId): number {
    return shardOf(tenant, id, this.#sides.length)
  }

  /** The partitions that can have results of a query; all of them without one. */
  partitionsOf(query?: Query): readonly number[] {
    const sides = query === undefined ? this.#sides : this.#sidesOf(query)
    return sides.map((side) => this.#sides.indexOf(side))
  }

  /** One page of a query, from the partitions that can have results. */
  query(query: Query, limits: ScanLimits, times?: HandleTimes): Promise<Result<RecordPage, QueryRefusal>> {
    return this.#withSnapshots(this.#sidesOf(query), times, (snapshots) => scan(snapshots, query, limits))
  }

  /** A page, with the last notices before it. */
  state(query: Query, limits: ScanLimits): Promise<Result<StateRecords, QueryRefusal>> {
    const sides = this.#sidesOf(query)
    return this.#withSnapshots(sides, undefined, async (snapshots) => {
      const last = new Map(sides.map((side, at) => [side, snapshots[at]?.lastNotice ?? 0]))
      const page = await scan(snapshots, query, limits)
      if (!page.ok) return page
      return ok({ ...page.value, lastNotices: this.#sides.map((side) => last.get(side) ?? 0) })
    })
  }

  /**
   * The types in these paths with their attribute names, and the types of those if asked for, from the counts of all partitions: as texts,
   * of which `summariesIn` makes them again.
   */
  types(
    tenant: Tenant,
    paths: readonly PathRange[],
    isDetailed: boolean,
    { page_bytes, giveWay }: ScanLimits,
    times?: HandleTimes,
  ): Promise<Result<readonly string[], QueryRefusal>> {
    return this.#withSnapshots(this.#sides, times, async (snapshots) => {
      const sums = new TypeSums()
      const slices = new Slices(giveWay)
      for (const snapshot of snapshots) {
        for (const count of snapshot.counts(tenant)) {
          if (inPaths(count.path, paths)) sums.add(count)
          if (sums.bytes > page_bytes) return err({ kind: 'pageTooLarge' })
          if (slices.isOver) await slices.next()
        }
        if (!isDetailed) continue
        for (const used of snapshot.attributeTypes(tenant)) {
          if (inPaths(used.path, paths)) sums.addType(used)
          if (sums.bytes > page_bytes) return err({ kind: 'pageTooLarge' })
          if (slices.isOver) await slices.next()
        }
      }
      return ok(await inSlices(sums.texts(isDetailed), slices))
    })
  }

  /** A view of the console, over all partitions. */
  view(
    task: ViewTask,
    limits: ScanLimits,
    times?: HandleTimes,
  ): Promise<Result<Views[ViewName]['found'], QueryRefusal>> {
    return this.#withSnapshots(this.#sides, times, (snapshots) => viewed(snapshots, task, limits))
  }

  /** The thread of a row has ended: the read handles that it had are lent to others. */
  giveBackOf(row: number): void {
    for (const { pool } of this.#sides) pool.giveBackOf(row)
  }

  async close(): Promise<void> {
    await Promise.all(this.#sides.map(({ reader }) => reader.close()))
  }

  #sideOf(tenant: Tenant, id: EntityId): ReadSide {
    const side = this.#sides[shardOf(tenant, id, this.#sides.length)]
    if (!side) throw new Error('there is no partition for the id')
    return side
  }

  #sidesOf({ tenant, selectors }: Query): readonly ReadSide[] {
    const shards = new Set<number>()
    for (const { id } of selectors) {
      if (id.kind !== 'exact') return this.#sides
      shards.add(shardOf(tenant, id.id, this.#sides.length))
    }
    return this.#sides.filter((_, shard) => shards.has(shard))
  }

  /** Takes a handle and notes how long that took. */
  async #taken(side: ReadSide, times: HandleTimes): Promise<void> {
    const partition = this.#sides.indexOf(side)
    const from_ns = Number(process.hrtime.bigint())
    const wait = side.pool.take()
    if (wait) await wait
    times.handle({ partition, from_ns, to_ns: wait ? Number(process.hrtime.bigint()) : from_ns })
  }

  /** Handles are taken in the order of the partitions, so that two scans never hold what the other waits for. */
  async #withSnapshots<Value, Refusal>(
    sides: readonly ReadSide[],
    times: HandleTimes | undefined,
    use: (snapshots: readonly Snapshot[]) => Promise<Result<Value, Refusal>>,
  ): Promise<Result<Value, Refusal | QueryRefusal>> {
    if (!(await whenApplied(sides, this.#patience_ms))) return err({ kind: 'notApplied' })
    const held: ReadSide[] = []
    const snapshots: Snapshot[] = []
    try {
      for (const side of sides) {
        await (times ? this.#taken(side, times) : side.pool.take())
        held.push(side)
        snapshots.push(side.reader.snapshot())
      }
      return await use(snapshots)
    } finally {
      for (const snapshot of snapshots) snapshot.close()
      for (const { pool } of held) pool.release()
    }
  }
}

/** Tenants and service paths have no spaces, so the name is unambiguous whatever the id holds. None for several ranges. */
function nameOf(tenant: Tenant, [range, ...others]: readonly PathRange[], id: EntityId): string | undefined {
  if (range === undefined || others.length > 0) return undefined
  return `${tenant} ${range.path}${range.below ? '/#' : ''} ${id}`
}

/** At most this much is decoded in a thread that has other requests to serve. */
const atOnce_characters = 2 * 2 ** 20

/** Whether new snapshots show everything that was acknowledged before. */
async function whenApplied(sides: readonly ReadSide[], patience_ms: number): Promise<boolean> {
  const open = sides.map(({ reader }) => reader.whenApplied(patience_ms)).filter((waiting) => waiting !== undefined)
  return open.length === 0 || (await Promise.all(open)).every((isApplied) => isApplied)
}

function read(
  { reader }: ReadSide,
  tenant: Tenant,
  paths: readonly PathRange[],
  id: EntityId,
): readonly Entity[] | undefined {
  const [single] = paths
  const path = single && paths.length === 1 && !single.below ? single.path : undefined
  const found = reader.entities(tenant, path, id, atOnce_characters)
  if (found === undefined) return undefined
  const meant = path === undefined ? found.filter((entity) => inPaths(entity.path, paths)) : found
  return meant.length > 1 ? [...meant].sort((a, b) => a.sequence - b.sequence) : meant
}
