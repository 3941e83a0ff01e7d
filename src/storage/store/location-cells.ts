import type { Database } from 'lmdb'
import type { Attribute } from '../../model/context/entity.js'
import { type Cell, cellsOf } from '../../model/context/geo/cells.js'
import { locationAttribute, shapeOfLocation } from '../../model/context/location.js'
import type { Environment } from '../environment/environment.js'
import { cellKey, type Key } from '../records/keys.js'
import { encodeLocated } from '../records/record.js'
import type { EntityWrite } from '../records/turn-record.js'

/** The entities of a partition that have a location, by the cells of the earth that it lies in [NGSIv2 context 10.4]. */
export class LocationCells {
  readonly #index: Database<string, Key>

  constructor({ cells }: Pick<Environment, 'cells'>) {
    this.#index = cells
  }

  /** Updates the index for a write of an entity, within the transaction of its turn. */
  note(write: EntityWrite): void {
    const { tenant, entity } = write
    const held = write.kind === 'put' ? write.before : entity
    const before = held && locationAttribute(held)
    const after = write.kind === 'put' ? locationAttribute(entity) : undefined
    if (isSameLocation(before, after)) return
    for (const cell of cellsAt(before)) this.#index.removeSync(cellKey(tenant, cell, entity.sequence))
    const located = encodeLocated(entity)
    for (const cell of cellsAt(after)) this.#index.putSync(cellKey(tenant, cell, entity.sequence), located)
  }
}

function isSameLocation(a: Attribute | undefined, b: Attribute | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.value === b.value && a.type === b.type)
}

/** The cells in which a location lies; none if the attribute is no location. */
export function cellsAt(location: Attribute | undefined): readonly Cell[] {
  const shape = location && shapeOfLocation(location)
  return shape === undefined ? [] : cellsOf(shape)
}
