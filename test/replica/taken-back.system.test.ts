import { join } from 'node:path'
import { test } from 'tap'
import { type Mend, mends, withoutMend } from './taken-back.js'

/** Each fault is found in far fewer schedules than that. */
const enough = 300
const steps = 300

for (const mend of mends) {
  test(`the played nodes find it when ${mend.fault}`, async (t) => {
    t.setTimeout(0)
    const found = await foundIn(mend, t.testdir())
    if (found === undefined) t.fail(`nothing was found in ${enough} schedules`)
    else t.comment(`after ${found.schedules} schedules: ${found.violation}`)
  })
}

async function foundIn(mend: Mend, folder: string) {
  const { PlayedLogs, playNodes } = await withoutMend(mend, join(folder, 'program'))
  const logs = new PlayedLogs()
  try {
    for (let schedules = 1; schedules <= enough; schedules += 1) {
      try {
        await playNodes(logs, join(folder, `${schedules}`), schedules, steps)
      } catch (violation) {
        return { schedules, violation: violation instanceof Error ? violation.message : violation }
      }
    }
    return undefined
  } finally {
    await logs.close()
  }
}
