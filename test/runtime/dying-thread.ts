import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread, workerData } from 'node:worker_threads'
import { member } from '../../bench/ngsi.js'

/**
 * A thread that dies while the broker starts: `node --import` loads this into every thread. `RIGEL_DYING_THREAD` says which one it is,
 * and how it dies.
 */
const dying = isMainThread ? undefined : process.env['RIGEL_DYING_THREAD']
const isStartWatch = member(workerData, 'silence_s') !== undefined
if (dying === 'watch throws' && isStartWatch) throw new Error('told to die')
if (dying === 'watch runs out of memory' && isStartWatch) exhaust()
if (dying === 'partition exits') whenItOpens(() => process.exit(3))
if (dying === 'partition runs out of memory') whenItOpens(exhaust)

function whenItOpens(die: () => void): void {
  const { openSync } = fs
  fs.openSync = (path, ...how) => {
    if (String(path).includes('partition-1/')) die()
    return openSync(path, ...how)
  }
  syncBuiltinESMExports()
}

function exhaust(): never {
  for (const held: number[][] = []; ; ) held.push(new Array(1e6).fill(held.length + 0.5))
}
