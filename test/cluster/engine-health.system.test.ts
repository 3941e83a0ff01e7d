import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import type { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { givenNodes, setLevel, tokenFlags } from './given-nodes.js'

const quota_bytes = 16 * 2 ** 20

/** Status and reason of `/health/ready`. */
async function readiness(broker: RunningBroker): Promise<readonly [number, unknown]> {
  const { status, json } = await broker.send('GET', '/health/ready')
  return [status, member(json, 'reason')]
}

async function isReady(broker: RunningBroker): Promise<boolean> {
  return (await readiness(broker))[0] === 200
}

/** Resolves when a broker says that it is not ready, for this reason. */
function notReady(broker: RunningBroker, reason: string): Promise<true> {
  return until(async () => {
    const [status, why] = await readiness(broker)
    return status === 503 && why === reason
  }, `a broker that is updated by nobody says: ${reason}`)
}

/** Puts something else into etcd until it takes nothing more. */
function fill(etcd: EtcdMembers): void {
  const page = 'x'.repeat(100_000)
  // One that is not written may have been too slow.
  const isFull = (): boolean => etcd.control(['alarm', 'list']).includes('NOSPACE')
  for (let number = 0; etcd.control(['put', `/else/${number}`, page]) !== '' || !isFull(); number += 1) {
    if (number * page.length > 2 * quota_bytes) throw new Error('etcd is not full')
  }
}

/** Removes that, and lets etcd take records again. */
function empty(etcd: EtcdMembers): void {
  const [status] = JSON.parse(etcd.control(['endpoint', 'status', '--write-out=json']))
  etcd.control(['del', '--prefix', '/else/'])
  etcd.control(['compaction', `${status.Status.header.revision}`])
  etcd.control(['defrag'])
  etcd.control(['alarm', 'disarm'])
}

test('no broker of a cluster is ready while etcd is full or away, although nobody updates, and each is again afterwards', {
  skip: noEtcd,
}, async (t) => {
  const folder = t.testdir({ etcd: {} })
  const etcd = await EtcdMembers.start(t, 1, ['--quota-backend-bytes', `${quota_bytes}`])
  const token = tokenFlags(folder)
  const { nodes: others } = await givenNodes(t, etcd, ['only'], () => token)
  const { nodes } = await givenNodes(t, etcd, ['a', 'b'], () => token)
  const brokers = [...others, ...nodes]
  const [single] = others
  if (single === undefined) return
  for (const broker of brokers) await until(() => isReady(broker), 'all are ready')

  fill(etcd)
  for (const broker of brokers) await notReady(broker, 'etcd is full')
  t.notOk(await setLevel(single, 'Tank', '1'))
  t.equal((await readiness(single))[0], 503)
  empty(etcd)
  for (const broker of brokers) await until(() => isReady(broker), 'all are ready, and nobody has updated')
  for (const broker of brokers) await until(() => setLevel(broker, 'Tank', '2'), 'updates are carried out')

  etcd.signal(0, 'SIGSTOP')
  await notReady(single, 'etcd does not answer')
  t.match((await single.send('GET', '/metrics')).text, /^rigel_cluster_engine_silent 1$/m)
  etcd.signal(0, 'SIGCONT')
  for (const broker of brokers) await until(() => isReady(broker), 'etcd answers')
  for (const broker of brokers.reverse()) await broker.endsInOrder(t)
})
