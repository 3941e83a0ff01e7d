import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { systemFaultText } from '../../faults.js'

/** A file of an environment that this process may not open, or has no descriptor for. The message names it, and what helps. */
export class UnusableFile extends Error {
  override readonly name = 'UnusableFile'
}

/** What LMDB opens of an environment: its locks once, its data twice. */
const opened = 3

/**
 * Throws `UnusableFile` where LMDB could not open the files of an environment, of which it would end the process by a signal without a
 * word. The file of its locks is not opened for that: by closing it the process would give up the locks that it has on it.
 */
export function tryEnvironmentFiles(path: string, readOnly: boolean): void {
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return
  const { R_OK, W_OK } = constants
  // On a file system that can only be read LMDB reads without locks.
  tryFile(path, 'lock.mdb', R_OK | W_OK, readOnly ? 'EROFS' : undefined)
  tryFile(path, 'data.mdb', readOnly ? R_OK : R_OK | W_OK)
  tryDescriptors(path)
}

function tryFile(path: string, name: string, mode: number, harmless?: string): void {
  const file = join(path, name)
  try {
    const stats = statSync(file, { throwIfNoEntry: false })
    if (stats === undefined) accessSync(path, constants.W_OK | constants.X_OK)
    else if (stats.isDirectory()) throw Object.assign(new Error(file), { code: 'EISDIR' })
    else accessSync(file, mode)
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === harmless) return
    throw unusableFile(file, fault)
  }
}

function tryDescriptors(path: string): void {
  const handles: number[] = []
  try {
    while (handles.length < opened) handles.push(openSync(path, 'r'))
  } catch (fault) {
    throw unusableFile(path, fault)
  } finally {
    for (const handle of handles) closeSync(handle)
  }
}

function unusableFile(file: string, fault: unknown): UnusableFile {
  return new UnusableFile(`${file} cannot be opened: ${systemFaultText(fault)}`, { cause: fault })
}
