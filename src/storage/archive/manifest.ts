import { faultText } from '../../faults.js'
import { err, ok, type Result } from '../../result.js'
import { isCount } from '../../unchecked-json.js'

export interface BackedUpFile {
  /** Its path in the backup, with slashes. */
  readonly name: string
  readonly bytes: number
  /** In hexadecimal digits. */
  readonly sha256: string
}

/** The description and the files of a backup. Part of the format of backups. */
export interface Manifest {
  /** The version of the program that made it. */
  readonly rigel: string
  /** The format of the data folder; `id` and `partitions` are those of the folder. */
  readonly format: number
  readonly folder: string
  readonly partitions: number
  /** The moment that it shows, as an ISO 8601 date in UTC. */
  readonly point: string
  readonly files: readonly BackedUpFile[]
}

/** The name of the last file of a backup: a backup without it is incomplete. */
export const manifestName = 'manifest.json'

/** The names of the files of a backup with this many partitions, in order. */
export function backedUpNames(partitions: number): readonly string[] {
  const numbers = Array.from({ length: partitions }, (_, number) => number)
  return ['format.json', ...numbers.map((number) => `partition-${number}/data.mdb`), 'control/data.mdb']
}

/** The text of a manifest; its length does not depend on the checksums. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, undefined, 2)}\n`
}

/** Parses a manifest. Refuses, with the reason, a text that is malformed or does not name exactly the files of a backup. */
export function parseManifest(text: string): Result<Manifest, string> {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch (fault) {
    return err(`${manifestName} is no JSON (${faultText(fault)})`)
  }
  if (!isManifest(raw)) return err(`${manifestName} is no manifest of a backup`)
  const names = backedUpNames(raw.partitions)
  const isWhole = raw.files.length === names.length && raw.files.every(({ name }, at) => name === names[at])
  return isWhole ? ok(raw) : err(`${manifestName} does not name the files of ${raw.partitions} partitions`)
}

/** More than any folder has; bounds what is read of a file. */
const mostPartitions = 4096

function isManifest(raw: unknown): raw is Manifest {
  if (typeof raw !== 'object' || raw === null) return false
  if (
    !('rigel' in raw && 'format' in raw && 'folder' in raw && 'partitions' in raw && 'point' in raw && 'files' in raw)
  ) {
    return false
  }
  const { rigel, format, folder, partitions, point, files } = raw
  const areTexts = [rigel, folder, point].every((text) => typeof text === 'string')
  const areNumbers = isCount(format) && isCount(partitions) && partitions >= 1 && partitions <= mostPartitions
  return areTexts && areNumbers && Array.isArray(files) && files.every(isFile)
}

function isFile(raw: unknown): raw is BackedUpFile {
  if (typeof raw !== 'object' || raw === null || !('name' in raw && 'bytes' in raw && 'sha256' in raw)) return false
  const isChecksum = typeof raw.sha256 === 'string' && /^[0-9a-f]{64}$/.test(raw.sha256)
  return typeof raw.name === 'string' && isCount(raw.bytes) && isChecksum
}
