import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { before, t as file, type Test, test } from 'tap'
import { FarEnd, responding } from '../far-end.js'
import { isLong } from '../faults/run.js'
import type { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { givenNodes, rebalancedSoon } from './given-nodes.js'
import { InitialFirst } from './initial-first.js'
import { subscribedToTanks, Written } from './written-tanks.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

/** Nodes that reach each other, with one subscription to all tanks. */
async function subscribedNodes(t: Test, names: readonly string[], reference: string) {
  const folder = t.testdir({ token: `${'t'.repeat(40)}\n` })
  const flags = [...rebalancedSoon, '-logLevel', 'INFO', '-notifRetryMin', '50', '-notifRetryMax', '200']
  const { nodes } = await givenNodes(t, etcd, names, () => ['-clusterTokenFile', join(folder, 'token'), ...flags])
  await subscribedToTanks(nodes, reference)
  return nodes
}

test('every acknowledged change is notified in order, whoever is killed or paused while notifications wait', {
  skip: noEtcd,
}, async (t) => {
  const written = new Written()
  const initial = new InitialFirst()
  const accepting: FarEnd['respond'] = (received, response) => {
    if (!initial.accept(received)) written.accept(received)
    response.end()
  }
  const end = await FarEnd.listen(t, accepting)
  const [a, b] = await subscribedNodes(t, ['a', 'b'], end.url())
  if (a === undefined || b === undefined) return
  const notified = () => until(() => written.isNotified, 'all acknowledged changes are notified')
  await written.setAll(a, b)
  await notified()
  const owns = 'this node owns the partition'
  await until(() => b.output.includes(owns), 'each node owns a partition, so that both send notifications')
  await initialGoesFirst(end, initial, written, [a, b])
  end.respond = accepting

  if (isLong) {
    end.respond = responding(503)
    await written.setAll(a, b)
    await written.setAll(a, b)
    await a.end('SIGKILL')
    end.respond = accepting
    await written.setAll(b)
    await notified()
    await a.run()
  }

  // Who was there when the other one was not owns partitions.
  const [owner, other] = isLong ? [b, a] : [a, b]
  end.respond = responding(503)
  await written.setAll(a, b)
  const heard = 'another node owns the partition'
  const times = owner.output.split(heard).length
  owner.signal('SIGSTOP')
  await written.setAll(other)
  end.respond = accepting
  await notified()
  owner.signal('SIGCONT')
  await until(
    () => owner.output.split(heard).length > times,
    'the one that was paused hears that it is no owner any more',
  )
  await written.setAll(owner, other)
  await notified()
  written.check(t)
  initial.check(t, written)
  t.equal(new Set(end.received.map(({ headers }) => headers.via)).size, 1, 'all nodes are one broker to the receiver')
  for (const node of [a, b]) await node.endsInOrder(t)
})

/** Subscribes at each node while tanks are updated at all of them; the receiver has trouble with their initial notifications. */
async function initialGoesFirst(
  end: FarEnd,
  initial: InitialFirst,
  written: Written,
  nodes: readonly RunningBroker[],
): Promise<void> {
  const { respond } = end
  const refusals = new Map<string, number>()
  end.respond = (received, response) => {
    const before = refusals.get(received.url) ?? 0
    if (!initial.isInitial(received) || before > 2) return respond(received, response)
    refusals.set(received.url, before + 1)
    return response.writeHead(503).end()
  }
  let isOver = false
  const writing = (async () => {
    while (!isOver) await written.setAll(...nodes)
  })()
  for (const node of [...nodes, ...nodes]) {
    await until(() => initial.subscribe(node, end), 'the subscription is made')
    await until(() => initial.isComplete, 'its initial notification has come')
  }
  isOver = true
  await writing
  await until(() => written.isNotified, 'all acknowledged changes are notified')
  for (const node of nodes) await initial.removeComplete(node)
}

/** One of the numbers below it, by chance. */
function chance(below: number): number {
  return Math.floor(Math.random() * below)
}

const rounds = Number(process.env['RIGEL_CLUSTER_ROUNDS'] ?? 10)

test(`three nodes are killed and paused, ${rounds} times: every acknowledged change is notified, in order`, {
  skip: noEtcd || (isLong ? false : 'takes minutes: RIGEL_FAULTS=long'),
}, async (t) => {
  t.setTimeout(300_000 + rounds * 60_000)
  const written = new Written()
  const initial = new InitialFirst()
  const end = await FarEnd.listen(t, (received, response) => {
    // In half of the seconds the receiver has trouble.
    if (!isOver && Math.floor(performance.now() / 1000) % 2 === 0) return response.writeHead(503).end()
    if (!initial.accept(received)) written.accept(received)
    return response.end()
  })
  const nodes = await subscribedNodes(t, ['a', 'b', 'c'], end.url())
  let isOver = false
  const working = initial.keepSubscribing(nodes, end, written, () => isOver)
  for (let round = 0; round < rounds; round += 1) {
    const victim = nodes[chance(nodes.length)]
    const isKilled = chance(2) === 0
    if (victim === undefined) continue
    if (isKilled) await victim.end('SIGKILL')
    else victim.signal('SIGSTOP')
    await delay(chance(11_000))
    if (isKilled) await victim.run()
    else victim.signal('SIGCONT')
    await delay(chance(4000))
  }
  isOver = true
  await working
  await until(() => written.isNotified && initial.isComplete, 'all acknowledged changes are notified')
  written.check(t)
  initial.check(t, written)
  for (const node of nodes) await node.endsInOrder(t)
})
