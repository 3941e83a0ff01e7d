import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { member } from '../../bench/ngsi.js'

/** Files that take long to open: by a part of their paths, for the main thread, or for all others. */
export interface SlowFiles {
  readonly part: string
  readonly isMain: boolean
}

/**
 * A disk that is slow, inside a broker: `node --import` loads it into every thread. Whoever opens one of some files stands still for
 * as many milliseconds as the file of `RIGEL_SLOW_DISK` says, beside which files they are.
 */
const settings = process.env['RIGEL_SLOW_DISK']
if (settings !== undefined) slowDown(settings)

function slowDown(settings: string): void {
  const { openSync } = fs
  fs.openSync = (path, ...how) => {
    if (path !== settings) sleep(slowness_ms(settings, String(path)))
    return openSync(path, ...how)
  }
  syncBuiltinESMExports()
}

function slowness_ms(settings: string, path: string): number {
  const slow: unknown = JSON.parse(fs.readFileSync(settings, 'utf8'))
  const isSlow = path.includes(String(member(slow, 'part'))) && member(slow, 'isMain') === isMainThread
  return isSlow ? Number(member(slow, 'ms')) : 0
}

function sleep(duration_ms: number): void {
  if (duration_ms > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, duration_ms)
}
