import type { Database } from 'lmdb'
import type { Attribute, Tenant } from '../context/entity.js'
import { type Cell, cellsOf } from '../context/geo/cells.js'
import { locationAttribute, shapeOfLocation } from '../context/location.js'
import type { Log } from '../log/log.js'
import type { Sequence } from '../shared-memory/sequences.js'
import { numberOf } from './damage.js'
import type { Environment } from './environment.js'
import { cellKey, type Key } from './keys.js'
import { decodeEntity, encodeLocated, type Located } from './record.js'
import type { EntityWrite } from './turn-record.js'
import { writeInTransaction } from './write-transaction.js'

/** The fact that all entities of the partition that have a location are in the index. Part of the format on disk. */
const indexedFact: Key = ['cells']

/** Entities that are entered in one transaction, where an index is made of what was stored before there was one. */
const entitiesAtOnce = 10_000

/** The entities of a partition that have a location, by the cells of the earth that it lies in [NGSIv2 context 10.4]. */
export class LocationCells {
  readonly #index: Database<string, Key>

  constructor({ cells }: Pick<Environment, 'cells'>) {
    this.#index = cells
  }

  /**
   * Enters what was stored before there was an index; to be called before the log is recovered. Interrupted, it is
   * begun again at the next opening.
   */
  static ensure(environment: Environment, path: string, log: Log | undefined): void {
    const { root, records, facts } = environment
    if (numberOf(facts.get(indexedFact), path, 'the fact that locations are indexed') === 1) return
    const index = new LocationCells(environment)
    let after: Key | undefined
    let entered = 0
    do {
      const start: Key | undefined = after
      after = undefined
      writeInTransaction(root, () => {
        let read = 0
        for (const { key, value: text } of records.getRange(
          start === undefined ? {} : { start, exclusiveStart: true },
        )) {
          read += 1
          if (index.#enter(key, text)) entered += 1
          if (read === entitiesAtOnce) {
            after = key
            break
          }
        }
        if (after === undefined) facts.putSync(indexedFact, '1')
      })
      if (after !== undefined) log?.info('storage:index', `${entered} locations in ${path} are in the index so far`)
    } while (after !== undefined)
  }

  /** Enters and removes what a write makes of an entity, within the transaction of its turn. */
  note(write: EntityWrite): void {
    const { tenant, entity } = write
    const held = write.kind === 'put' ? write.before : entity
    const before = held && locationAttribute(held)
    const after = write.kind === 'put' ? locationAttribute(entity) : undefined
    if (isSameLocation(before, after)) return
    for (const cell of cellsAt(before)) this.#index.removeSync(cellKey(tenant, cell, entity.sequence))
    this.#put(tenant, entity, after)
  }

  #put(tenant: Tenant, entity: Located & { readonly sequence: Sequence }, location: Attribute | undefined): void {
    const located = encodeLocated(entity)
    for (const cell of cellsAt(location)) this.#index.putSync(cellKey(tenant, cell, entity.sequence), located)
  }

  /** Whether the entity of a record has a location, which then is in the index. */
  #enter([tenant]: Key, text: string): boolean {
    // The attribute that is the location ends so; few other records have this.
    if (!text.includes('",1]')) return false
    const entity = decodeEntity(text)
    const location = locationAttribute(entity)
    this.#put(String(tenant) as Tenant, entity, location)
    return location !== undefined
  }
}

function isSameLocation(a: Attribute | undefined, b: Attribute | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.value === b.value && a.type === b.type)
}

/** The cells in which a location lies; none for what is no location. */
export function cellsAt(location: Attribute | undefined): readonly Cell[] {
  const shape = location && shapeOfLocation(location)
  return shape === undefined ? [] : cellsOf(shape)
}
