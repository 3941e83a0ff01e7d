import { numberOf } from '../../number-of.js'
import { noRoomFor } from '../../storage/environment/disk-room.js'
import { beginNext, fixedMember, hasPrevious, previousFolder } from '../../storage/folder/folder-swap.js'
import { CommandFailure, command, commandCodes, WrongCommandLine } from '../offline/command.js'
import { interruptibly } from '../offline/interruption.js'
import { type FolderOpening, removeBuilt, StoredFolder, swapMembers } from '../offline/offline-folder.js'
import { Progress, type ProgressOutput } from '../offline/progress.js'
import { folderHelp, folderValues, openingOf, partitionsOf, partitionsRange } from './command-folder.js'
import { type Resharded, reshardInto } from './reshard.js'

const help = `Usage: rigel reshard -partitions N [options]

Changes the number of partitions of the data folder of a stopped broker. The command builds the new partitions beside the old ones,
which takes as much of the disk again, and then replaces all of them at once. If it is killed, the folder has either the old
partitions or the new ones.

  -partitions N         the new number of partitions, ${partitionsRange}
${folderHelp}

The old partitions stay in the folder 'previous' of the data folder. 'rigel restore --forget-previous' removes them. The exit code
is 0 if the folder has N partitions, 1 if it is as it was or if the next start has to finish it (a line says which), and 2 for a
wrong command line.
`

/** `rigel reshard`: the same data in another number of partitions. */
export const reshardCommand = command({
  name: 'reshard',
  help,
  values: [...folderValues, 'partitions'],
  switches: [],
  positionals: [],
  failed: 'nothing was changed',
  run: async (given, { errors }) => {
    const partitions = partitionsOf(given)
    if (partitions === undefined) throw new WrongCommandLine("rigel reshard needs -partitions N: 'rigel help reshard'")
    const opening = openingOf(given, false)
    const { entities, notices } = await resharded(opening, partitions, errors)
    const moved = [numberOf(entities, 'entity', 'entities'), numberOf(notices, 'waiting notification')].join(' and ')
    errors.write(`${opening.path} has ${numberOf(partitions, 'partition')} now, with ${moved}\n`)
    return commandCodes.done
  },
})

async function resharded(opening: FolderOpening, partitions: number, errors: ProgressOutput): Promise<Resharded> {
  const { path } = opening
  const source = await StoredFolder.open(opening)
  let done: Resharded
  try {
    if (source.partitions.length === partitions)
      throw new CommandFailure(`${path} has ${numberOf(partitions, 'partition')} already`)
    if (hasPrevious(path)) {
      throw new CommandFailure(
        `${previousFolder(path)} holds what was replaced before: 'rigel restore --forget-previous' removes it`,
      )
    }
    const needed_bytes = source.used_bytes + opening.keepFree_bytes
    const impossible = fixedMember(path, path) ?? noRoomFor(path, needed_bytes, 'the copy of the data')
    if (impossible !== undefined) throw new CommandFailure(impossible)
    const target = { ...opening, path: beginNext(path), make: { partitions } }
    done = await interruptibly((interrupted) => built(source, target, errors, interrupted)).catch((fault: unknown) => {
      removeBuilt(path) // The space may be needed by others.
      throw fault
    })
  } catch (fault) {
    await source.close()
    throw fault
  }
  // The lock is kept until the members are swapped: a broker that starts in between would remove the new ones.
  await source.close(() => swapMembers(path, 'next'))
  return done
}

async function built(
  source: StoredFolder,
  target: Parameters<typeof reshardInto>[1],
  errors: ProgressOutput,
  interrupted: AbortSignal,
): Promise<Resharded> {
  const progress = new Progress('reshard', 'records', source.entityCount, errors)
  try {
    return await reshardInto(source, target, (entities) => {
      interrupted.throwIfAborted()
      progress.at(entities)
    })
  } finally {
    progress.end()
  }
}
