import { join } from 'node:path'
import { DamagedRecord, faultText } from '../../faults.js'
import type { Entity, Tenant } from '../../model/context/entity.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import { decodeToRead } from './large-record.js'
import { decodeEntity, type Located, locatedIn } from './record.js'

/** What an operator can do about damage. */
export const folderWayOut = 'restore the data folder from a backup'

/** The location of a record: the folder of its partition, and its key. */
export interface RecordLocation {
  readonly path: string
  readonly tenant: Tenant
  readonly sequence: Sequence
}

/** The record that an index names is not there. */
export function missing(where: RecordLocation): DamagedRecord {
  return damaged(where, 'is missing, although an index names it')
}

/** The entity of a record; throws `DamagedRecord` when it cannot be read. */
export function entityOf(text: string, where: RecordLocation, decode = decodeEntity): Entity {
  try {
    return decode(text)
  } catch (fault) {
    throw damaged(where, `cannot be read (${faultText(fault)})`)
  }
}

/** The entity of a record, for a reader, who seldom needs the large values in it; throws `DamagedRecord` when it cannot be read. */
export function entityToRead(text: string, where: RecordLocation): Entity {
  return entityOf(text, where, decodeToRead)
}

/** Id and path of a record; throws `DamagedRecord` when they cannot be read. */
export function locatedAt(text: string, where: RecordLocation): Located {
  try {
    return locatedIn(text)
  } catch (fault) {
    throw damaged(where, `cannot be read (${faultText(fault)})`)
  }
}

/** Decodes a record of the coordinator's data; throws an error that names it, which refuses the start. */
export function storedAs<Thing>(kind: string, id: string, decode: () => Thing): Thing {
  try {
    return decode()
  } catch (fault) {
    throw new DamagedRecord(
      `control/data.mdb: ${kind} ${id} cannot be read (${faultText(fault)}): restore it from a backup`,
    )
  }
}

/** Called for a record of an outbox that cannot be read; the reader continues without it. */
export type Unread = (record: string, fault: unknown) => void

/** Throws for any record that cannot be read. */
export const unreadThrows: Unread = (_, fault) => {
  throw fault
}

/** The fault of a record that the outbox of a folder continues without. */
export function unread(path: string, record: string, fault: unknown): DamagedRecord {
  const file = join(path, 'data.mdb')
  return new DamagedRecord(
    `${file}: ${record} cannot be read (${faultText(fault)}); all others are: ${folderWayOut} if it is needed`,
  )
}

/** A number that is stored under a name; throws `DamagedRecord` when it is none. */
export function storedNumber(text: string | undefined, path: string, name: string): number {
  const number = Number(text ?? 0)
  if (Number.isSafeInteger(number)) return number
  throw new DamagedRecord(`${join(path, 'data.mdb')}: ${name} is no number (${text}): ${folderWayOut}`)
}

function damaged({ path, tenant, sequence }: RecordLocation, what: string): DamagedRecord {
  const file = join(path, 'data.mdb')
  const key = tenant === '' ? `${sequence}` : `${sequence} of service ${tenant}`
  return new DamagedRecord(`${file}: the record at sequence ${key} ${what}: ${folderWayOut}`)
}
