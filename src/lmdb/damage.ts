import { join } from 'node:path'
import type { Entity, Place, Tenant } from '../context/entity.js'
import { decodeEntity, type Located, locatedIn } from './record.js'

/**
 * A record that is missing although an index names it, or that cannot be read: what was stored is not there any more as it
 * was. A fault, never a gap in an answer. The message names the file, the record and the way out.
 */
export class DamagedRecord extends Error {
  override readonly name = 'DamagedRecord'
}

/** Where a record stands: the folder of its partition, and its key. */
export interface RecordPlace {
  readonly path: string
  readonly tenant: Tenant
  readonly place: Place
}

/** The record that an index names is not there. */
export function missing(where: RecordPlace): DamagedRecord {
  return damaged(where, 'is missing, although an index names it')
}

/** The entity of a record; throws `DamagedRecord` when it cannot be read. */
export function entityOf(text: string, where: RecordPlace): Entity {
  try {
    return decodeEntity(text)
  } catch (fault) {
    throw damaged(where, `cannot be read (${fault instanceof Error ? fault.message : String(fault)})`)
  }
}

/** Id and path of a record; throws `DamagedRecord` when they cannot be read. */
export function locatedAt(text: string, where: RecordPlace): Located {
  try {
    return locatedIn(text)
  } catch (fault) {
    throw damaged(where, `cannot be read (${fault instanceof Error ? fault.message : String(fault)})`)
  }
}

/** What is stored under a name in the coordinator's own data; a start that cannot read it is refused with this. */
export function storedAs<Thing>(kind: string, id: string, decode: () => Thing): Thing {
  try {
    return decode()
  } catch (fault) {
    const reason = fault instanceof Error ? fault.message : String(fault)
    throw new DamagedRecord(`control/data.mdb: ${kind} ${id} cannot be read (${reason}): restore it from a backup`)
  }
}

function damaged({ path, tenant, place }: RecordPlace, what: string): DamagedRecord {
  const file = join(path, 'data.mdb')
  const key = tenant === '' ? `${place}` : `${place} of service ${tenant}`
  return new DamagedRecord(`${file}: the record at place ${key} ${what}: restore the data folder from a backup`)
}
