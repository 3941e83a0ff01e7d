import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'

/** Room for several etcds, each of which reserves 64 MiB at once, and for the brokers of benchmarks. */
const roomNeeded_bytes = 2 ** 30

/**
 * A folder for what is not to wait for the disk: in memory where there is room. When something else writes to the disk, an etcd may wait
 * for seconds, as long as it takes to lose its leases. It is that of this clone, so that a run can remove what one that was killed left.
 */
export const memoryFolder = join(
  hasRoomInMemory() ? memory : tmpdir(),
  `rigel-tests-${createHash('sha256')
    .update(import.meta.url)
    .digest('hex')
    .slice(0, 12)}`,
)
mkdirSync(memoryFolder, { recursive: true })

function hasRoomInMemory(): boolean {
  if (!existsSync(memory)) return false
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize >= roomNeeded_bytes
}

/** Empties it, before a run and behind it. */
export function clearMemoryFolder(): void {
  rmSync(memoryFolder, { recursive: true, force: true, maxRetries: 5 })
  mkdirSync(memoryFolder, { recursive: true })
}
