import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'

/**
 * A disk that is slow, inside a broker: `node --import` loads it into every thread. Whoever opens a file of a partition's log stands
 * still for as many milliseconds as the file of `RIGEL_SLOW_LOG` says.
 */
const told = process.env['RIGEL_SLOW_LOG']
if (told !== undefined && !isMainThread) slowDown(told)

function slowDown(told: string): void {
  const { openSync } = fs
  fs.openSync = (path, ...how) => {
    if (String(path).includes('partition-0/log/')) sleep(Number(fs.readFileSync(told, 'utf8')))
    return openSync(path, ...how)
  }
  syncBuiltinESMExports()
}

function sleep(duration_ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, duration_ms)
}
