import { join } from 'node:path'
import type { Database, RootDatabase } from 'lmdb'
import type { Test } from 'tap'
import { Checkpoints, readCheckpoint } from '../../src/storage/environment/checkpoint.js'
import type { Checkpoint } from '../../src/storage/environment/checkpoint-file.js'
import { openDatabase } from '../../src/storage/environment/environment.js'
import type { Key } from '../../src/storage/records/keys.js'
import { filled } from './given-folder.js'

const records = 2000

/** A folder with an environment that has some records and no checkpoints. */
export async function givenRecords(t: Test): Promise<string> {
  const path = join(t.testdir(), 'environment')
  await filled(path, records)
  return path
}

/** The last checkpoint in a folder that has one. */
export function checkpointIn(path: string): Checkpoint {
  const read = readCheckpoint(path)
  if (!read.ok || read.value === undefined) throw new Error(`${path} has no checkpoint`)
  return read.value
}

/** An environment that LMDB does not flush, with its checkpoints. */
export class UnsyncedEnvironment {
  readonly root: RootDatabase<string, Key>
  readonly records: Database<string, Key>
  readonly checkpoints: Checkpoints
  #turns = 0

  constructor(path: string) {
    this.checkpoints = Checkpoints.open(path, { maxReaders: 64, sizeMax_bytes: 2 ** 28 })
    this.root = this.checkpoints.root
    this.records = openDatabase(this.root, 'records')
  }

  /** Updates a number of the records, at random, in one transaction; after each turn all of them are others. */
  turn(updates = 20): void {
    this.#turns += 1
    this.root.transactionSync(() => {
      for (let n = 0; n < updates; n += 1) {
        const record = Math.floor(Math.random() * records)
        this.records.putSync(
          ['', record],
          `${this.#turns} `.padEnd(record % 100 === 0 ? 9000 : 40 + (record % 200), 'x'),
        )
      }
      this.records.putSync(['last'], String(this.#turns))
    })
  }

  /** All that is stored, as one text. */
  get contents(): string {
    return JSON.stringify([...this.records.getRange({})])
  }

  /** The transactions whose pages LMDB keeps for somebody, the oldest first; ordinary reads are among them. */
  get kept(): readonly number[] {
    const rows = String(this.root.readerList()).match(/^ *\d+ +[0-9a-f]+ +\d+$/gm) ?? []
    return rows.map((row) => Number(row.trim().split(/ +/)[2])).sort((a, b) => a - b)
  }

  get lastTransaction(): number {
    return Number(Object(this.root.getStats()).lastTxnId)
  }

  async close(): Promise<void> {
    this.checkpoints.close()
    await this.root.close()
  }
}
