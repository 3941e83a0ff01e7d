import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import { isLong } from '../faults/run.js'
import { CuttingProxy } from '../node-link/cutting-proxy.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { attributeText, freshName } from './given.js'
import { nodeFlags, setLevel, tokenFlags } from './given-nodes.js'

const tanks = Array.from({ length: 12 }, (_, number) => `Tank${number}`)
const breaks = isLong ? 100 : 10

/** What the clients have met. */
interface Met {
  acknowledged: number
  refused: number
  readonly older: string[]
}

/** How long a device waits when a value was acknowledged behind one that was refused: what is late has come by then. */
const pause_ms = 500

/** A client that sends 1, 2, 3 …, each when the one before is answered, at the other node when that was refused, and reads between. */
async function write(
  [first, second]: readonly [RunningBroker, RunningBroker],
  id: string,
  met: Met,
  isOver: () => boolean,
): Promise<void> {
  let acknowledged = 0
  let wasRefused = false
  for (let value = 1; !isOver(); value += 1) {
    const isDone = await setLevel(wasRefused ? second : first, id, `${value}`)
    if (isDone) {
      acknowledged = value
      met.acknowledged += 1
      if (wasRefused) await delay(pause_ms)
    } else met.refused += 1
    wasRefused = !isDone
    const shown = await attributeText(second, id, 'level')
    if (shown !== undefined && Number(shown) < acknowledged) {
      met.older.push(`${id} = ${shown}, and ${acknowledged} was acknowledged`)
    }
  }
}

test('while connections between nodes break under load no older value is shown after a newer one was acknowledged', {
  skip: noEtcd,
}, async (t) => {
  t.setTimeout(300_000 + breaks * 5_000)
  const folder = t.testdir()
  const etcd = await EtcdMembers.start(t, 1)
  const cluster = freshName()
  const port = await freePort()
  const proxy = await CuttingProxy.before(t, { port })
  const start = (name: string, place?: { port: number; advertised: string }): Promise<RunningBroker> => {
    const flags = [
      ...nodeFlags(etcd, cluster, name, { ...place, httpThreads: 2 }),
      ...tokenFlags(folder),
      '-logLevel',
      'INFO',
    ]
    return RunningBroker.startOn(t, `${folder}/data-${name}`, flags)
  }
  const b = await start('b', { port, advertised: `127.0.0.1:${proxy.address('b').port}` })
  // Updates that come at the first node go to the second one, which owns everything until the partitions are shared.
  const nodes = [await start('a'), b] as const
  const met: Met = { acknowledged: 0, refused: 0, older: [] }
  let isOver = false
  const writing = tanks.map((id) => write(nodes, id, met, () => isOver))
  await until(() => met.acknowledged > tanks.length, 'the clients are answered')
  for (let count = 0; count < breaks; count += 1) {
    proxy.hold()
    await until(() => proxy.held > 0, 'something is under way')
    proxy.cutClients()
    await delay(200)
    proxy.release()
    const { acknowledged } = met
    await until(() => met.acknowledged > acknowledged + 2 * tanks.length, 'the clients are answered again')
  }
  isOver = true
  await Promise.all(writing)
  t.same(met.older, [])
  t.ok(met.refused > 0, `${met.refused} updates were refused, ${met.acknowledged} acknowledged`)
  for (const node of nodes) await node.endsInOrder(t)
})
