import { deepEqual } from 'node:assert/strict'
import { existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { NoticeNumber } from '../../src/model/subscription/notice.js'
import { decideTurn } from '../../src/partition/turn/decide.js'
import { commitTurn, endTurn, type TurnParts } from '../../src/partition/turn/turn.js'
import { restoreCheckpoint } from '../../src/storage/environment/checkpoint.js'
import { type Environment, openEnvironment } from '../../src/storage/environment/environment.js'
import { damageOf } from '../../src/storage/environment/file-check.js'
import { decodeEntity } from '../../src/storage/records/record.js'
import { Findings } from '../../src/storage/store/check/findings.js'
import { checkLog } from '../../src/storage/store/check/log-check.js'
import { checkOutbox } from '../../src/storage/store/check/outbox-check.js'
import { PartitionCheck } from '../../src/storage/store/check/partition-check.js'
import { Memtable } from '../../src/storage/store/memtable.js'
import { noticeAt, noticesAfter } from '../../src/storage/store/outbox-reader.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import { at, command, given, matcher, noWords, storeSettings, type, versions } from '../given.js'
import { notice, subscriptionId } from '../given-subscription.js'
import { numbersOf } from './turn-numbers.js'

/**
 * A process that checks the partition in a folder, says `turn N` with the last turn that it has, and then commits turns, of which LMDB has
 * some later, until it is killed. It says `B` when a transaction of LMDB begins.
 */
export const killedProcess = fileURLToPath(import.meta.url)

/** What a killed process had done. */
export interface Marks {
  /** The last turn whose commit has returned. */
  readonly done: number
  /** Whether a transaction of LMDB was begun and not ended. */
  readonly isWriting: boolean
}

const names = 3000
const receiver = subscriptionId()

/** What a partition holds after some turns, each of which is the same each time that it is taken. */
class Model {
  turn = 0
  /** The turn of the last update, by the name of an entity. */
  readonly entities = new Map<string, number>()
  /** The turns in which they were made, by the numbers of notices. */
  readonly notices = new Map<NoticeNumber, number>()
  #lastNotice = 0

  /** Takes the next turn: which entities it updates and removes, how many notices it makes, and which ones have left. */
  next(): {
    readonly updated: ReadonlyMap<string, boolean>
    readonly made: number
    readonly gone: readonly NoticeNumber[]
  } {
    this.turn += 1
    const next = numbersOf(this.turn)
    const updated = new Map<string, boolean>()
    for (let left = 1 + (next() % 12); left > 0; left -= 1) updated.set(`E${next() % names}`, next() % 8 > 0)
    for (const [name, isKept] of updated) {
      if (isKept) this.entities.set(name, this.turn)
      else this.entities.delete(name)
    }
    const waiting = [...this.notices.keys()]
    const gone = new Set<NoticeNumber>()
    const most = waiting.length > 50 ? 6 : 2
    for (let left = next() % (most + 1); left > 0 && waiting.length > 0; left -= 1) {
      gone.add(waiting[next() % waiting.length] as NoticeNumber)
    }
    for (const number of gone) this.notices.delete(number)
    const made = next() % 3
    for (let left = made; left > 0; left -= 1) {
      this.#lastNotice += 1
      this.notices.set(this.#lastNotice, this.turn)
    }
    return { updated, made, gone: [...gone] }
  }
}

/** What the process says of itself, in a file, which the system keeps when the process is killed. */
class MarkFile {
  readonly #file: number

  constructor(folder: string) {
    this.#file = openSync(markPath(folder), 'w')
    this.write(true)
  }

  done(turn: number): void {
    writeSync(this.#file, String(turn).padStart(9), 1)
  }

  write(isOver: boolean): void {
    writeSync(this.#file, isOver ? '-' : 'B', 0)
  }
}

function markPath(folder: string): string {
  return join(folder, 'marks')
}

export function marksIn(folder: string): Marks {
  const text = readFileSync(markPath(folder), 'latin1')
  return { done: Number(text.slice(1)), isWriting: text[0] === 'B' }
}

/** Throws what is wrong with the files of a partition, once they are as the start of a broker makes them; gives its last turn. */
function checkedFiles(path: string, findings: Findings): void {
  const restored = restoreCheckpoint(path)
  if (!restored.ok) throw new Error(restored.error.reason)
  const damage = damageOf(join(path, 'data.mdb'), 2 ** 40)
  if (damage !== undefined) throw new Error(damage.what)
  checkLog(path, 'partition', findings)
}

/** The last turn that a partition has, all of which it has to have, and nothing of another one. */
function lastTurn(environment: Environment, path: string, findings: Findings): Model {
  new PartitionCheck({ environment, path, partition: 0, partitions: 1, findings, checked: () => {} }).run()
  checkOutbox(environment, path, findings)
  const held = new Map<string, number>()
  for (const { value } of environment.records.getRange({})) {
    const { id: name, attributes } = decodeEntity(value)
    held.set(name, Number(attributes[0]?.value))
  }
  const model = new Model()
  while (model.turn < (held.get(lastEntity) ?? 0)) model.next()
  held.delete(lastEntity)
  const notices = noticesAfter(environment, 0, Number.POSITIVE_INFINITY)
  deepEqual(held, model.entities, `entities after turn ${model.turn}`)
  const bodies = notices.map(({ number }) => [number, noticeAt(environment, number)?.body] as const)
  const expected = Array.from(model.notices, ([number, turn]) => [number, String(turn)] as const)
  deepEqual(bodies, expected, `notices after turn ${model.turn}`)
  return model
}

const lastEntity = 'last'

function takeTurn(parts: TurnParts, model: Model): void {
  const { updated, made, gone } = model.next()
  const { turn } = model
  const commands = [...updated, [lastEntity, true] as const].map(([name, isKept], place) =>
    command(isKept ? 'APPEND' : 'DELETE', name, isKept ? [given('turn', String(turn))] : [], {
      ...{ type: type('T'), sequence: (turn * 32 + place) as Sequence, time: at(1_700_000_000_000 + turn) },
    }),
  )
  const notices = Array.from({ length: made }, () => notice({ subscription: receiver, body: String(turn) }))
  const acks = gone.length === 0 ? [] : [{ subscription: receiver, gone, stats: undefined }]
  commitTurn(parts, { ...decideTurn(parts, commands).changes, notices, acks })
  endTurn(parts)
}

/** Checks what is there and goes on behind it. */
async function run(folder: string): Promise<never> {
  const path = join(folder, 'partition')
  const findings = new Findings(({ what }) => {
    throw new Error(what)
  })
  if (existsSync(join(path, 'data.mdb'))) checkedFiles(path, findings)
  const marks = new MarkFile(folder)
  const seen = versions()
  // What a process has written stays when it is killed, whether it is flushed or not.
  const store = new PartitionStore(
    path,
    { ...storeSettings, durable: false },
    {
      deferral: { memtable: new Memtable(Memtable.memory(2 ** 20)), versions: seen },
      writing: {
        begun: () => {
          marks.write(false)
          writeSync(process.stdout.fd, 'B')
        },
        goesOn: () => {},
        recovers: () => {},
        ended: () => marks.write(true),
      },
    },
  )
  const environment = openEnvironment(path, { ...storeSettings, readOnly: true })
  const model = lastTurn(environment, path, findings)
  await environment.root.close()
  marks.done(model.turn)
  writeSync(process.stdout.fd, `turn ${model.turn}\n`)
  const parts = { store, interpret: noWords, matcher: matcher(), versions: seen }
  for (;;) {
    for (let left = 20 + Math.floor(Math.random() * 300); left > 0; left -= 1) {
      takeTurn(parts, model)
      marks.done(model.turn)
    }
    store.applyPublished()
    await nextTurn()
  }
}

const [, entry, folder = ''] = process.argv
if (entry === killedProcess) await run(folder)
