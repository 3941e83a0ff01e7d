import { existsSync } from 'node:fs'
import { ControlStore } from '../lmdb/control-store.js'
import { openDataFolder } from '../lmdb/data-folder.js'
import type { WriterSettings } from '../lmdb/environment.js'
import { pinnedFile } from '../lmdb/file-pin.js'
import { formatFile, formatVersion, readFormat } from '../lmdb/folder-format.js'
import { LmdbPartitionStore } from '../lmdb/partition-store.js'
import type { PinnedFile } from '../partition/store.js'
import { CommandFailure } from './command-result.js'

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
 * and when it has another format: it is not brought to this one by a command that only reads.
 */
export async function stoppedFolder(path: string): Promise<StoppedFolder> {
  checkFormat(path)
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

/** Throws, in words, when a folder is none of the format of this program. */
export function checkFormat(path: string): void {
  if (existsSync(`${path}/swap.json`)) return
  const format = readFormat(path)
  if (format === 'missing') throw new CommandFailure(`${path} is no data folder: it has no format.json`)
  if (format === 'damaged') throw new CommandFailure(`${formatFile(path)} is damaged`)
  if (format.version === formatVersion) return
  throw new CommandFailure(
    `${path} has format ${format.version}, this program reads format ${formatVersion}: ${format.version < formatVersion ? 'start it once with this version, which brings it to that format' : 'use the version of Rigel that wrote it'}`,
  )
}
