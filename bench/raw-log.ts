import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createHistogram, performance } from 'node:perf_hooks'
import { LocalLog } from '../src/storage/wal/local-log.js'
import { DiskLogFolder } from '../src/storage/wal/log-folder.js'
import type { LogSequence } from '../src/storage/wal/record-log.js'
import { helpWith } from './helper.js'

/** Appends one after the other, each on disk before the next begins. */
export interface AppendTask {
  /** An empty folder at first; it is the same in every task. */
  readonly path: string
  /** The broker's log, or nothing but a write and an fdatasync. */
  readonly way: 'log' | 'bare'
  readonly record_bytes: number
  readonly warmUp_s: number
  readonly duration_s: number
}

export interface AppendResult {
  readonly rate_per_s: number
  readonly p50_ms: number
  readonly p99_ms: number
}

/** What one appends to: its function puts bytes behind what is there already, and returns when they are on disk. */
type Append = (bytes: Uint8Array) => void

/** The bare file is written from its beginning again when it is full, so that it never grows. */
const bareFile_bytes = 2 ** 26

/** The log is truncated as often as a checkpoint would do it under load. */
const truncateAfter_bytes = 2 ** 25

/** The broker's own log, with all that it does beside writing and flushing: frames, checksums, segments. */
function appendToLog(path: string): Append {
  const failed = (fault: unknown): void => {
    throw fault
  }
  const log = LocalLog.begin(new DiskLogFolder(join(path, 'log')), 0 as LogSequence, { durable: true, failed })
  let appended_bytes = 0
  return (bytes) => {
    const { ok } = log.appendSync(log.last, bytes)
    if (!ok) throw new Error('the log refuses a record')
    appended_bytes += bytes.length
    if (appended_bytes < truncateAfter_bytes) return
    appended_bytes = 0
    log.truncate(log.last)
  }
}

/** The least that makes bytes durable: a file that has all of its blocks already, so that no metadata is written. */
function appendToFile(path: string): Append {
  const descriptor = openSync(join(path, 'bare'), 'w')
  process.once('exit', () => closeSync(descriptor))
  writeSync(descriptor, Buffer.alloc(bareFile_bytes))
  fdatasyncSync(descriptor)
  let offset = 0
  return (bytes) => {
    if (offset + bytes.length > bareFile_bytes) offset = 0
    offset += writeSync(descriptor, bytes, 0, bytes.length, offset)
    fdatasyncSync(descriptor)
  }
}

const made = new Map<AppendTask['way'], Append>()

function measure({ path, way, record_bytes, warmUp_s, duration_s }: AppendTask): AppendResult {
  const append = made.get(way) ?? (way === 'log' ? appendToLog(path) : appendToFile(path))
  made.set(way, append)
  const bytes = Buffer.alloc(record_bytes, 'x')
  repeat(() => append(bytes), warmUp_s)
  return repeat(() => append(bytes), duration_s)
}

function repeat(work: () => void, duration_s: number): AppendResult {
  const waits = createHistogram({ figures: 3, lowest: 1, highest: 600 * 1e9 })
  const started_ms = performance.now()
  let now_ms = started_ms
  while (now_ms - started_ms < duration_s * 1000) {
    work()
    const ended_ms = performance.now()
    waits.record(Math.max(1, Math.round((ended_ms - now_ms) * 1e6)))
    now_ms = ended_ms
  }
  return {
    rate_per_s: waits.count / ((now_ms - started_ms) / 1000),
    p50_ms: waits.percentile(50) / 1e6,
    p99_ms: waits.percentile(99) / 1e6,
  }
}

helpWith<AppendTask, AppendResult>(async (task) => measure(task))
