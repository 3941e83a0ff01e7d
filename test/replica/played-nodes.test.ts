import { join } from 'node:path'
import { test } from 'tap'
import { runs } from '../runs.js'
import { PlayedLogs } from './played-logs.js'
import { playNodes } from './played-nodes.js'

const first = Number(process.env['RIGEL_PLAYED_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const schedules = Number(process.env['RIGEL_PLAYED_SCHEDULES'] ?? runs(20))
const steps = 300

test('three nodes that share a partition answer as a broker alone would', async (t) => {
  const folder = t.testdir()
  const logs = new PlayedLogs()
  t.teardown(() => logs.close())
  t.comment(`RIGEL_PLAYED_SEED=${first}`)
  for (let seed = first; seed < first + schedules; seed += 1) {
    try {
      await playNodes(logs, join(folder, `${seed}`), seed, steps, (replica) => replica)
    } catch (fault) {
      throw new Error(`RIGEL_PLAYED_SEED=${seed} RIGEL_PLAYED_SCHEDULES=1`, { cause: fault })
    }
  }
})

test('it is found when an owner answers what changes nothing without a look at its read lease', async (t) => {
  const folder = t.testdir()
  const logs = new PlayedLogs()
  t.teardown(() => logs.close())
  for (let seed = 1; seed <= 200; seed += 1) {
    try {
      await playNodes(logs, join(folder, `${seed}`), seed, steps, (replica) => ({
        ...{ logged: () => replica.logged(), turned: () => replica.turned() },
        ...{ fenced: () => replica.fenced(), givenUp: () => replica.givenUp(), isConfirmed: () => true },
        get isOwner() {
          return replica.isOwner
        },
      }))
    } catch (violation) {
      t.comment(`after ${seed} schedules: ${violation instanceof Error ? violation.message : violation}`)
      return
    }
  }
  t.fail('nothing was found')
})
