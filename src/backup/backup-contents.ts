import type { BackupPoint } from '../broker/backup-service.js'
import { formatText } from '../lmdb/folder-format.js'
import { versionFacts } from '../version.js'
import type { ArchiveParts } from './archive.js'
import { backedUpNames } from './manifest.js'

/** What a backup of a moment is made of, but for its pace. */
export function backupContents(point: Omit<BackupPoint, 'number'>): Pick<ArchiveParts, 'about' | 'files'> {
  const { folder, format, time, partitions, control } = point
  const contents = [formatText({ partitions: partitions.length, folder }), ...partitions, control]
  const names = backedUpNames(partitions.length)
  return {
    about: {
      rigel: versionFacts.version,
      format,
      folder,
      partitions: partitions.length,
      point: new Date(time).toISOString(),
    },
    files: contents.map((content, at) => ({ name: names[at] ?? '', content })),
  }
}
