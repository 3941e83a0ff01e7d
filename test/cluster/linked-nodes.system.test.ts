import { join } from 'node:path'
import { before, t as file, test } from 'tap'
import { isLong } from '../faults/run.js'
import { Authority } from '../node-link/certificates.js'
import type { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { confirmedText } from './given.js'
import { certificateFlags, givenNodes, setLevels } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

const tanks = Array.from({ length: 8 }, (_, number) => `Tank${number}`)

function levels(node: RunningBroker): Promise<readonly (string | undefined)[]> {
  return Promise.all(tanks.map((id) => confirmedText(node, id, 'level')))
}

const all = (value: string): readonly string[] => tanks.map(() => value)

test('each node takes updates of all partitions, and shows what was acknowledged by another one; one that dies comes back', {
  skip: noEtcd,
}, async (t) => {
  const folder = t.testdir({ token: `${'t'.repeat(40)}\n` })
  const more = () => ['-clusterTokenFile', join(folder, 'token')]
  const { nodes } = await givenNodes(t, etcd, ['a', 'b'], more, { httpThreads: 2 })
  const [a, b] = nodes
  if (a === undefined || b === undefined) return
  await setLevels(a, '1')
  await setLevels(b, '2')
  for (const round of ['3', '4']) {
    for (const [at, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const value = `${round}${at === a ? 1 : 2}`
      await setLevels(at, value)
      t.same(await levels(other), all(value))
    }
  }
  if (!isLong) {
    for (const node of nodes) await node.endsInOrder(t)
    return
  }
  await b.end('SIGKILL')
  await setLevels(a, '6')
  t.same(await levels(a), all('6'))
  await b.run()
  await until(async () => (await levels(b)).every((level) => level === '6'), 'it shows what it has missed')
  await setLevels(b, '7')
  t.same(await levels(a), all('7'))
  for (const node of nodes) await node.endsInOrder(t)
})

test('by certificates nodes reach each other', {
  skip: noEtcd,
}, async (t) => {
  const authority = new Authority()
  const folder = t.testdir()
  const [a, b] = (await givenNodes(t, etcd, ['a', 'b'], (name) => certificateFlags(folder, authority, name))).nodes
  if (a === undefined || b === undefined) return
  await setLevels(a, '1')
  await setLevels(b, '2')
  t.same(await levels(a), all('2'))
  for (const node of [a, b]) await node.endsInOrder(t)
})
