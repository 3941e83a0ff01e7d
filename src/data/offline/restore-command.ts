import { mkdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { flags } from '../../flags/flags.js'
import { pathExists } from '../../folder.js'
import { type Manifest, manifestName } from '../../storage/archive/manifest.js'
import { compactFile } from '../../storage/environment/compaction.js'
import { noRoomFor } from '../../storage/environment/disk-room.js'
import { lockDataFolder } from '../../storage/folder/data-folder-lock.js'
import { formatFile, formatVersion, otherFormat, readFormat } from '../../storage/folder/folder-format.js'
import {
  beginNext,
  finishSwap,
  fixedMember,
  forgetPrevious,
  hasPrevious,
  membersIn,
  previousFolder,
} from '../../storage/folder/folder-swap.js'
import { readBackedUp, readManifest } from './backup-folder.js'
import { type CommandArguments, CommandFailure, command, commandCodes, WrongCommandLine } from './command.js'
import { interruptibly } from './interruption.js'
import { removeBuilt, swapMembers } from './offline-folder.js'
import { Progress, type ProgressOutput } from './progress.js'

const help = `Usage: rigel restore DIR [-dbPath FOLDER] [--force] [--compact]
       rigel restore --previous [-dbPath FOLDER]
       rigel restore --forget-previous [-dbPath FOLDER]

Restores the backup in DIR to the data folder of a stopped broker. The command compares all checksums before it changes anything in
the folder. If it is killed, the folder has either its old data or the data of the backup.

  -dbPath FOLDER      the data folder (${flags.dbPath.default}); it is made if it is missing
  --force             replaces the data in the folder, and keeps them in FOLDER/previous
  --compact           leaves out the free pages of the files, so that they take less of the disk
  --previous          puts back what was replaced last, by a restore or a reshard, and keeps in its place what is there now
  --forget-previous   removes what was replaced last, for good

The exit code is 0 if it is done, 1 if nothing was changed or if the next start has to finish it (a line says which), and 2 for a
wrong command line.
`

/** `rigel restore`: puts a backup, or the members that were replaced last, into a data folder. */
export const restoreCommand = command({
  name: 'restore',
  help,
  values: ['dbPath'],
  switches: ['force', 'compact', 'previous', 'forget-previous'],
  positionals: ['DIR'],
  failed: 'nothing was restored',
  run: async (given, { output, errors }) => {
    const sources = [given.positionals.length > 0, given.isOn('previous'), given.isOn('forget-previous')]
    if (sources.filter((each) => each).length !== 1) throw new WrongCommandLine(oneSource)
    output.write(`${await restored(given, errors)}\n`)
    return commandCodes.done
  },
})

const oneSource =
  "rigel restore needs either the folder of a backup, --previous or --forget-previous: 'rigel help restore'"

/** Restores and returns the message for the operator. Throws when nothing was changed. */
async function restored(given: CommandArguments, errors: ProgressOutput): Promise<string> {
  const path = given.value('dbPath') ?? flags.dbPath.default
  const [backup] = given.positionals
  // Read first: without a backup to restore, a missing folder is not made.
  const manifest = backup === undefined ? undefined : readManifest(backup)
  if (manifest === undefined && !pathExists(path)) throw new CommandFailure(`${path} is not there`)
  const lock = lockDataFolder(path)
  if (!lock.ok) throw new CommandFailure(lock.error.reason)
  try {
    for (const _ of finishSwap(path));
    if (given.isOn('forget-previous')) {
      return forgetPrevious(path) ? `${previousFolder(path)} is removed` : `${previousFolder(path)} is not there`
    }
    if (backup !== undefined && manifest !== undefined) {
      const settings = { force: given.isOn('force'), compact: given.isOn('compact') }
      await interruptibly((interrupted) => build(path, backup, manifest, settings, errors, interrupted))
      swapMembers(path, 'next')
      return `${path} holds the backup of ${manifest.point}${hasPrevious(path) ? `; what it held before is in ${previousFolder(path)}` : ''}`
    }
    if (!hasPrevious(path)) throw new CommandFailure(`${previousFolder(path)} is not there: nothing was replaced`)
    swapMembers(path, 'previous')
    return `${path} holds the data again that were replaced last; what it held until now is in ${previousFolder(path)}`
  } finally {
    lock.value.release()
  }
}

/** Copies the backup to the place of new members. Throws when the backup is damaged or incomplete. */
async function build(
  path: string,
  backup: string,
  manifest: Manifest,
  { force, compact }: { readonly force: boolean; readonly compact: boolean },
  errors: ProgressOutput,
  interrupted: AbortSignal,
): Promise<void> {
  if (manifest.format !== formatVersion) {
    throw new CommandFailure(otherFormat(backup, manifest.format, `Rigel ${manifest.rigel}`))
  }
  if (!force && membersIn(path).length > 0) {
    throw new CommandFailure(`${path} holds data: --force replaces it, and keeps it in ${previousFolder(path)}`)
  }
  if (hasPrevious(path) && membersIn(path).length > 0) {
    throw new CommandFailure(
      `${previousFolder(path)} still holds what was replaced before: remove it with \`rigel restore --forget-previous -dbPath ${path}\``,
    )
  }
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0)
  const impossible = fixedMember(path, path) ?? noRoomFor(path, compact ? 2 * bytes : bytes, 'the backup')
  if (impossible !== undefined) throw new CommandFailure(impossible)
  const next = beginNext(path)
  const progress = new Progress('restore', 'bytes', bytes, errors)
  const copied = (taken: number): void => {
    interrupted.throwIfAborted()
    progress.add(taken)
  }
  try {
    for (const file of manifest.files) {
      const target = join(next, file.name)
      mkdirSync(dirname(target), { recursive: true })
      await readBackedUp(backup, file, copied, target)
    }
    checkFormatOf(next, manifest)
    const members = manifest.files.map(({ name }) => dirname(name)).filter((name) => name !== '.')
    for (const member of compact ? members : []) {
      interrupted.throwIfAborted()
      await compactFile(join(next, member))
    }
  } catch (fault) {
    removeBuilt(path)
    throw fault
  } finally {
    progress.end()
  }
}

/** Throws when the copied folder is not the one of the manifest. */
function checkFormatOf(next: string, { folder, partitions }: Manifest): void {
  const held = readFormat(next)
  if (held.ok && held.value.partitions === partitions && held.value.folder === folder) {
    return
  }
  throw new CommandFailure(`${basename(formatFile(next))} of the backup is not that of its ${manifestName}`)
}
