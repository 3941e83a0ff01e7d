import { join } from 'node:path'
import { test } from 'tap'
import { rigel } from '../offline/given-command.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { confirmedText, freshName } from './given.js'
import { givenNodes, levelsShown, nodeFlags, setLevel, setLevels, tokenFlags } from './given-nodes.js'

test('a backup of a node under load begins another cluster, with what the node had shown; it does not join its own', {
  skip: noEtcd,
}, async (t) => {
  const folder = t.testdir({ etcd: {} })
  const etcd = await EtcdMembers.start(t, 1)
  const more = () => tokenFlags(folder)
  const { cluster, nodes } = await givenNodes(t, etcd, ['a', 'b'], more)
  const [a, b] = nodes
  if (a === undefined || b === undefined) return
  await setLevels(a, '1')
  let [sent, acknowledged, isOver] = [0, 0, false]
  const writing = (async (): Promise<void> => {
    while (!isOver) {
      sent += 1
      if (await setLevel(a, 'Written', String(sent))) acknowledged = sent
    }
  })()
  await until(() => acknowledged > 3, 'an entity is written')
  await levelsShown(b, '1')
  const before = Number(await confirmedText(b, 'Written', 'level'))
  const backup = join(folder, 'backup')
  t.match(await rigel('backup', backup, '-url', b.url), { code: 0 })
  const after = sent
  isOver = true
  await writing

  const restored = join(folder, 'data-restored')
  t.match(await rigel('restore', backup, '-dbPath', restored), { code: 0 })
  for (const name of ['c', 'b']) {
    await t.rejects(
      RunningBroker.startOn(t, restored, [...nodeFlags(etcd, cluster, name), ...more()]),
      /ended with 6: .*has data of its own, and the cluster has others/s,
      'it is no node of the cluster that it was a part of',
    )
  }
  const other = freshName()
  const start = (name: string, data: string) =>
    RunningBroker.startOn(t, data, [...nodeFlags(etcd, other, name), ...more()])
  const c = await start('c', restored)
  await levelsShown(c, '1')
  const written = Number(await confirmedText(c, 'Written', 'level'))
  t.ok(written >= before && written <= after, `${before} <= ${written} <= ${after}`)
  const d = await start('d', join(folder, 'data-d'))
  await levelsShown(d, '1')
  t.equal(await confirmedText(d, 'Written', 'level'), String(written))
  await setLevels(d, '2')
  await levelsShown(c, '2')
  await levelsShown(b, '1')
  for (const node of [a, b, c, d]) await node.endsInOrder(t)
})
