import { test } from 'tap'
import { runs } from '../runs.js'
import { faultyVersions } from './faulty-versions.js'
import { play } from './simulation.js'

const isLong = process.env['RIGEL_REPLICA'] === 'long'
/** The seed is another one each time. The fault that is hardest to find is found in one of 50 schedules, in 210 when it takes long. */
const count = Number(process.env['RIGEL_REPLICA_SCHEDULES'] ?? (isLong ? 5_000_000 : runs(5000)))
const first = Number(process.env['RIGEL_REPLICA_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

/** Each fault is found in far fewer schedules than that. */
const enough = 20_000

test('replicas apply each record once and in order, one owner shows what it has, what is acknowledged stays', async (t) => {
  t.setTimeout(0)
  t.comment(`RIGEL_REPLICA_SEED=${first}`)
  for (let seed = first; seed < first + count; seed += 1) {
    try {
      play(seed)
    } catch (fault) {
      throw new Error(`RIGEL_REPLICA_SEED=${seed} RIGEL_REPLICA_SCHEDULES=1`, { cause: fault })
    }
  }
})

for (const [fault, version] of Object.entries(faultyVersions)) {
  test(`the simulation finds it when ${fault}`, async (t) => {
    t.setTimeout(0)
    for (let schedules = 1; schedules <= enough; schedules += 1) {
      try {
        play(first + schedules, version)
      } catch (violation) {
        t.comment(`after ${schedules} schedules: ${violation instanceof Error ? violation.message : violation}`)
        return
      }
    }
    t.fail(`RIGEL_REPLICA_SEED=${first}: nothing was found in ${enough} schedules`)
  })
}
