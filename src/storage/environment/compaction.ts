import { chmodSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { commandSpace_bytes, noSpaceFor } from './address-space.js'
import { openRoot } from './environment.js'

/**
 * Writes the file of an environment anew without the pages that are free, which a file keeps for as long as it lives. Nobody else
 * has it open, there is no log or checkpoint beside it, and its folder has room for the new file as well. Throws what LMDB and the
 * system say; the file is as it was then.
 */
export async function compactFile(path: string): Promise<void> {
  const file = join(path, 'data.mdb')
  const draft = join(path, 'compact')
  mkdirSync(draft)
  try {
    const sizeMax_bytes = statSync(file).size
    const missing = noSpaceFor({ environments: 1, sizeMax_bytes, others_bytes: commandSpace_bytes })
    if (missing !== undefined) throw new Error(missing)
    const root = openRoot(path, { readOnly: true, sizeMax_bytes, maxReaders: 8 })
    await root.backup(draft, true).finally(() => root.close())
    chmodSync(join(draft, 'data.mdb'), statSync(file).mode & 0o777)
    renameSync(join(draft, 'data.mdb'), file)
  } finally {
    rmSync(draft, { recursive: true })
    rmSync(join(path, 'lock.mdb'), { force: true })
  }
}
