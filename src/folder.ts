import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Makes a folder and those above it, unless they are there, so that they are on disk with their names. One by one: Node's own
 * way never returns where the system says that there is none. `mode` is that of the folder itself. Throws what the system says,
 * `EEXIST` where something else stands.
 */
export function makeFolder(path: string, mode = 0o777): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return
  makeFolder(dirname(path))
  mkdirSync(path, mode)
  syncFolder(dirname(path))
}

/** Whether something has a path. Throws what the system says when this process may not look: what it cannot see is not missing. */
export function pathExists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'ENOTDIR') return false
    throw fault
  }
}

/** The mode of folders with data: passwords of subscriptions are among them, so they are for their owner alone. */
export const privateMode = 0o700

/** Makes durable which files there are in a folder. */
export function syncFolder(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Writes a file so that it holds, whatever happens, what it held before or all of the text; durable when this returns. */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.new`
  const handle = openSync(draft, 'w')
  try {
    writeSync(handle, text)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  renameSync(draft, file)
  syncFolder(dirname(file))
}
