import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { getSystemErrorMap } from 'node:util'
import { DiskFault, StorageFull } from '../../faults.js'

const { EDQUOT, EFBIG, EINTR, EINVAL, EIO, ENOMEM, ENOSPC } = constants.errno

/** The codes of LMDB that concern the disk. */
const mapFull = -30792
const damaged: ReadonlySet<number> = new Set([-30797, -30796, -30795, -30793, -30779])

/** Codes for no space: on the disk, in the quota, under the limit of a file's size, in the map. */
const full: ReadonlySet<number> = new Set([ENOSPC, EDQUOT, EFBIG, mapFull])

/** Codes of the system that do not concern the disk. */
const notOfTheDisk: ReadonlySet<number> = new Set([ENOMEM, EINTR, EINVAL])

/** The size of the write that probes whether a file can grow. */
const probe_bytes = 2 ** 16

/**
 * What the fault of a transaction is: `StorageFull` when there was no room for it, `DiskFault` when the disk or what lies
 * on it has failed, else the fault itself. LMDB says EIO when a disk has room for a part of what is written, and no more.
 */
export function faultOf(fault: unknown, path: string): unknown {
  if (!(fault instanceof Error) || !('code' in fault) || typeof fault.code !== 'number') return fault
  const { code } = fault
  if (full.has(code) || (code === EIO && !canGrow(path))) {
    return new StorageFull(`no room for the commit (${nameOf(code)})`, { cause: fault })
  }
  if (code < 0 ? !damaged.has(code) : notOfTheDisk.has(code)) return fault
  const file = join(path, 'data.mdb')
  return new DiskFault(`${file} cannot be used any more: ${code < 0 ? fault.message : nameOf(code)}`, { cause: fault })
}

/** Whether the data of an environment can grow: writes a little to another file, as far behind its beginning. */
export function canGrow(path: string): boolean {
  const file = join(path, 'probe')
  let handle: number | undefined
  try {
    handle = openSync(file, 'w')
    const { size } = statSync(join(path, 'data.mdb'))
    const written = writeSync(handle, Buffer.alloc(probe_bytes), 0, probe_bytes, size)
    fsyncSync(handle)
    return written === probe_bytes
  } catch (fault) {
    // Any other fault of the disk does not mean that it is full.
    return !isFull(fault)
  } finally {
    if (handle !== undefined) closeSync(handle)
    rmSync(file, { force: true })
  }
}

function isFull(fault: unknown): boolean {
  const errno = fault instanceof Error && 'errno' in fault ? Number(fault.errno) : 0
  return full.has(-errno)
}

/** The message of the system: LMDB would add what it did last, which may have nothing to do with it. */
function nameOf(code: number): string {
  const [name, message] = getSystemErrorMap().get(-code) ?? [`LMDB ${code}`, 'the map is full']
  return `${name}: ${message}`
}
