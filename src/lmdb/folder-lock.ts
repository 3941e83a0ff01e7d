import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Outcome } from '../outcome.js'
import { granted, refused } from '../outcome.js'

/** Keeps a second broker off a data folder for as long as this process lives. */
export interface FolderLock {
  release(): void
}

/** Attempts to get a lock that somebody else gives up at the same moment. */
const attempts = 5

/**
 * Takes the lock of a folder: a file that names its owner. The file of a process that is gone, however it ended, is no
 * lock; a process is told from a later one of the same number by the time of its start.
 */
export function lockFolder(path: string): Outcome<FolderLock, { readonly reason: string }> {
  const file = join(path, 'lock')
  const own = `${process.pid} ${startOf(process.pid) ?? 'unknown'}\n`
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    try {
      writeFileSync(file, own, { flag: 'wx' })
      return granted({ release: () => release(file, own) })
    } catch (fault) {
      if (!isErrno(fault, 'EEXIST')) return refused({ reason: `${file} cannot be written: ${String(fault)}` })
    }
    const owner = ownerOf(file)
    if (owner !== undefined && lives(owner)) {
      return refused({ reason: `${path} is in use by another broker (PID: ${owner.pid})` })
    }
    discard(file)
  }
  return refused({ reason: `${file} cannot be taken: other brokers try to start on the same directory` })
}

interface Owner {
  readonly pid: number
  readonly start: string
}

function ownerOf(file: string): Owner | undefined {
  try {
    const [pid = '', start = ''] = readFileSync(file, 'utf8').trim().split(' ')
    return /^\d+$/.test(pid) ? { pid: Number(pid), start } : undefined
  } catch (fault) {
    if (isErrno(fault, 'ENOENT')) return undefined
    throw fault
  }
}

function lives({ pid, start }: Owner): boolean {
  const now = startOf(pid)
  if (now !== undefined) return pid !== process.pid && (start === 'unknown' || now === start)
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return start === 'unknown'
  } catch (fault) {
    return isErrno(fault, 'EPERM')
  }
}

/** When a process was started, in ticks since the boot; nothing where the system does not tell. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in parentheses, which may hold blanks; the start is the 22nd.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined // No such process, or no /proc: `lives` asks the system in another way.
  }
}

/** Only one of several brokers that find the same leftover may remove it: the one that renames it. */
function discard(file: string): void {
  const aside = `${file}.${process.pid}`
  try {
    renameSync(file, aside)
  } catch (fault) {
    if (isErrno(fault, 'ENOENT')) return
    throw fault
  }
  rmSync(aside, { force: true })
}

function release(file: string, own: string): void {
  try {
    if (readFileSync(file, 'utf8') === own) rmSync(file)
  } catch (fault) {
    if (!isErrno(fault, 'ENOENT')) throw fault
  }
}

function isErrno(fault: unknown, code: string): boolean {
  return fault instanceof Error && 'code' in fault && fault.code === code
}
