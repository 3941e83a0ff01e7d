import { closeSync, mkdirSync, openSync, readSync, statSync, truncateSync, writeSync } from 'node:fs'
import { openDatabase, openRoot } from '../../src/storage/environment/environment.js'
import { type DataFolder, type FolderSettings, openDataFolder } from '../../src/storage/folder/data-folder.js'

const maps = { sizeMax_bytes: 2 ** 26, others_bytes: () => 0 }
const settings: FolderSettings = { partitions: undefined, preferred: 1, everyPage_bytes: 2 ** 26, maxReaders: 64, maps }

/** Opens a folder with this many partitions; gives it, or why it was refused. */
export async function opened(path: string, change: Partial<FolderSettings> = {}): Promise<DataFolder | string> {
  const folder = await openDataFolder(path, { ...settings, ...change })
  return folder.ok ? folder.value : folder.error.reason
}

/** Makes a folder and lets go of it. */
export async function made(path: string, partitions: number): Promise<void> {
  const folder = await opened(path, { partitions: partitions })
  if (typeof folder === 'string') throw new Error(folder)
  folder.release()
}

/** Whether the folder opens; else why not. Lets go of it again. */
export async function tried(path: string, change: Partial<FolderSettings> = {}): Promise<string> {
  const folder = await opened(path, change)
  if (typeof folder === 'string') return folder
  folder.release()
  return 'opened'
}

/** Fills an environment with records of several sizes, in several transactions. */
export async function filled(path: string, records: number): Promise<void> {
  mkdirSync(path, { recursive: true })
  const root = openRoot(path, { readOnly: false, maxReaders: 64, sizeMax_bytes: 2 ** 28 })
  const database = openDatabase(root, 'records')
  for (let from = 0; from < records; from += 50) {
    root.transactionSync(() => {
      for (let n = from; n < from + 50; n += 1)
        database.putSync(['', n], 'x'.repeat(n % 40 === 0 ? 9000 : 100 + (n % 300)))
    })
  }
  await root.close()
}

/** Writes other bytes over a place of a file. */
export function overwritten(file: string, at: number, bytes: Uint8Array): void {
  const handle = openSync(file, 'r+')
  writeSync(handle, bytes, 0, bytes.length, at)
  closeSync(handle)
}

/** Bytes of a file. */
export function bytesAt(file: string, at: number, length: number): Buffer {
  const handle = openSync(file, 'r')
  const bytes = Buffer.alloc(length)
  readSync(handle, bytes, 0, length, at)
  closeSync(handle)
  return bytes
}

/** Cuts a file down to a part of its size. */
export function cut(file: string, part: number): void {
  truncateSync(file, Math.floor(statSync(file).size * part))
}
