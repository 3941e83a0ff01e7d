import { test } from 'tap'
import { areAll } from '../runs.js'
import { faultyVersions } from './faulty-versions.js'
import { SimulatedCluster } from './simulated-cluster.js'

/** The seed is another one each time. */
const count = Number(process.env['RIGEL_LINKS'] ?? (areAll ? 4000 : 1000))
const first = Number(process.env['RIGEL_LINKS_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

/** Each fault is found in far fewer schedules than that: the rarest one is met in about one of 500. */
const enough = 20_000

test('whatever connections, owners and clocks do, no older update is carried out behind a newer one that was acknowledged', async (t) => {
  t.setTimeout(0)
  t.comment(`RIGEL_LINKS_SEED=${first}`)
  for (let seed = first; seed < first + count; seed += 1) {
    const cluster = new SimulatedCluster(seed, count === 1)
    try {
      cluster.play()
    } catch (fault) {
      t.comment(cluster.story.join('\n'))
      throw new Error(`RIGEL_LINKS_SEED=${seed} RIGEL_LINKS=1`, { cause: fault })
    }
  }
})

for (const [fault, version] of Object.entries(faultyVersions)) {
  test(`the simulation finds it when ${fault}`, async (t) => {
    t.setTimeout(0)
    for (let schedules = 1; schedules <= enough; schedules += 1) {
      try {
        new SimulatedCluster(first + schedules, false, version).play()
      } catch (violation) {
        t.comment(`after ${schedules} schedules: ${violation instanceof Error ? violation.message : violation}`)
        return
      }
    }
    t.fail(`RIGEL_LINKS_SEED=${first}: nothing was found in ${enough} schedules`)
  })
}
