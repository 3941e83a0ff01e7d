import type { Entity, EntityId, Tenant } from '../../model/context/entity.js'
import { err, ok, type Result } from '../../result.js'
import { PartitionPosition } from '../../threads/shared-memory/partition-position.js'
import type { Waits } from '../../threads/shared-memory/permit-loans.js'
import type { EntityNamed, EntityReads } from './broker.js'
import type { PartitionReaders } from './partition-readers.js'
import type { Unavailable } from './unavailable.js'

/** The last record of each partition that its owner can confirm now. */
export type ConfirmedPositions = Result<ReadonlyMap<number, number>, unknown>

export interface ConfirmedReadsParts {
  /** Of all partitions, see `PartitionPosition`. */
  readonly positions: readonly SharedArrayBuffer[]
  /** The other node that owns a partition as far as is known. */
  readonly ownerOf: (partition: number) => string | undefined
  /** Asks another node how far the partitions are that it owns; several reads share a question. */
  readonly positionsOf: (node: string, partitions: readonly number[]) => Promise<ConfirmedPositions>
  /** Of the reads that wait for a node; undefined where they have no permits. */
  readonly newWaits?: () => Waits
}

/** How long a read waits for the owner of what it reads to be known and to answer, and for its own replica to have caught up. */
const patience_ms = 5000
const again_ms = 100

/**
 * Confirms reads on a node of a cluster: whatever was acknowledged before a read began, on whichever node, is shown by the
 * snapshots that are taken when it is confirmed. What this node owns needs one look at shared memory; for the rest the owners are
 * asked for their positions, and the replicas here waited for.
 */
export class ConfirmedReads {
  readonly #parts: ConfirmedReadsParts
  readonly #positions: readonly PartitionPosition[]
  /** By the node that is waited for. */
  readonly #waits = new Map<string, Waits>()

  constructor(parts: ConfirmedReadsParts) {
    this.#parts = parts
    this.#positions = parts.positions.map((memory) => new PartitionPosition(memory))
  }

  /**
   * Whether all that was acknowledged of a partition until now can be read now, without asking anybody: this node owns it, and its
   * snapshots show all that it has told other nodes.
   */
  isConfirmed(partition: number): boolean {
    const position = this.#positions[partition]
    return position?.isConfirmed() === true && position.isCaughtUp
  }

  /** Resolves when snapshots that are taken from now on show all that was acknowledged before; refuses when that is not known. */
  async confirm(partitions: Iterable<number>): Promise<Result<undefined, Unavailable>> {
    const until_ms = performance.now() + patience_ms
    const waited = new WaitedNodes((node) => this.#waitsFor(node))
    let open = [...partitions]
    try {
      for (;;) {
        open = open.filter((partition) => !this.isConfirmed(partition))
        if (open.length === 0) return ok(undefined)
        const left_ms = until_ms - performance.now()
        const reached = left_ms > 0 ? await this.#reached(open, left_ms, waited) : undefined
        if (reached === undefined) return err({ kind: 'notConfirmed' })
        open = open.filter((partition) => !reached.has(partition))
        if (reached.size === 0 && open.length > 0) await new Promise((resolve) => setTimeout(resolve, again_ms))
      }
    } finally {
      waited.close()
    }
  }

  /** Those of the partitions whose owners have confirmed a position that the replicas here have reached; undefined when too many wait for an owner. */
  async #reached(
    partitions: readonly number[],
    limit_ms: number,
    waited: WaitedNodes,
  ): Promise<ReadonlySet<number> | undefined> {
    const byOwner = new Map<string, number[]>()
    const own: number[] = []
    for (const partition of partitions) {
      if (this.#positions[partition]?.isConfirmed()) own.push(partition)
      else {
        const owner = this.#parts.ownerOf(partition)
        if (owner !== undefined) byOwner.set(owner, [...(byOwner.get(owner) ?? []), partition])
      }
    }
    const others = Array.from(byOwner, ([node, owned]) => this.#unconfirmedOf(node, owned, limit_ms, waited))
    const reached = await Promise.all([...others, ...own.map((partition) => this.#reachedHere(partition, limit_ms))])
    return reached.includes(undefined) ? undefined : new Set(reached.flatMap((each) => each ?? []))
  }

  /** Undefined when too many reads wait for that node. */
  async #unconfirmedOf(
    node: string,
    partitions: readonly number[],
    limit_ms: number,
    waited: WaitedNodes,
  ): Promise<readonly number[] | undefined> {
    if (!waited.begin(node)) return undefined
    const confirmed = await this.#parts.positionsOf(node, partitions)
    if (!confirmed.ok) return []
    waited.end(node)
    const waits = partitions.map(async (partition) => {
      const last = confirmed.value.get(partition)
      const position = this.#positions[partition]
      if (last === undefined || position === undefined) return false
      position.committed(last)
      return position.reaches(last, limit_ms)
    })
    const are = await Promise.all(waits)
    return partitions.filter((_, at) => are[at])
  }

  #waitsFor(node: string): Waits | undefined {
    const known = this.#waits.get(node)
    const waits = known ?? this.#parts.newWaits?.()
    if (waits !== undefined && known === undefined) this.#waits.set(node, waits)
    return waits
  }

  /** A record of this node stands, which other nodes may know already, and its snapshots do not show it yet. */
  async #reachedHere(partition: number, limit_ms: number): Promise<readonly number[]> {
    const position = this.#positions[partition]
    const last = position?.commitIndex ?? 0
    // The commit index is read before the question whether this node still owns the partition.
    const isReached = position?.isConfirmed() === true && (await position.reaches(last, limit_ms))
    return isReached ? [partition] : []
  }
}

/** The nodes that one read waits for. */
class WaitedNodes {
  readonly #waitsFor: (node: string) => Waits | undefined
  readonly #open = new Map<string, Waits>()

  constructor(waitsFor: (node: string) => Waits | undefined) {
    this.#waitsFor = waitsFor
  }

  /** Whether the read waits for a node. */
  begin(node: string): boolean {
    const waits = this.#open.has(node) ? undefined : this.#waitsFor(node)
    if (waits === undefined) return true
    const begins = waits.begin()
    if (begins) this.#open.set(node, waits)
    return begins
  }

  /** The node has answered. */
  end(node: string): void {
    this.#open.get(node)?.end(true)
    this.#open.delete(node)
  }

  /** The read is over, whether all have answered or not. */
  close(): void {
    for (const waits of this.#open.values()) waits.end(false)
    this.#open.clear()
  }
}

interface RequestReadsParts {
  readonly tenant: Tenant
  readonly readers: Pick<PartitionReaders, 'partitionOf'>
  /** Nothing where all partitions are owned here. */
  readonly confirmed: Pick<ConfirmedReads, 'confirm'> | undefined
  /** Reads snapshots of this node that are confirmed already. */
  readonly held: (named: EntityNamed) => Promise<Result<readonly Entity[], Unavailable>>
}

/**
 * The entities that one request reads. A partition that was confirmed once shows all that was acknowledged before the request
 * began, so that its owner is not asked again for the next entity.
 */
export class RequestReads implements EntityReads {
  readonly #parts: RequestReadsParts
  readonly #known = new Set<number>()

  constructor(parts: RequestReadsParts) {
    this.#parts = parts
  }

  async prepare(ids: Iterable<EntityId>): Promise<Result<undefined, Unavailable>> {
    const { tenant, readers, confirmed } = this.#parts
    if (confirmed === undefined) return ok(undefined)
    const open = new Set<number>()
    for (const id of ids) open.add(readers.partitionOf(tenant, id))
    for (const partition of this.#known) open.delete(partition)
    if (open.size === 0) return ok(undefined)
    const known = await confirmed.confirm(open)
    if (known.ok) for (const partition of open) this.#known.add(partition)
    return known
  }

  async of(named: EntityNamed): Promise<Result<readonly Entity[], Unavailable>> {
    const known = await this.prepare([named.id])
    return known.ok ? this.#parts.held(named) : known
  }
}
