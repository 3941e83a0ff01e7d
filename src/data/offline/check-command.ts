import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathExists } from '../../folder.js'
import { numberOf } from '../../number-of.js'
import type { Manifest } from '../../storage/archive/manifest.js'
import { formatVersion, otherFormat } from '../../storage/folder/folder-format.js'
import { type Finding, Findings } from '../../storage/store/check/findings.js'
import { readBackedUp, readManifest } from './backup-folder.js'
import { CommandFailure, command, WrongCommandLine } from './command.js'
import { checkedFolder, checkedMembers, type FolderCounts, refuseWithoutSpace } from './folder-check.js'
import { Progress, type ProgressOutput } from './progress.js'

const help = `Usage: rigel check -dbPath FOLDER
       rigel check DIR

Checks the data folder of a stopped broker, or the backup in DIR: every page of its files, every record of its logs, every entity
with its index entries, every notification, subscription and registration. A data folder is first brought up to date with its
logs, as at a start; if that cuts an incomplete record off a log, a line says so. The check repairs nothing else.

  -dbPath FOLDER   the data folder

Each finding is a line with file, key and what is wrong. The first findings of each database are listed, and all are counted. The
exit code is 0 if nothing is wrong, 1 if something is, and 2 if the data could not be checked.
`

/** Exit codes of the check. */
const checkCodes = { sound: 0, found: 1, notChecked: 2 } as const

/** `rigel check`: looks for damage in a data folder or in a backup. */
export const checkCommand = command({
  name: 'check',
  help,
  values: ['dbPath'],
  switches: [],
  positionals: ['DIR'],
  failed: 'it could not be checked',
  failureCode: checkCodes.notChecked,
  run: async (given, { output, errors }) => {
    const [backup] = given.positionals
    const dbPath = given.value('dbPath')
    if ((backup === undefined) === (dbPath === undefined)) {
      throw new WrongCommandLine("rigel check needs either -dbPath or the folder of a backup: 'rigel help check'")
    }
    const findings = new Findings((finding) => output.write(`${lineOf(finding)}\n`))
    const begun_ms = performance.now()
    const counts =
      backup === undefined
        ? await checkedFolder(dbPath ?? '', findings, errors)
        : await checkedBackup(backup, findings, errors)
    if (findings.untold > 0) output.write(`${findings.untold} more findings are not shown\n`)
    output.write(`${backup ?? dbPath}: ${summary(findings.count, counts, performance.now() - begun_ms)}\n`)
    return findings.count === 0 ? checkCodes.sound : checkCodes.found
  },
})

function lineOf({ file, key, what }: Finding): string {
  if (key !== undefined) return `${file} ${key}: ${what}`
  return what.startsWith(file) ? what : `${file}: ${what}`
}

function summary(found: number, counts: FolderCounts | undefined, took_ms: number): string {
  const outcome = found === 0 ? 'sound' : numberOf(found, 'finding')
  const time = `in ${(took_ms / 1000).toFixed(1)} s`
  if (counts === undefined) return `${outcome}, the records were not checked, ${time}`
  const { partitions, entities, notices, subscriptions, registrations } = counts
  const checked = [
    `${numberOf(entities, 'entity', 'entities')} in ${numberOf(partitions, 'partition')}`,
    numberOf(notices, 'record of notifications', 'records of notifications'),
    numberOf(subscriptions, 'subscription'),
    numberOf(registrations, 'registration'),
  ]
  return `${outcome}: ${checked.join(', ')}, ${time}`
}

/** The manifest of a backup; undefined if it is not complete, which is a finding. Throws what the system says when it cannot be read. */
function manifestOf(folder: string, findings: Findings): Manifest | undefined {
  try {
    return readManifest(folder)
  } catch (fault) {
    if (!(fault instanceof CommandFailure)) throw fault
    findings.add(folder, undefined, fault.message)
    return undefined
  }
}

/** Compares checksums, then reads the files, which have no logs beside them. */
async function checkedBackup(
  folder: string,
  findings: Findings,
  errors: ProgressOutput,
): Promise<FolderCounts | undefined> {
  if (!pathExists(folder)) throw new CommandFailure(`${folder} is not there`)
  refuseWithoutSpace()
  const manifest = manifestOf(folder, findings)
  if (manifest === undefined) return undefined
  if (manifest.format !== formatVersion) {
    throw new CommandFailure(otherFormat(folder, manifest.format, `Rigel ${manifest.rigel}`))
  }
  const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0)
  const progress = new Progress('checksums', 'bytes', bytes, errors)
  for (const file of manifest.files) {
    await readBackedUp(folder, file, (taken) => progress.add(taken)).catch((fault: unknown) => {
      if (!(fault instanceof CommandFailure)) throw fault
      findings.add(folder, undefined, fault.message)
    })
  }
  progress.end()
  if (findings.count > 0) return undefined
  const names = [...Array.from({ length: manifest.partitions }, (_, number) => `partition-${number}`), 'control']
  const wereThere = names.filter((name) => pathExists(join(folder, name, 'lock.mdb')))
  try {
    return await checkedMembers(folder, manifest, findings, errors)
  } finally {
    // LMDB makes these files when it reads; the backup stays as it was.
    for (const name of names) if (!wereThere.includes(name)) rmSync(join(folder, name, 'lock.mdb'), { force: true })
  }
}
