import type { Entity, EntityId, Tenant } from '../context/entity.js'
import { ok, type Result } from '../result.js'
import type { EntityNamed, EntityReads } from './broker.js'
import type { ConfirmedReads } from './confirmed-reads.js'
import type { PartitionReaders } from './partition-readers.js'
import type { Unavailable } from './unavailable.js'

interface RequestReadsParts {
  readonly tenant: Tenant
  readonly readers: Pick<PartitionReaders, 'partitionOf'>
  /** Nothing where all partitions are owned here. */
  readonly confirmed: Pick<ConfirmedReads, 'confirm'> | undefined
  /** What is known to be shown here. */
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
