import { closeSync, fstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { RootDatabase, Transaction } from 'lmdb'
import type { Key } from '../records/keys.js'
import type { PinnedFile } from '../records/store.js'
import { metasOf } from './checkpoint-file.js'
import { integerAt, meta, pageSizeOf } from './page-layout.js'

/**
 * A read transaction of the last commit: the pages of that stay as they are until `done` is called, or the thread ends. It
 * shares the reader table with ordinary reads, but no snapshot: the first call drops one that may be older, and the last
 * one has reads take another from here on.
 */
export function pinOf(root: RootDatabase<string, Key>): Transaction {
  root.resetReadTxn()
  const pin = root.useReadTransaction()
  root.resetReadTxn()
  return pin
}

/**
 * Keeps the last commit of an environment as it is while its file is copied. Made in the thread of its only writer, between
 * two transactions. Until it is released the file grows, as freed pages are not used again.
 */
export class FilePin {
  readonly file: PinnedFile
  readonly #pin: Transaction

  /** Throws when the file cannot be read. */
  constructor(path: string, root: RootDatabase<string, Key>) {
    this.#pin = pinOf(root)
    try {
      this.file = pinnedFile(path)
    } catch (fault) {
      this.#pin.done()
      throw fault
    }
  }

  release(): void {
    this.#pin.done()
  }
}

/** The file of an environment that is not written, or whose last commit is pinned; throws when it is no file of LMDB. */
export function pinnedFile(path: string): PinnedFile {
  const file = join(path, 'data.mdb')
  const descriptor = openSync(file, 'r')
  try {
    const metas = metasOf(descriptor)
    const page_bytes = metas && pageSizeOf(metas[0])
    if (metas === undefined || page_bytes === undefined) throw new Error(`the meta pages of ${file} are damaged`)
    const [first, second] = metas
    const newest = integerAt(first, meta.transaction) >= integerAt(second, meta.transaction) ? first : second
    // Pages at the end that were taken and given back in one transaction are not in the file.
    const bytes = Math.min(fstatSync(descriptor).size, (integerAt(newest, meta.lastPage) + 1) * page_bytes)
    return { file, bytes, patches: metas.map((page, number) => ({ at: number * page_bytes, bytes: page })) }
  } finally {
    closeSync(descriptor)
  }
}
