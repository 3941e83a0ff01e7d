import { noRoomFor } from '../lmdb/disk-room.js'
import { claimFolder } from '../lmdb/folder-claim.js'
import { beginNext, fixedMember, hasPrevious, previousFolder } from '../lmdb/folder-swap.js'
import { type CommandArguments, readArguments } from '../offline/command-arguments.js'
import { CommandFailure, type CommandSurroundings, commandCodes, failureText } from '../offline/command-result.js'
import { exchangeMembers, removeBuilt, Unfinished } from '../offline/member-exchange.js'
import { Progress, type ProgressOutput } from '../offline/progress.js'
import { folderHelp, folderValues, openingOf, positiveInteger } from './command-folder.js'
import { type Resharded, reshardInto } from './reshard.js'
import { StoredFolder } from './stored-folder.js'

const most = 256

const help = `Usage: rigel reshard -partitions N [options]

Gives the data folder of a broker that does not run another number of partitions. The new ones are built beside the present
ones, which takes as much of the disk again, and take their place at once: killed at any moment it leaves the one or the other.

  -partitions N         the number of partitions from then on, 1 to ${most}
${folderHelp}

What was there before stays in the folder 'previous' of the data folder: 'rigel restore --forget-previous' removes it. The exit
code is 0 when the folder has N partitions, 1 when it is as it was or when the next start has to finish it, which is said, and 2
for a wrong command line.
`

/** `rigel reshard`: exactly the same data in another number of partitions. */
export async function reshardCommand({ words, output, errors }: CommandSurroundings): Promise<number> {
  const read = readArguments(words, {
    ...{ name: 'reshard', help, positionals: [], switches: [], values: [...folderValues, 'partitions'] },
  })
  if (read.ok && read.value === 'help') {
    output.write(help)
    return commandCodes.done
  }
  const given = read.ok && read.value !== 'help' ? read.value : undefined
  if (given?.value('partitions') === undefined) {
    errors.write(`${read.ok ? "rigel reshard needs -partitions N: 'rigel help reshard'" : read.error}\n`)
    return commandCodes.notTried
  }
  try {
    const { entities, notices } = await resharded(given, errors)
    errors.write(
      `${entities} entities and ${notices} notifications that wait are in ${given.value('partitions')} partitions\n`,
    )
    return commandCodes.done
  } catch (fault) {
    errors.write(`${fault instanceof Unfinished ? '' : 'nothing was changed: '}${failureText(fault)}\n`)
    return commandCodes.failed
  }
}

async function resharded(given: CommandArguments, errors: ProgressOutput): Promise<Resharded> {
  const opening = openingOf(given, false)
  const { path } = opening
  const partitions = positiveInteger(given, 'partitions') ?? 0
  if (partitions > most) throw new CommandFailure(`-partitions: ${partitions} is more than ${most}`)
  const source = await StoredFolder.open(opening)
  let done: Resharded
  try {
    if (source.partitions.length === partitions)
      throw new CommandFailure(`${path} has ${partitions} partitions already`)
    if (hasPrevious(path)) {
      throw new CommandFailure(
        `${previousFolder(path)} holds what was replaced before: 'rigel restore --forget-previous' removes it`,
      )
    }
    const needed_bytes = source.used_bytes + opening.keepFree_bytes
    const impossible = fixedMember(path, path) ?? noRoomFor(path, needed_bytes, 'the copy of the data')
    if (impossible !== undefined) throw new CommandFailure(impossible)
    const target = { ...opening, path: beginNext(path), make: { partitions } }
    done = await built(source, target, errors).catch((fault: unknown) => {
      removeBuilt(path) // The room that it takes may be what others need.
      throw fault
    })
  } finally {
    await source.close()
  }
  exchange(path)
  return done
}

async function built(
  source: StoredFolder,
  target: Parameters<typeof reshardInto>[1],
  errors: ProgressOutput,
): Promise<Resharded> {
  const progress = new Progress('reshard', 'records', source.entityCount, errors)
  try {
    return await reshardInto(source, target, (entities) => progress.at(entities))
  } finally {
    progress.end()
  }
}

/** Puts the new members in the place of the present ones. */
function exchange(path: string): void {
  const claim = claimFolder(path)
  if (!claim.ok) throw new CommandFailure(claim.error.reason)
  try {
    exchangeMembers(path, 'next')
  } finally {
    claim.value.release()
  }
}
