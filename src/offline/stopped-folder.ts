import { ControlStore } from '../lmdb/control-store.js'
import { openDataFolder } from '../lmdb/data-folder.js'
import type { WriterSettings } from '../lmdb/environment.js'
import { pinnedFile } from '../lmdb/file-pin.js'
import { type FolderFormat, formatVersion, readFormat } from '../lmdb/folder-format.js'
import { isDecided } from '../lmdb/folder-swap.js'
import { LmdbPartitionStore } from '../lmdb/partition-store.js'
import type { PinnedFile } from '../partition/store.js'
import { CommandFailure } from './command.js'

/** The data folder of a broker that does not run, as this process's own. */
export interface StoppedFolder {
  readonly id: string
  readonly format: number
  readonly partitions: number
  partitionPath(partition: number): string
  readonly controlPath: string
  /** Brings everything up to date with the logs, as a start does; gives the files that hold all of it then. */
  files(): Promise<{ readonly partitions: readonly PinnedFile[]; readonly control: PinnedFile }>
  release(): void
}

/** How commands open environments: what is removed needs room as well. */
const writerSettings: WriterSettings = { durable: true, keepFree_bytes: 0, sizeMax_bytes: 2 ** 40, maxReaders: 64 }

/**
 * Takes the folder of a broker that does not run. Throws, in words, when there is none, when somebody has it, when it is damaged
 * and when it has another format.
 */
export async function stoppedFolder(path: string): Promise<StoppedFolder> {
  if (!isDecided(path)) formatOf(path)
  const opened = await openDataFolder(path, {
    ...{ asked: undefined, preferred: 1, everyPage_bytes: 0, maxReaders: writerSettings.maxReaders },
  })
  if (!opened.ok) throw new CommandFailure(opened.error.reason)
  const folder = opened.value
  const paths = Array.from({ length: folder.partitions }, (_, number) => folder.partitionPath(number))
  return {
    id: folder.id,
    format: formatVersion,
    partitions: folder.partitions,
    partitionPath: (number) => folder.partitionPath(number),
    controlPath: folder.controlPath,
    files: async () => {
      for (const member of paths) await new LmdbPartitionStore(member, writerSettings).close()
      await new ControlStore(folder.controlPath, writerSettings, (reason) => {
        throw new CommandFailure(reason)
      }).close()
      return { partitions: paths.map(pinnedFile), control: pinnedFile(folder.controlPath) }
    },
    release: () => folder.release(),
  }
}

/** What a folder is; throws, in words, when it is none of the format of this program. */
export function formatOf(path: string): FolderFormat {
  const format = readFormat(path)
  if (format.ok) return format.value
  const { error } = format
  throw new CommandFailure(error === 'missing' ? `${path} is no data folder: it has no format.json` : error.reason)
}
