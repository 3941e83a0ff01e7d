import { test } from 'tap'
import { SimulatedCluster } from './simulated-cluster.js'

/*
 * That this test can fail was shown by changing what it plays. Within 600 schedules it finds: batches that are not bound to a tenure
 * (38), or not to the refusals before; an update that is answered at once when its connection breaks (7), or when a way to any
 * node is opened; one that is late and carried out; a connection that is opened while an earlier one has batches under way, or does
 * not refuse what the earlier one brings; what comes back in another order, or is sent again although it may be carried out; a way
 * that is left too early; an answer that nothing gives. A tenure that is not bound to its claim takes 16,000.
 */

const count = Number(process.env['RIGEL_LINKS'] ?? 20_000)
const first = Number(process.env['RIGEL_LINKS_SEED'] ?? Math.floor(Math.random() * 2 ** 31))

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
