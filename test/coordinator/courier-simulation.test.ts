import { test } from 'tap'
import { Random } from '../replica/schedule.js'
import { runs } from '../runs.js'
import { CourierModel, type Mistake } from './courier-model.js'

const schedules = Number(process.env['RIGEL_COURIER_SCHEDULES'] ?? runs(5_000))
const firstSeed = Number(process.env['RIGEL_SEED'] ?? 1)
const steps = 120

function played(seed: number, mistake?: Mistake): CourierModel {
  const model = new CourierModel(new Random(seed), mistake)
  for (let step = 0; step < steps; step += 1) model.step()
  model.finish()
  return model
}

test(`in ${schedules} schedules couriers that die are followed by one that knows what is in force, and nothing else`, async (t) => {
  const sums = { sent: 0, dropped: 0, deaths: 0, repeated: 0, late: 0 }
  for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
    const { wrong, counts } = played(seed)
    if (wrong.length > 0) throw new Error(`RIGEL_SEED=${seed}: ${wrong[0]}`)
    for (const name of ['sent', 'dropped', 'deaths', 'repeated', 'late'] as const) sums[name] += counts[name]
  }
  t.comment(JSON.stringify(sums))
  for (const [name, times] of Object.entries(sums)) t.ok(times > 0, name)
})

for (const mistake of [
  'what nobody waits for stays open',
  'a hold is told again',
  'an expiry is told again',
  'a release has no epoch',
  'a courier begins with nothing',
] as const) {
  test(`the schedules find it when ${mistake}`, async (t) => {
    let seed = 1
    while (seed < 2000 && played(seed, mistake).wrong.length === 0) seed += 1
    t.ok(seed < 2000, `found by seed ${seed}`)
  })
}
