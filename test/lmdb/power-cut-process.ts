import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Database, RootDatabase } from 'lmdb'
import { Checkpoints, restoreCheckpoint } from '../../src/storage/environment/checkpoint.js'
import { openDatabase, openRoot } from '../../src/storage/environment/environment.js'
import type { Key } from '../../src/storage/records/keys.js'
import { numbersOf } from './turn-numbers.js'

/** Processes that may lose their disk, or meet a damaged one: `fill`, `load` and `check`, in the folder that is named next. */
export const powerCutProcess = fileURLToPath(import.meta.url)

const entities = 100_000

/** Said by `load`. */
export type LoadMessage =
  /** Turns are being committed, from this one on. */
  | { readonly kind: 'loading'; readonly turn: number }
  /** A checkpoint after this turn is durable. */
  | { readonly kind: 'durable'; readonly turn: number }

interface Stored {
  readonly root: RootDatabase<string, Key>
  /** [entity] to the turn of its last update, with a filling. */
  readonly records: Database<string, Key>
  /** [turn of the last update, entity] to nothing. */
  readonly turns: Database<string, Key>
  /** The last turn. */
  readonly facts: Database<string, Key>
}

const settings = { maxReaders: 64, sizeMax_bytes: 2 ** 30 }

function databasesOf(root: Stored['root']): Stored {
  const database = (name: string): Database<string, Key> => openDatabase(root, name)
  return { root, records: database('records'), turns: database('turns'), facts: database('facts') }
}

/** The entities that a turn changes: the same each time that it is asked for. About one in ten changes is a removal. */
function* changesOf(turn: number): Generator<{ readonly entity: number; readonly removes: boolean }> {
  const next = numbersOf(turn)
  for (let left = 1 + (next() % 20); left > 0; left -= 1) {
    yield { entity: next() % entities, removes: next() % 10 === 0 }
  }
}

/** The turn of each entity's last update, after a turn; `gone` for those that were removed. */
function modelAfter(last: number): Int32Array {
  const model = new Int32Array(entities)
  for (let turn = 1; turn <= last; turn += 1) {
    for (const { entity, removes } of changesOf(turn)) model[entity] = removes ? gone : turn
  }
  return model
}

const gone = -1

/** Small, but for a few that take pages of their own. */
function recordOf(entity: number, turn: number): string {
  return `${turn} `.padEnd(entity % 1000 === 7 ? 9000 : 40 + (entity % 60), 'x')
}

function takeTurn({ root, records, turns, facts }: Stored, model: Int32Array, turn: number): void {
  root.transactionSync(() => {
    for (const { entity, removes } of changesOf(turn)) {
      const before = model[entity] ?? gone
      if (before !== gone) turns.removeSync([before, entity])
      model[entity] = removes ? gone : turn
      if (removes) records.removeSync([entity])
      else {
        records.putSync([entity], recordOf(entity, turn))
        turns.putSync([turn, entity], '')
      }
    }
    facts.putSync(['turn'], String(turn))
  })
}

/** All entities as they are before the first turn, with a checkpoint. */
async function fill(path: string): Promise<void> {
  const checkpoints = Checkpoints.open(path, settings)
  const { root, records, turns, facts } = databasesOf(checkpoints.root)
  root.transactionSync(() => {
    for (let entity = 0; entity < entities; entity += 1) {
      records.putSync([entity], recordOf(entity, 0))
      turns.putSync([0, entity], '')
    }
    facts.putSync(['turn'], '0')
  })
  checkpoints.takeSync('0')
  checkpoints.close()
  await root.close()
}

/** Goes on from the checkpoint and takes others all the time, until it is killed. */
async function load(path: string): Promise<void> {
  const restored = restoreCheckpoint(path)
  if (!restored.ok) throw new Error(restored.error.reason)
  const last = Number(restored.value?.note)
  const model = modelAfter(last)
  const checkpoints = Checkpoints.open(path, settings)
  const { root, ...databases } = databasesOf(checkpoints.root)
  checkpoints.takeSync(String(last))
  void writeBack(path)
  report({ kind: 'loading', turn: last + 1 })
  for (let turn = last + 1; ; turn += 1) {
    takeTurn({ root, ...databases }, model, turn)
    if (!checkpoints.isUnderWay && Math.random() < 0.1) {
      void checkpoints.take(String(turn)).then(() => report({ kind: 'durable', turn }))
    }
    await delay(1)
  }
}

/** Has the data written at moments that have nothing to do with checkpoints, as the system does it, but more often. */
async function writeBack(path: string): Promise<never> {
  const data = await open(join(path, 'data.mdb'))
  for (;;) {
    await delay(Math.random() * 40)
    await data.datasync()
  }
}

/** Throws what is wrong with the contents; they have to be those after the turn that they name. */
async function check(path: string): Promise<void> {
  const { root, records, turns, facts } = databasesOf(openRoot(path, { ...settings, readOnly: true }))
  const turn = Number(facts.get(['turn']))
  const model = modelAfter(turn)
  const expected = model.reduce((count, last) => (last === gone ? count : count + 1), 0)
  let count = 0
  for (const { key, value } of records.getRange({})) {
    const entity = Number(Array.isArray(key) ? key[0] : key)
    if (value !== recordOf(entity, model[entity] ?? gone)) throw new Error(`entity ${entity} is wrong at turn ${turn}`)
    count += 1
  }
  if (count !== expected) throw new Error(`${count} of ${expected} entities at turn ${turn}`)
  count = 0
  for (const { key } of turns.getRange({})) {
    const [last, entity] = Array.isArray(key) ? key.map(Number) : []
    if (entity === undefined || model[entity] !== last) throw new Error(`index of entity ${entity} at turn ${turn}`)
    count += 1
  }
  if (count !== expected) throw new Error(`${count} of ${expected} index entries at turn ${turn}`)
  process.stdout.write(`turn ${turn}`)
  await root.close()
}

function report(message: LoadMessage): void {
  process.send?.(message)
}

const [, entry, role, folder = ''] = process.argv
if (entry === powerCutProcess) {
  const roles: Readonly<Record<string, (path: string) => Promise<void>>> = { fill, load, check }
  await roles[role ?? '']?.(folder)
}
