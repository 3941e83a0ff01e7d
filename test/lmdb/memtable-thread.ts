import { parentPort, workerData } from 'node:worker_threads'
import { Memtable } from '../../src/storage/store/memtable.js'
import type { HeldRecord } from '../../src/storage/store/record-cache.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'

export interface MemtableTask {
  readonly memory: SharedArrayBuffer
  readonly names: number
}

/** A text that tells whether it is whole: of which turn and name it is, and as many characters as the turn says. */
function textOf(name: string, turn: number): string {
  return `${turn} ${name} `.padEnd(40 + (turn % 300), String.fromCodePoint(97 + (turn % 26)))
}

export function isWhole(name: string, records: readonly HeldRecord[]): boolean {
  return records.length === 2 && records.every(({ sequence, text }) => text === textOf(name, sequence))
}

if (parentPort !== null && workerData !== null) {
  const { memory, names } = workerData as MemtableTask
  const memtable = new Memtable(memory)
  // Until the thread is ended.
  for (let turn = 1; ; turn += 1) {
    const name = `name ${(turn * 7) % names}`
    const record = { sequence: turn as Sequence, text: textOf(name, turn) }
    const all = new Map([[name, { idName: `id ${name}`, path: '/', records: [record, record] }]])
    if (!memtable.fits(all)) memtable.applied()
    memtable.publish(all)
  }
}
