import { systemFaultText } from '../../faults.js'
import { pathExists } from '../../folder.js'
import { formatFile } from '../../storage/folder/folder-format.js'
import { now } from '../../time.js'
import { type CommandArguments, CommandFailure, command, commandCodes, WrongCommandLine } from '../offline/command.js'
import { interruptibly } from '../offline/interruption.js'
import { StoredFolder } from '../offline/offline-folder.js'
import { Progress, type ProgressOutput } from '../offline/progress.js'
import {
  brokerAddressOf,
  folderHelp,
  folderValues,
  notAllTaken,
  openingOf,
  partitionsOf,
  partitionsRange,
} from './command-folder.js'
import { exportSource } from './export-lines.js'
import { FolderSink } from './folder-sink.js'
import { ImportReport } from './import-report.js'
import { runImport } from './import-run.js'
import { InputFile } from './input-file.js'
import { conflictPolicies, type ItemSource, type Sink, type SinkSettings } from './items.js'
import { BrokerSink } from './online/broker-sink.js'
import { findDump } from './orion/dump-files.js'
import { orionSource } from './orion/orion-source.js'

const help = `Usage: rigel import FILE|- [options]
       rigel import --orion DUMP [options]

Imports what 'rigel export' has written, compressed by gzip or not, into a data folder, and makes the folder if it is missing; - is
the standard input. To go on with an import that was interrupted, repeat it with --on-conflict skip.

${folderHelp}
  --orion DUMP          what mongodump or mongoexport has written of an Orion, instead of FILE: a folder, a file or an archive;
                        lines say what cannot be kept
  --db NAME             the name of Orion's database, without that of a tenant (orion)
  --url URL             a running broker with NGSIv2, of any make, instead of a folder
  --token TOKEN         its key, sent as X-Auth-Token
  -partitions N         the number of partitions of a new folder, ${partitionsRange}
  --on-conflict WHAT    what to do with an item that is there already: fail (the default), skip or replace
  --keep-going          goes on after an item that cannot be imported
  --dry-run             reads and checks everything, and writes nothing
  --report FILE         a file for the list of what was left out or changed; without it the first 100 lines are shown

The command reads a file twice, and imports nothing if its end is missing. It can read the standard input only once. So if the end
is missing there, what comes before it has been imported.

The exit code is 0 if everything was imported, 3 if an item or a part of one was left out, 1 if the import failed or stopped at an item,
and 2 for a wrong command line.
`

/** `rigel import`: from a file into the folder of a stopped broker, or into a running one. */
export const importCommand = command({
  name: 'import',
  help,
  values: [...folderValues, 'orion', 'db', 'url', 'token', 'partitions', 'on-conflict', 'report'],
  switches: ['keep-going', 'dry-run'],
  positionals: ['FILE'],
  failed: 'the import did not come to its end',
  run: async (given, { errors }) => {
    const files = [given.positionals[0], given.value('orion')].filter((each) => each !== undefined)
    if (files.length > 1) throw new WrongCommandLine("rigel import takes either a file or --orion: 'rigel help import'")
    if (files.length === 0) {
      throw new WrongCommandLine("rigel import needs a file to read, or -, or --orion: 'rigel help import'")
    }
    const settings = settingsOf(given)
    const openSink = sinkOf(given, settings)
    const source = sourceOf(given)
    return await interruptibly((interrupted) => {
      // It may be silent for long.
      interrupted.addEventListener('abort', () => process.stdin.destroy())
      return imported(source, openSink, settings, given, errors, interrupted)
    })
  },
})

function settingsOf(given: CommandArguments): SinkSettings {
  const named = given.value('on-conflict') ?? 'fail'
  const policy = conflictPolicies.find((each) => each === named)
  if (policy === undefined)
    throw new WrongCommandLine(`--on-conflict: '${named}' is none of ${conflictPolicies.join(', ')}`)
  // A dump cannot be corrected, so items that cannot be imported are listed instead.
  const keepsGoing = given.isOn('keep-going') || given.value('orion') !== undefined
  return { policy, keepsGoing, dry: given.isOn('dry-run') }
}

function sourceOf(given: CommandArguments): ItemSource {
  const file = given.value('orion') ?? given.positionals[0] ?? '-'
  const database = given.value('db') ?? 'orion'
  try {
    return given.value('orion') !== undefined
      ? orionSource(findDump(file, database), database, now())
      : exportSource(new InputFile(file), now())
  } catch (fault) {
    if (fault instanceof CommandFailure) throw fault
    throw new CommandFailure(`${file} cannot be read: ${systemFaultText(fault)}`)
  }
}

type OpenSink = (interrupted: AbortSignal) => Promise<Sink>

/** Reads the destination of the import; the function that it returns opens it. Throws `WrongCommandLine`. */
function sinkOf(given: CommandArguments, settings: SinkSettings): OpenSink {
  const address = brokerAddressOf(given)
  if (address !== undefined) return async (interrupted) => new BrokerSink({ ...address, interrupted }, settings)
  const opening = openingOf(given, { partitions: partitionsOf(given) })
  return async () => {
    if (settings.dry && !pathExists(formatFile(opening.path))) return missingFolder
    return new FolderSink(await StoredFolder.open(opening), settings)
  }
}

/** Stands for a missing data folder where nothing is to be written. */
const missingFolder: Sink = {
  put: async (items) => items.map(() => ({ kind: 'created' })),
  close: async () => {},
}

async function imported(
  source: ItemSource,
  openSink: OpenSink,
  settings: SinkSettings,
  given: CommandArguments,
  errors: ProgressOutput,
  interrupted: AbortSignal,
): Promise<number> {
  const report = new ImportReport(given.value('report'))
  // What is checked anyway, or goes on after faults, needs no look ahead.
  if (!settings.keepsGoing && !settings.dry) await refuseCut(source)
  const sink = await openSink(interrupted)
  const total = source.progress()?.total
  const progress = new Progress('import', total === undefined ? 'records' : 'bytes', total, errors)
  try {
    const result = await runImport(source, sink, {
      keepsGoing: settings.keepsGoing,
      interrupted,
      remark: (remark) => report.note(remark),
      ended: (result) => {
        progress.end()
        errors.write(report.text(result, settings.dry))
      },
      progressed: (items) => progress.at(source.progress()?.done ?? items),
    })
    progress.end()
    errors.write(report.text(result, settings.dry))
    interrupted.throwIfAborted()
    if (given.value('url') !== undefined) errors.write(`${notSent}\n`)
    if (result.hasStopped) return commandCodes.failed
    const { itemLeftOut, partLeftOut, unreadable } = result.remarks
    return itemLeftOut + partLeftOut + unreadable > 0 ? notAllTaken : commandCodes.done
  } finally {
    progress.end()
    await sink.close()
    report.close()
  }
}

async function refuseCut(source: ItemSource): Promise<void> {
  const fault = await source.faultAtEnd?.()
  if (fault !== undefined) {
    throw new CommandFailure(`${fault}; nothing was imported (--keep-going imports what is there)`)
  }
}

const notSent =
  'the broker gives its own dates of creation and modification, ids of subscriptions and registrations, and counts of deliveries'
