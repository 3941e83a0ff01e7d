import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'

/** Room for several etcds, each of which reserves 64 MiB at once, and for the brokers of benchmarks. */
const roomNeeded_bytes = 2 ** 30

/**
 * Where folders are made for what is not to wait for the disk: in memory where there is room. When something else writes to the disk, an
 * etcd may wait for seconds, as long as it takes to lose its leases.
 */
export const memoryFolder = hasRoomInMemory() ? memory : tmpdir()

function hasRoomInMemory(): boolean {
  if (!existsSync(memory)) return false
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize >= roomNeeded_bytes
}

/** The names of the folders that tests of this clone make there begin so. */
const prefix = `rigel-tests-${createHash('sha256')
  .update(import.meta.url)
  .digest('hex')
  .slice(0, 12)}-`

/** Makes a folder there. Whoever makes it removes it. */
export function newMemoryFolder(): string {
  return mkdtempSync(join(memoryFolder, prefix))
}

/** Removes what a run that was killed has left there. */
export function removeLeftFolders(): void {
  for (const name of readdirSync(memoryFolder)) {
    if (name.startsWith(prefix)) removeMemoryFolder(join(memoryFolder, name))
  }
}

/** Removes a folder, in which a process that is ending may still write. */
export function removeMemoryFolder(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5 })
}
