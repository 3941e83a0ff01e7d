import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { tryLock } from 'fs-native-extensions'
import { systemFaultText } from '../../faults.js'
import { err, ok, type Result } from '../../result.js'

/** Keeps a second broker off a data folder for as long as this process lives. */
export interface FolderLock {
  release(): void
}

/** The codes of a file system without locks. */
const withoutLocks: ReadonlySet<unknown> = new Set(['ENOLCK', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL'])

/** Attempts to get a lock whose file its owner removes at the same moment. */
const attempts = 5

/**
 * Takes the lock of a folder: the kernel's, on an open file. The kernel gives it back when the process ends, however it
 * ends, and it holds between containers that share a volume, where the numbers of processes tell nothing. The file names
 * its owner for whoever is refused.
 */
export function lockFolder(path: string): Result<FolderLock, { readonly reason: string }> {
  const file = join(path, 'lock')
  try {
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const lock = lockFile(file)
      if (lock === 'taken')
        return err({
          reason: `${path} is in use by another broker (${ownerOf(file)}): end that, or name another place with -dbPath`,
        })
      if (lock !== 'removed') return ok(lock)
    }
    return err({ reason: `${file} cannot be taken: other brokers try to start on the same directory` })
  } catch (fault) {
    const code = fault instanceof Error && 'code' in fault ? fault.code : undefined
    if (!withoutLocks.has(code)) return err({ reason: `${file} cannot be used: ${systemFaultText(fault)}` })
    return err({
      reason: `${file} cannot be locked, its file system has no locks (${code}): put -dbPath on a local disk`,
    })
  }
}

/**
 * Locks a data file, which stays while a broker runs: this lock holds even after somebody has removed the lock file. LMDB locks
 * other files, and no other use of an open file gives back its lock.
 */
export function lockData(file: string): Result<FolderLock, 'taken' | { readonly reason: string }> {
  let descriptor: number | undefined
  try {
    const held = openSync(file, 'r+')
    descriptor = held
    if (tryLock(held)) return ok({ release: () => closeSync(held) })
    closeSync(held)
    return err('taken')
  } catch (fault) {
    if (descriptor !== undefined) closeSync(descriptor)
    return err({ reason: `${file} cannot be locked: ${systemFaultText(fault)}` })
  }
}

/** Whether another broker holds the lock of a data file; false as well when the file cannot be opened. */
export function isLocked(file: string): boolean {
  const lock = lockData(file)
  if (lock.ok) lock.value.release()
  return !lock.ok && lock.error === 'taken'
}

function lockFile(file: string): FolderLock | 'taken' | 'removed' {
  const descriptor = openSync(file, 'a+')
  try {
    if (!tryLock(descriptor)) {
      closeSync(descriptor)
      return 'taken'
    }
  } catch (fault) {
    closeSync(descriptor)
    throw fault
  }
  // Its owner may have removed it between the two calls: a lock of a file that nobody else can open keeps nobody off.
  if (statSync(file, { throwIfNoEntry: false })?.ino !== fstatSync(descriptor).ino) {
    closeSync(descriptor)
    return 'removed'
  }
  sign(descriptor)
  return {
    release: () => {
      try {
        rmSync(file, { force: true })
      } finally {
        closeSync(descriptor)
      }
    },
  }
}

function sign(descriptor: number): void {
  try {
    ftruncateSync(descriptor)
    writeSync(descriptor, `${process.pid} ${hostname()}\n`)
  } catch {
    // The disk is full: the lock holds, but does not name its owner.
  }
}

function ownerOf(file: string): string {
  const [pid = '', host = ''] = (existsSync(file) ? readFileSync(file, 'utf8') : '').trim().split(' ')
  return /^\d+$/.test(pid) && host !== '' ? `PID: ${pid} on ${host}` : 'it did not say which'
}
