import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { before, t as file, test } from 'tap'
import { isLong } from '../faults/run.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { givenNodes, levelsShown, nodeFlags, setLevels } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

const logs = [0, 1]

/** The number at the end of what etcd prints; 0 for nothing. */
function numberIn(printed: string): number {
  return Number(/(\d+)\s*$/.exec(printed)?.[1] ?? 0)
}

/** Has a node write until the logs of a cluster have forgotten what they had when this was called; gives the last value. */
async function forgotten(cluster: string, node: RunningBroker): Promise<string> {
  const heads = logs.map((log) =>
    numberIn(etcd.control(['get', '--print-value-only', `/rigel/${cluster}/head/${log}`])),
  )
  const firsts = (): readonly number[] =>
    logs.map((log) =>
      numberIn(etcd.control(['get', '--prefix', '--keys-only', '--limit=1', `/rigel/${cluster}/log/${log}/`])),
    )
  let value = ''
  await until(async () => {
    // Random, so that it is as long when it is deflated.
    value = randomBytes(60_000).toString('base64')
    await setLevels(node, value)
    return firsts().every((first, log) => first > (heads[log] ?? 0) + 1)
  }, 'the logs have forgotten what a node needs')
  return value
}

test('who was away for longer than the logs are kept gets snapshots from another node, and so does a new folder', {
  skip: noEtcd,
}, async (t) => {
  const folder = t.testdir({ token: `${'t'.repeat(40)}\n` })
  const more = () => ['-clusterTokenFile', join(folder, 'token'), '-clusterLogMax', '1']
  const { cluster, nodes } = await givenNodes(t, etcd, ['a', 'b', 'c'], more)
  const [a, b, c] = nodes
  if (a === undefined || b === undefined || c === undefined) return
  await setLevels(a, '1')
  await levelsShown(b, '1')

  await b.end('SIGKILL')
  const second = await forgotten(cluster, a)
  t.notMatch(b.output, /it has fetched a snapshot/)
  await b.run()
  await b.writes(/this node has applied record \d+ of log 0, which begins at \d+: it has fetched a snapshot/)
  await levelsShown(b, second)
  await setLevels(b, '3')
  await levelsShown(a, '3')

  const d = await RunningBroker.startOn(t, join(folder, 'data-d'), [...nodeFlags(etcd, cluster, 'd'), ...more()])
  await d.writes(/has applied record 0 of log 1, which begins at \d+: it has fetched a snapshot/)
  await levelsShown(d, '3')

  if (isLong) {
    b.signal('SIGSTOP')
    const fourth = await forgotten(cluster, a)
    b.signal('SIGCONT')
    t.equal(await b.ended(), 8, 'who finds that out while it runs ends, so that its next start fetches a snapshot')
    t.match(b.output, /begins at record \d+, and this folder has applied \d+.*ending in order/)
    await b.run()
    await levelsShown(b, fourth)
  }
  for (const node of [b, c, d, a]) await node.endsInOrder(t)
})
