import { join } from 'node:path'
import { before, t as file, test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import { isLong } from '../faults/run.js'
import { CuttingProxy } from '../node-link/cutting-proxy.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { freshName } from './given.js'
import { levelsOf, levelsShown, type NodeShape, nodeFlags, setLevels } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

/** How often a node has become the owner of a partition. */
function elections(node: RunningBroker): number {
  return node.output.split('this node owns the partition').length - 1
}

test('who is a member and cannot be reached by most others owns nothing until it can be', {
  skip: noEtcd,
}, async (t) => {
  const folder = t.testdir({ token: `${'t'.repeat(40)}\n` })
  const cluster = freshName()
  const port = await freePort()
  const proxy = await CuttingProxy.before(t, { port })
  const start = (name: string, more: readonly string[] = [], at?: NodeShape) => {
    const flags = [...more, '-clusterTokenFile', join(folder, 'token'), '-logLevel', 'INFO']
    return RunningBroker.startOn(t, join(folder, `data-${name}`), [...nodeFlags(etcd, cluster, name, at), ...flags])
  }
  // The first one has everything, until others have been there for ten seconds.
  const c = await start('c', [], { port, advertised: `127.0.0.1:${proxy.address('c').port}` })
  await setLevels(c, '1')
  const [a, b] = [await start('a'), await start('b', ['-clusterReads', 'local'])]
  await levelsShown(a, '1')

  proxy.refuse(true)
  proxy.cut()
  // What comes here is for partitions that it cannot send on to their owner, until they have another one.
  await setLevels(a, '2')
  await levelsShown(b, '2')
  await until(() => elections(a) + elections(b) > 0, 'another node says that it owns a partition')
  await until(() => c.output.includes('most members cannot reach node c'), 'it knows that')
  t.notMatch(c.output, /lost its lease/)
  // In the other direction it reaches them.
  await setLevels(c, '3')
  await levelsShown(a, '3')

  if (isLong) {
    const before = elections(c)
    proxy.refuse(false)
    await until(() => elections(c) > before, 'what belongs to it is handed over again')
    await setLevels(a, '4')
    await levelsShown(c, '4')
  }
  // Who reads what it has itself waits for nobody, whoever owns it.
  for (const node of [a, c]) node.signal('SIGSTOP')
  t.notOk((await levelsOf(b)).includes(undefined))
  for (const node of [a, c]) node.signal('SIGCONT')
  for (const node of [a, b, c]) await node.endsInOrder(t)
})
