import { test } from 'tap'
import { runs } from '../runs.js'
import { type Chance, ChangeModel, type Mistake } from './change-model.js'

const schedules = Number(process.env['RIGEL_CHANGE_SCHEDULES'] ?? runs(20_000))
const firstSeed = Number(process.env['RIGEL_SEED'] ?? 1)
const steps = 300

/** Numbers by chance, the same ones for the same seed. */
function chanceOf(seed: number): Chance {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

function played(seed: number, mistake?: Mistake): ChangeModel {
  const model = new ChangeModel(chanceOf(seed), mistake)
  for (let step = 0; step < steps; step += 1) model.step()
  model.finish()
  return model
}

test(`in ${schedules} schedules of three nodes a change is in force with its response, or never was`, async (t) => {
  const sums = { success: 0, refused: 0, withdrawnBySuccessor: 0, sent: 0 }
  for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
    const { wrong, results } = played(seed)
    if (wrong.length > 0) throw new Error(`RIGEL_SEED=${seed}: ${wrong[0]}`)
    for (const name of ['success', 'refused', 'withdrawnBySuccessor', 'sent'] as const) sums[name] += results[name]
  }
  t.comment(JSON.stringify(sums))
  for (const [name, times] of Object.entries(sums)) t.ok(times > schedules, name)
})

for (const mistake of ['no round', 'no hold', 'nothing is void', 'successor forgets'] as const) {
  test(`the schedules find what is wrong with: ${mistake}`, async (t) => {
    let seed = 1
    while (seed < 1000 && played(seed, mistake).wrong.length === 0) seed += 1
    t.ok(seed < 1000, `found by seed ${seed}`)
  })
}
