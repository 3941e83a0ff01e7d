import { join } from 'node:path'
import { type Test, test } from 'tap'
import type { LogName } from '../../src/storage/etcd/engine.js'
import { areAll } from '../runs.js'
import { PlayedLogs } from './played-logs.js'
import { playNodes } from './played-nodes.js'

// The quick tests play the same schedules each time, the system tests others, unless some are asked for.
const first = Number(process.env['RIGEL_PLAYED_SEED'] ?? (areAll ? Math.floor(Math.random() * 2 ** 31) : 1))
const schedules = Number(process.env['RIGEL_PLAYED_SCHEDULES'] ?? (areAll ? 12 : 4))
const steps = 300

test('three nodes that share a partition answer as a broker alone would', async (t) => {
  await played(t, 0)
})

test('what the coordinator keeps is the same on three nodes, whichever of them coordinates', async (t) => {
  await played(t, 'control')
})

async function played(t: Test, log: LogName): Promise<void> {
  const folder = t.testdir()
  const logs = new PlayedLogs()
  t.teardown(() => logs.close())
  t.comment(`RIGEL_PLAYED_SEED=${first}`)
  for (let seed = first; seed < first + schedules; seed += 1) {
    try {
      await playNodes(logs, join(folder, `${seed}`), seed, steps, log)
    } catch (fault) {
      throw new Error(`RIGEL_PLAYED_SEED=${seed} RIGEL_PLAYED_SCHEDULES=1`, { cause: fault })
    }
  }
}
