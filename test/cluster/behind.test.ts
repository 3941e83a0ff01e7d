import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { before, t as file, test } from 'tap'
import { isLong } from '../faults/run.js'
import { RunningBroker } from '../running.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { attributeText } from './given.js'
import { givenNodes, nodeFlags, setLevel, until } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.start(file, 1, file.testdir())
  })
}

const tanks = Array.from({ length: 8 }, (_, number) => `Tank${number}`)
const logs = [0, 1]

/** The number at the end of what etcd prints; 0 for nothing. */
function numberIn(printed: string): number {
  return Number(/(\d+)\s*$/.exec(printed)?.[1] ?? 0)
}

/** Sets all tanks at a node, each as often as it takes. */
async function setAll(node: RunningBroker, value: string): Promise<void> {
  await Promise.all(tanks.map((id) => until(() => setLevel(node, id, value), `${id} is set`)))
}

/** Resolves when a node shows a value of all tanks. */
function shown(node: RunningBroker, value: string): Promise<void> {
  const isShown = async (): Promise<boolean> => {
    const levels = await Promise.all(tanks.map((id) => attributeText(node, id, 'level')))
    return levels.every((level) => level === value)
  }
  return until(isShown, `${value.slice(0, 20)} is shown`)
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
    await setAll(node, value)
    return firsts().every((first, log) => first > (heads[log] ?? 0) + 1)
  }, 'the logs have forgotten what a node needs')
  return value
}

test('who was away for longer than the logs are kept gets copies of another node, and so does a new folder', {
  skip: noEtcd,
}, async (t) => {
  const folder = t.testdir({ token: `${'t'.repeat(40)}\n` })
  const more = () => ['-clusterTokenFile', join(folder, 'token'), '-clusterLogMax', '1']
  const { cluster, nodes } = await givenNodes(t, etcd, ['a', 'b', 'c'], more)
  const [a, b, c] = nodes
  if (a === undefined || b === undefined || c === undefined) return
  await setAll(a, '1')
  await shown(b, '1')

  await b.end('SIGKILL')
  const second = await forgotten(cluster, a)
  t.notMatch(b.output, /it has fetched a copy/)
  await b.run()
  t.match(b.output, /this node has applied record \d+ of log 0, which begins at \d+: it has fetched a copy/)
  await shown(b, second)
  await setAll(b, '3')
  await shown(a, '3')

  const d = await RunningBroker.startOn(t, join(folder, 'data-d'), [...nodeFlags(etcd, cluster, 'd'), ...more()])
  t.match(d.output, /has applied record 0 of log 1, which begins at \d+: it has fetched a copy/)
  await shown(d, '3')

  if (isLong) {
    b.signal('SIGSTOP')
    const fourth = await forgotten(cluster, a)
    b.signal('SIGCONT')
    t.equal(await b.ended(), 8, 'who finds that out while it runs ends, so that its next start gets a copy')
    t.match(b.output, /begins at record \d+, and this folder has applied \d+.*ending in order/)
    await b.run()
    await shown(b, fourth)
  }
  for (const node of [b, c, d, a]) t.equal(await node.end('SIGTERM'), 0)
})
