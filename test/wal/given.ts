import type { Test } from 'tap'
import { LocalLog, type LocalLogSettings } from '../../src/storage/wal/local-log.js'
import { DiskLogFolder, type LogFile, type LogFolder } from '../../src/storage/wal/log-folder.js'
import type { LogPosition } from '../../src/storage/wal/log-scan.js'
import type { Appended, LogSequence } from '../../src/storage/wal/record-log.js'
import { Random } from '../fuzz/random.js'
import { SimulatedDisk } from './simulated-disk.js'

/** A log on disk whose segments are small. */
export const small: LocalLogSettings = { durable: true, failed: () => {}, segment_bytes: 4096 }

/** The folders that every rule of a log holds in. */
export const folders: Readonly<Record<string, (t: Test) => LogFolder>> = {
  'a folder of the file system': (t) => new DiskLogFolder(`${t.testdir()}/log`),
  'a simulated disk': () => new SimulatedDisk(new Random(1)),
}

/** The folder of a log that has the space of its files and no more, once `fill` was called. */
export function fullLogFolder(): { readonly folder: LogFolder; readonly fill: () => void } {
  const folder = new SimulatedDisk(new Random(1))
  const fill = (): void => {
    folder.outcome = (event) => (event.kind === 'write' && event.grows ? 'ENOSPC' : 'works')
  }
  return { folder, fill }
}

/** The number of a record. */
export function nth(sequence: number): LogSequence {
  return sequence as LogSequence
}

/** Begins a log behind nothing. */
export function begun(folder: LogFolder, settings: LocalLogSettings = small): LocalLog {
  return LocalLog.begin(folder, nth(0), settings)
}

/** Opens a log that has to be sound. */
export function reopened(folder: LogFolder, from: LogPosition, settings: LocalLogSettings = small): LocalLog {
  const opened = LocalLog.open(folder, from, settings)
  if (!opened.ok) throw new Error(JSON.stringify(opened.error))
  return opened.value.log
}

/** Appends texts, each of which has to be taken. */
export function append(log: LocalLog, ...texts: readonly string[]): void {
  for (const text of texts) {
    const appended = log.appendSync(log.last, Buffer.from(text))
    if (!appended.ok) throw new Error(appended.error.kind)
  }
}

/** Appends a text durably without blocking the thread. */
export async function appendInPool(folder: LogFolder, log: LocalLog, text: string): Promise<Appended> {
  const appended = log.append(log.last, Buffer.from(text))
  if (folder instanceof SimulatedDisk) folder.endFlushes()
  return await appended
}

/** What a log holds behind a record. */
export function textsIn(log: LocalLog, after = 0): readonly string[] {
  return Array.from(log.records(nth(after)), ({ bytes }) => Buffer.from(bytes).toString())
}

/** What the opening of the first segment takes. */
export const opening_bytes = 32

/** A text so long that two of them fill a segment of `small`, also the first one. */
export function half(letter: string): string {
  return letter.repeat(1984)
}

/** Changes one byte of a file. */
export function damageByte(folder: LogFolder, name: string, offset: number): void {
  const file = folder.open(name)
  const [byte = 0] = readFrom(file, offset, 1)
  file.write(offset, Buffer.of(byte ^ 0xff))
  file.flush()
  file.close()
}

/** Writes bytes over a place of the first segment. */
export function written(folder: LogFolder, offset: number, bytes: Uint8Array): void {
  const file = folder.open('0000000000000001.log')
  file.write(offset, bytes)
  file.flush()
  file.close()
}

/** Leaves a part of a file, as it is on disk, and nothing else. */
export function cutFile(folder: LogFolder, name: string, part: number): void {
  const file = folder.open(name)
  const left = readFrom(file, 0, Math.floor(file.size_bytes * part))
  file.close()
  folder.remove(name)
  const cut = folder.open(name)
  cut.write(0, left)
  cut.flush()
  cut.close()
}

/** At most so many bytes of a file. */
export function readFrom(file: LogFile, offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, file.read(offset, bytes))
}
