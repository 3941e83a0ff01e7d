import { spawnSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { items, member } from '../../bench/ngsi.js'
import type { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { givenNodes, levelsShown, rebalancedSoon, setLevel, setLevels, tokenFlags } from './given-nodes.js'

/** As small as an etcd can be that has room for the logs of a few updates. */
const quota_bytes = 24 * 2 ** 20

/** Keys beside those of the cluster: what else is in an etcd may fill it. */
const filling = 'fill/'

/** Fills etcd until it raises its alarm. */
function fill(etcd: EtcdMembers): void {
  const value = 'x'.repeat(2 ** 20)
  for (let number = 0; !etcd.control(['alarm', 'list']).includes('NOSPACE'); number += 1) {
    if (number === 200) throw new Error('etcd is not full yet')
    const words = ['--endpoints', etcd.urls.join(','), 'put', `${filling}${number}`]
    spawnSync('etcdctl', words, { input: value, env: { ...process.env, ETCDCTL_API: '3' } })
  }
}

/** Makes room as an operator does. */
function makeRoom(etcd: EtcdMembers): void {
  etcd.control(['del', '--prefix', filling])
  const [status] = JSON.parse(etcd.control(['endpoint', 'status', '--write-out=json']))
  etcd.control(['compaction', '--physical', `${status.Status.header.revision}`])
  etcd.control(['defrag'])
  etcd.control(['alarm', 'disarm'])
}

/** Who owns each partition, and since which epoch. */
async function ownersAt(node: RunningBroker): Promise<readonly unknown[]> {
  const { json } = await node.send('GET', '/admin/cluster')
  return items(member(json, 'partitions')).map((each) => [member(each, 'owner'), member(each, 'since')])
}

/** When each node owns one: until then a partition is on its way to the node that came last. */
async function shared(node: RunningBroker): Promise<readonly unknown[]> {
  const areShared = async (): Promise<boolean> => {
    const owners = (await ownersAt(node)).map((each) => String(each).split(',')[0])
    return owners.toSorted().join() === 'a,b'
  }
  await until(areShared, 'each node owns a partition')
  return ownersAt(node)
}

test('while etcd is full updates are refused and no partition is given away; when there is room, all goes on', {
  skip: noEtcd,
}, async (t) => {
  t.setTimeout(400_000)
  const folder = t.testdir()
  const etcd = await EtcdMembers.start(t, 1, ['--quota-backend-bytes', `${quota_bytes}`])
  const { nodes } = await givenNodes(t, etcd, ['a', 'b'], () => [...tokenFlags(folder), ...rebalancedSoon])
  const [a, b] = nodes
  if (a === undefined || b === undefined) return
  for (const node of nodes) await setLevels(node, '1')
  const before = await shared(a)

  fill(etcd)
  for (const node of nodes) {
    const isRefused = async (): Promise<boolean> => {
      const { text } = await node.update('APPEND', { id: 'Tank0', attributes: [{ name: 'level', value: '2' }] })
      return /storage full/.test(text)
    }
    await until(isRefused, 'updates are refused')
    await until(async () => /etcd is full/.test((await node.send('GET', '/health/ready')).text), 'no node is ready')
  }
  // Leases run for ten seconds: whoever took a full etcd for a fault of its own would have lost or released something by then.
  const end_ms = performance.now() + 25_000
  const isOver = () => performance.now() >= end_ms
  while (!isOver()) {
    for (const node of nodes) {
      t.notOk(await setLevel(node, 'Tank1', '3'), 'nothing is carried out')
      t.equal(node.exit, null)
    }
    await delay(500)
  }
  t.same(await ownersAt(a), before, 'who owns what is as it was')
  for (const node of nodes) t.equal(member(await ownersAt(node), 'length'), 2)

  makeRoom(etcd)
  for (const node of nodes) await setLevels(node, '4')
  for (const node of nodes) await levelsShown(node, '4')
  t.same(await ownersAt(b), before, 'still')
  for (const node of nodes) await node.endsInOrder(t)
})
