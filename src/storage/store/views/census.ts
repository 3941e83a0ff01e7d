import type { EntityType, ServicePath, Tenant } from '../../../model/context/entity.js'
import type { QueryRefusal } from '../../../model/context/query.js'
import { err, ok, type Result } from '../../../result.js'
import { inSlices, type Slices, sortedInSteps } from '../../../slices.js'
import { countsOf } from '../../records/keys.js'
import type { Snapshot } from '../partition-reader.js'

/** The tenant whose entities are counted; all tenants without one. */
export interface CensusQuery {
  readonly tenant: Tenant | undefined
}

/** The number of entities of a type in a path. */
export interface CensusRow {
  readonly tenant: Tenant
  readonly path: ServicePath
  readonly type: EntityType
  readonly entities: number
  /** The names of attributes with the number of entities that have one, as many as are kept, and how many names there are. */
  readonly attributes: readonly (readonly [name: string, entities: number])[]
  readonly names: number
}

export interface Census {
  readonly rows: readonly CensusRow[]
}

interface Counted {
  readonly row: Pick<CensusRow, 'tenant' | 'path' | 'type'>
  entities: number
  readonly names: Map<string, number>
}

/** Names of attributes that are kept of each type in a path. */
const mostNames = 200
const row_bytes = 200

/** Adds up the counts of all partitions, which are kept with each update: no entity is read. */
export async function census(
  snapshots: readonly Snapshot[],
  { tenant }: CensusQuery,
  limit_bytes: number,
  slices: Slices,
): Promise<Result<Census, QueryRefusal>> {
  const counted = new Map<string, Counted>()
  let bytes = 0
  for (const snapshot of snapshots) {
    for (const { key, value } of snapshot.entries('counts', tenant === undefined ? undefined : countsOf(tenant))) {
      const [ofTenant, path, type, attribute] = key
      const name = JSON.stringify([ofTenant, path, type])
      let of = counted.get(name)
      if (of === undefined) {
        const row = {
          tenant: String(ofTenant) as Tenant,
          path: String(path) as ServicePath,
          type: String(type) as EntityType,
        }
        of = { row, entities: 0, names: new Map() }
        counted.set(name, of)
        bytes += row_bytes + name.length
      }
      if (attribute === undefined) of.entities += Number(value)
      else {
        const known = of.names.get(String(attribute))
        if (known === undefined) bytes += String(attribute).length + row_bytes / 2
        of.names.set(String(attribute), (known ?? 0) + Number(value))
      }
      if (bytes > limit_bytes) return err({ kind: 'pageTooLarge' })
      if (slices.isOver) await slices.next()
    }
  }
  const rows: CensusRow[] = []
  for (const { row, entities, names } of counted.values()) {
    const most = await inSlices(
      sortedInSteps([...names], ([, a], [, b]) => b - a),
      slices,
    )
    rows.push({ ...row, entities, attributes: most.slice(0, mostNames), names: names.size })
    if (slices.isOver) await slices.next()
  }
  return ok({ rows })
}
