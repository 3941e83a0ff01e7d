import { join } from 'node:path'
import { test } from 'tap'
import { mends, type PlayedMend, withoutMend } from './taken-back.js'

/** Each fault is found in far fewer schedules than that. */
const enough = 300
const steps = 300

for (const mend of mends) {
  test(`the played nodes find it when ${mend.fault}`, async (t) => {
    t.setTimeout(0)
    const found = await foundIn(mend, t.testdir())
    if (found === undefined) t.fail(`nothing was found in ${enough} schedules`)
    else t.comment(`by seed ${found.seed}: ${found.violation}`)
  })
}

async function foundIn(mend: PlayedMend, folder: string) {
  const { first = 1, log } = mend
  const { PlayedLogs, playNodes } = await withoutMend(mend, join(folder, 'program'))
  const logs = new PlayedLogs()
  try {
    for (let seed = first; seed < first + enough; seed += 1) {
      try {
        await playNodes(logs, join(folder, `${seed}`), seed, steps, log)
      } catch (violation) {
        return { seed, violation: violation instanceof Error ? violation.message : violation }
      }
    }
    return undefined
  } finally {
    await logs.close()
  }
}
