import { existsSync } from 'node:fs'
import { systemFaultText } from '../faults.js'
import { formatFile } from '../lmdb/folder-format.js'
import { type CommandArguments, CommandFailure, command, commandCodes, WrongCommandLine } from '../offline/command.js'
import { StoredFolder } from '../offline/offline-folder.js'
import { Progress, type ProgressOutput } from '../offline/progress.js'
import { now } from '../time.js'
import { brokerAddressOf, folderHelp, folderValues, notAllTaken, openingOf, positiveInteger } from './command-folder.js'
import { EmptySink } from './empty-sink.js'
import { exportSource } from './export-source.js'
import { FolderSink } from './folder-sink.js'
import { ImportReport } from './import-report.js'
import { runImport } from './import-run.js'
import { InputFile } from './input-file.js'
import type { ItemSource } from './item-source.js'
import { BrokerSink } from './online/broker-sink.js'
import { findDump } from './orion/dump-files.js'
import { orionSource } from './orion/orion-source.js'
import { conflictPolicies, type Sink, type SinkSettings } from './sink.js'

const help = `Usage: rigel import FILE|- [options]
       rigel import --orion DUMP [options]

Reads what 'rigel export' wrote, also compressed by gzip, into a data folder, which is made if it is missing; - is the standard
input. An import that was interrupted goes on with --on-conflict skip.

${folderHelp}
  --orion DUMP          instead of FILE, what mongodump or mongoexport gave of an Orion: a folder, a file or an archive; what
                        cannot be kept is listed
  --db NAME             the name of its database, before that of a tenant (orion)
  --url URL             instead of a folder, a broker that runs, of any make that has NGSIv2
  --token TOKEN         its key, sent as X-Auth-Token
  -partitions N         the number of partitions of a folder that is made
  --on-conflict WHAT    what is done with what is there already: fail (as without the option), skip or replace
  --keep-going          goes on after what cannot be imported
  --dry-run             reads and checks everything, and writes nothing
  --report FILE         lists there what was not taken, or not as a whole; without it the first 100 are shown

The exit code is 0 when everything was imported, 3 when something was not, or not as a whole, 1 when the import did not come to
its end for another reason, and 2 for a wrong command line.
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
    if (files.length !== 1) {
      throw new WrongCommandLine("rigel import needs a file to read, or -, or --orion: 'rigel help import'")
    }
    const settings = settingsOf(given)
    const openSink = sinkOf(given, settings)
    return await imported(sourceOf(given), openSink, settings, given, errors)
  },
})

function settingsOf(given: CommandArguments): SinkSettings {
  const named = given.value('on-conflict') ?? 'fail'
  const policy = conflictPolicies.find((each) => each === named)
  if (policy === undefined)
    throw new WrongCommandLine(`--on-conflict: '${named}' is none of ${conflictPolicies.join(', ')}`)
  // A dump cannot be corrected, so what cannot be imported is listed instead.
  const keepsGoing = given.isOn('keep-going') || given.value('orion') !== undefined
  return { policy, keepsGoing, dry: given.isOn('dry-run') }
}

function sourceOf(given: CommandArguments): ItemSource {
  const file = given.value('orion') ?? given.positionals[0] ?? '-'
  const database = given.value('db') ?? 'orion'
  try {
    if (given.value('orion') !== undefined) return orionSource(findDump(file, database), database, now())
    return exportSource(new InputFile(file), now())
  } catch (fault) {
    if (fault instanceof CommandFailure) throw fault
    throw new CommandFailure(`${file} cannot be read: ${systemFaultText(fault)}`)
  }
}

/** Reads where the import goes to; the function that it returns opens it. Throws `WrongCommandLine`. */
function sinkOf(given: CommandArguments, settings: SinkSettings): () => Promise<Sink> {
  const address = brokerAddressOf(given)
  if (address !== undefined) return async () => new BrokerSink(address, settings)
  const opening = openingOf(given, { partitions: positiveInteger(given, 'partitions') })
  return async () => {
    if (settings.dry && !existsSync(formatFile(opening.path))) return new EmptySink()
    return new FolderSink(await StoredFolder.open(opening), settings)
  }
}

async function imported(
  source: ItemSource,
  openSink: () => Promise<Sink>,
  settings: SinkSettings,
  given: CommandArguments,
  errors: ProgressOutput,
): Promise<number> {
  const report = new ImportReport(given.value('report'))
  const sink = await openSink()
  const total = source.progress()?.total
  const progress = new Progress('import', total === undefined ? 'records' : 'bytes', total, errors)
  try {
    const result = await runImport(source, sink, {
      keepsGoing: settings.keepsGoing,
      report: (notTaken) => report.note(notTaken),
      progressed: (items) => progress.at(source.progress()?.done ?? items),
    })
    progress.end()
    errors.write(report.text(result, settings.dry))
    if (given.value('url') !== undefined) errors.write(`${notSent}\n`)
    return result.notTaken > 0 ? notAllTaken : commandCodes.done
  } finally {
    progress.end()
    await sink.close()
    report.close()
  }
}

const notSent =
  'the broker gives its own dates of creation and modification, ids of subscriptions and registrations, and counts of deliveries'
