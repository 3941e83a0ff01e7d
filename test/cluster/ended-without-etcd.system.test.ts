import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'tap'
import { brokerProgram } from '../program.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { attributeText, freshName } from './given.js'
import { nodeFlags, setLevel, tokenFlags } from './given-nodes.js'

test('a node that ends while etcd is gone keeps all that it has acknowledged', { skip: noEtcd }, async (t) => {
  const folder = t.testdir()
  const etcd = await EtcdMembers.start(t, 1)
  const cluster = freshName()
  const flags = [...nodeFlags(etcd, cluster, 'a'), ...tokenFlags(folder)]
  const node = await RunningBroker.startOn(t, join(folder, 'data'), flags)
  const tanks = ['Tank1', 'Tank2', 'Tank3', 'Tank4']
  await until(() => setLevel(node, 'Tank1', '0'), 'the node takes updates')

  const acknowledged = new Map<string, number>()
  let isGone = false
  const written = tanks.map(async (id) => {
    for (let level = 1; !isGone; level += 1) {
      if (await setLevel(node, id, `${level}`).catch(() => false)) acknowledged.set(id, level)
    }
  })
  await until(() => tanks.every((id) => (acknowledged.get(id) ?? 0) > 50), 'there are updates')
  await etcd.kill(0)
  // Turns are under way now that get no response.
  const ended = node.end('SIGTERM')
  isGone = true
  t.equal(await ended, 0, 'it ends in order')
  await Promise.all(written)
  t.notMatch(node.output, /worker:died|"FATAL"/)

  etcd.start(0)
  await etcd.untilHealthy()
  etcd.control(['del', '--prefix', `/rigel/${cluster}/`])
  const recover = ['cluster', 'recover', '-dbPath', node.folder, ...flags.slice(0, 4)]
  const recovered = spawnSync(process.execPath, [brokerProgram, ...recover], { encoding: 'utf8' })
  t.equal(recovered.status, 0, `${recovered.stdout}${recovered.stderr}`)
  await node.run()
  for (const id of tanks) {
    const level = acknowledged.get(id) ?? 0
    await until(async () => Number(await attributeText(node, id, 'level')) >= level, `${id} shows ${level}`)
  }
})
