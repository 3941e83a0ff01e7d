import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Kind, kindOf, type Unit, unitsOf } from './plan.js'
import { briefLines, failureLines, roomLine, summaryLine } from './report.js'
import { sharedServices } from './shared-services.js'
import { runUnit, streams, type UnitResult } from './unit-run.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const tests = fileURLToPath(new URL('..', import.meta.url))

/**
 * How many units run at the same time, on two processors: both kinds wait for clocks and for the disk, the system tests also for leases,
 * and with fewer units at a time the processors are idle meanwhile.
 */
const jobs: Readonly<Record<Kind, number>> = { quick: 4, system: 5 }
/** How long a file may take when all run, also a quick one with all runs of its properties; who names files may want their long forms. */
const limits_ms: Readonly<Record<Kind, number>> = { quick: 240_000, system: 600_000 }

const durationsFile = join('.tap', 'durations.json')

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

function refuse(reason: string): never {
  print(reason)
  process.exit(2)
}

/** The compiled files with tests, from the root of the project, in their order. */
function allFiles(): readonly string[] {
  return readdirSync(tests, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && kindOf(entry.name) !== undefined)
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
}

/** Whether a file is run: the system tests have all runs of the properties, of which the quick ones have a tenth. */
function belongsTo(file: string, kind: Kind): boolean {
  return kindOf(file) === kind || (kind === 'system' && readFileSync(file, 'utf8').includes("/runs.js'"))
}

/**
 * The files that a word names, without its folder `test` and its ending: a file of either kind, or those of a room, of the kind that is
 * run if it has any.
 */
function named(files: readonly string[], word: string, kind: Kind): readonly string[] {
  const wanted = word.replace(/^(dist\/)?test\//, '').replace(/(\.system)?\.test\.[jt]s$|\/$/, '')
  const nameOf = (file: string) => file.replace(/^[^/]+\/test\//, '').replace(/(\.system)?\.test\.js$/, '')
  const same = files.filter((file) => nameOf(file) === wanted)
  if (same.length > 0) return same
  const ofRoom = files.filter((file) => nameOf(file).startsWith(`${wanted}/`))
  const ofKind = ofRoom.filter((file) => belongsTo(file, kind))
  return ofKind.length > 0 ? ofKind : ofRoom
}

function readDurations(): Map<string, number> {
  try {
    const read: unknown = JSON.parse(readFileSync(durationsFile, 'utf8'))
    if (typeof read !== 'object' || read === null) return new Map()
    return new Map(Object.entries(read).filter((each): each is [string, number] => typeof each[1] === 'number'))
  } catch {
    // They only decide which unit begins first.
    return new Map()
  }
}

async function runAll(units: readonly Unit[]): Promise<readonly UnitResult[]> {
  const results: UnitResult[] = []
  const stopping = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort(signal))
  const waiting = [...units]
  const takeUnits = async (): Promise<void> => {
    for (let unit = waiting.shift(); unit !== undefined; unit = waiting.shift()) {
      const limit_ms = names.length > 0 ? 0 : limits_ms[kind]
      const result = await runUnit(unit, limit_ms, stopping.signal)
      if (stopping.signal.aborted) return
      results.push(result)
      const { room } = unit
      const ofRoom = results.filter((each) => each.unit.room === room)
      if (ofRoom.length === units.filter((each) => each.room === room).length) print(roomLine(room, ofRoom))
    }
  }
  await Promise.all(Array.from({ length: jobs[kind] }, takeUnits))
  if (stopping.signal.aborted) {
    print('Stopped: what follows is of the rooms and files that had ended.')
    process.exitCode = 130
  }
  return results
}

const start_ms = performance.now()
const words = process.argv.slice(2)
const unknown = words.find((word) => word.startsWith('-') && word !== '--system')
if (unknown !== undefined) refuse(`There is no option ${unknown}: only --system, which runs the system tests.`)
const kind: Kind = words.includes('--system') ? 'system' : 'quick'
if (kind === 'system') process.env['RIGEL_RUNS'] ??= 'all'
const names = words.filter((word) => word !== '--system')
process.chdir(root)
const all = allFiles()
const filesOf = new Map(names.map((name) => [name, named(all, name, kind)]))
for (const [name, found] of filesOf) {
  if (found.length === 0)
    refuse(`No test file or room is called ${name}; say for example "context" or "context/apply".`)
}
const files =
  names.length > 0 ? [...new Set([...filesOf.values()].flat())] : all.filter((file) => belongsTo(file, kind))

const durations = readDurations()
const endServices = await sharedServices(files)
const results = await runAll(unitsOf(files, durations)).finally(endServices)
for (const { unit, duration_ms } of results) durations.set(unit.name, Math.round(duration_ms))
mkdirSync(streams, { recursive: true })
writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(durations), null, 1)}\n`)
for (const line of [...failureLines(results), ...briefLines(results)]) print(line)
print(summaryLine(results, performance.now() - start_ms))
if (results.some(({ failures }) => failures.length > 0)) process.exitCode ??= 1
