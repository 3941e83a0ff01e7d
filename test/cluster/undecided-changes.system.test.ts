import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { before, t as file, type Test, test } from 'tap'
import { freePort } from '../../bench/free-port.js'
import { member } from '../../bench/ngsi.js'
import { FarEnd } from '../far-end.js'
import { CuttingProxy } from '../node-link/cutting-proxy.js'
import { type Reply, RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { freshName } from './given.js'
import { nodeFlags, rebalancedSoon, tokenFlags } from './given-nodes.js'
import { subscribedToTanks, tanks, Written } from './written-tanks.js'

// They wait for limits most of the time.
file.jobs = 2

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

interface LinkedNode {
  readonly name: string
  readonly broker: RunningBroker
  /** Before what it listens on for other nodes. */
  readonly link: CuttingProxy
}

/** Nodes of a new cluster with a proxy before the link port of each, once each of them owns a partition. */
async function linkedNodes(t: Test, names: readonly string[]): Promise<readonly LinkedNode[]> {
  const folder = t.testdir()
  const cluster = freshName()
  const nodes: LinkedNode[] = []
  for (const name of names) {
    const port = await freePort()
    const link = await CuttingProxy.before(t, { port })
    const flags = [
      ...nodeFlags(etcd, cluster, name, { port, advertised: `127.0.0.1:${link.address(name).port}` }),
      ...[
        ...tokenFlags(folder),
        ...rebalancedSoon,
        '-logLevel',
        'INFO',
        '-httpTimeout',
        '60000',
        '-notifRetryMin',
        '50',
        '-notifRetryMax',
        '200',
      ],
    ]
    nodes.push({ name, broker: await RunningBroker.startOn(t, join(folder, name), flags), link })
  }
  const owns = ({ broker }: LinkedNode): boolean => broker.output.includes('this node owns the partition')
  await until(() => nodes.every(owns), 'each node owns a partition')
  return nodes
}

/** The node that coordinates, and one that does not. */
async function coordinatorOf(nodes: readonly LinkedNode[]): Promise<readonly [LinkedNode, LinkedNode]> {
  const { json } = (await nodes[0]?.broker.send('GET', '/admin/cluster')) ?? {}
  const coordinator = nodes.find(({ name }) => name === member(json, 'coordinator'))
  const other = nodes.find((node) => node !== coordinator)
  if (coordinator === undefined || other === undefined) throw new Error(`nobody coordinates: ${JSON.stringify(json)}`)
  return [coordinator, other]
}

/** A subscription to the levels of all tanks. */
function toTanks(url: string) {
  return {
    subject: { entities: [{ idPattern: '.*', type: 'Tank' }], condition: { attrs: ['level'] } },
    notification: { http: { url }, attrs: ['level'], attrsFormat: 'normalized' },
  }
}

test('a change of a subscription that one node does not hear of is refused, and has never had an effect', {
  skip: noEtcd,
  buffered: true,
}, async (t) => {
  t.setTimeout(300_000)
  const written = new Written()
  const end = await FarEnd.listen(t, (received, response) => {
    if (received.url === '/old') written.accept(received)
    response.end()
  })
  const came = (path: string): number => end.received.filter(({ url }) => url === path).length
  const nodes = await linkedNodes(t, ['a', 'b'])
  const brokers = nodes.map(({ broker }) => broker)
  await subscribedToTanks(brokers, end.url('/old'))
  const [{ broker: coordinator }, { link }] = await coordinatorOf(nodes)
  const [shown] = (await coordinator.send('GET', '/v2/subscriptions')).json as readonly unknown[]
  const path = `/v2/subscriptions/${String(member(shown, 'id'))}`
  await written.setAll(...brokers)

  let isOver = false
  const writing = Promise.all(
    tanks.map(async (id, number) => {
      for (let times = number; !isOver; times += 1) {
        const node = brokers[times % brokers.length]
        if (node !== undefined) await written.set(id, node)
        await delay(10)
      }
    }),
  )
  link.refuse(true)
  link.cut()
  const url = { notification: { http: { url: end.url('/new') }, attrs: ['level'], attrsFormat: 'normalized' } }
  const [patched, made] = await Promise.all([
    coordinator.send('PATCH', path, url),
    coordinator.send('POST', '/v2/subscriptions', toTanks(end.url('/refused'))),
  ])
  const removed = await coordinator.send('DELETE', path)
  t.equal(patched.status, 503, patched.text)
  t.equal(made.status, 503, made.text)
  t.equal(removed.status, 503, removed.text)
  link.refuse(false)
  const known = await coordinator.send('GET', '/v2/subscriptions')
  t.match(known.json, [{ notification: { http: { url: end.url('/old') } } }], 'it is shown as it was')
  t.equal((known.json as readonly unknown[]).length, 1, 'none has come')
  await delay(500)
  isOver = true
  await writing
  // Of each the last that was carried out is known then: notices of others, whose outcome is not, are before its own.
  await written.setAll(...brokers)
  await until(() => written.isNotified, 'all that was acknowledged is notified').catch(() => {})
  t.ok(written.isNotified, 'all that was acknowledged is notified at the old address')
  written.check(t)
  t.equal(came('/new'), 0, 'nothing came to the new address')
  t.equal(came('/refused'), 0, 'nothing came of the subscription that was refused')

  let changed = 0
  await until(async () => {
    changed = (await coordinator.send('PATCH', path, url)).status
    return changed === 204
  }, 'the change is carried out')
  const before = came('/old')
  await written.setAll(...brokers)
  const isNotified = (): boolean =>
    tanks.every((id) => end.received.some(({ url, body }) => url === '/new' && body.includes(id)))
  await until(isNotified, 'the new address is told of each')
  t.equal(came('/old'), before, 'nothing comes to the old address behind the response')
  for (const node of brokers) await node.endsInOrder(t)
})

test('what is undecided when the coordinator is killed is withdrawn by the next one', {
  skip: noEtcd,
  buffered: true,
}, async (t) => {
  t.setTimeout(300_000)
  const written = new Written()
  const end = await FarEnd.listen(t, (received, response) => {
    if (received.url === '/old') written.accept(received)
    response.end()
  })
  const nodes = await linkedNodes(t, ['a', 'b'])
  const brokers = nodes.map(({ broker }) => broker)
  await subscribedToTanks(brokers, end.url('/old'))
  const [{ broker: coordinator }, { broker: other, link }] = await coordinatorOf(nodes)
  const [shown] = (await other.send('GET', '/v2/subscriptions')).json as readonly unknown[]
  const path = `/v2/subscriptions/${String(member(shown, 'id'))}`
  await written.setAll(...brokers)
  link.refuse(true)
  link.cut()
  const { notification } = toTanks(end.url('/new'))
  const changes = () => [
    coordinator.send('PATCH', path, { notification }),
    coordinator.send('POST', '/v2/subscriptions', toTanks(end.url('/refused'))),
  ]
  let responses = 0
  let request = counted(changes(), () => {
    responses += 1
  })
  const count = end.received.length
  await until(async () => {
    // It does not wait for longer than ten seconds: what is undone then is asked for again.
    if (responses > 0) {
      await request
      responses = 0
      request = counted(changes(), () => {
        responses += 1
      })
    }
    for (const id of tanks) await written.set(id, other)
    return (await isOnHold(other, path)) && responses === 0
  }, 'the other node holds the subscription')
  await coordinator.end('SIGKILL')
  t.same(await request, [undefined, undefined], 'nobody was answered')
  await written.setAll(other)
  await until(() => written.isNotified, 'all that was acknowledged is notified').catch(() => {})
  written.check(t)
  t.ok(end.received.length > count)
  t.same(new Set(end.received.map(({ url }) => url)), new Set(['/old']))
  const known = await other.send('GET', '/v2/subscriptions')
  t.match(known.json, [{ notification: { http: { url: end.url('/old') } } }])
  t.equal((known.json as readonly unknown[]).length, 1)
  await other.endsInOrder(t)
})

/** The responses to requests, nothing of one that gets none; each is counted. */
function counted(requests: readonly Promise<Reply>[], responses: () => void): Promise<readonly (Reply | undefined)[]> {
  return Promise.all(
    requests.map((request) =>
      request.then(
        (reply) => {
          responses()
          return reply
        },
        () => undefined,
      ),
    ),
  )
}

/** Whether a node holds back what there is for a subscription. */
async function isOnHold(node: RunningBroker, path: string): Promise<boolean> {
  const { text } = await node.send('GET', `/admin${path.replace('/v2', '')}?details=on`)
  return text.includes('on hold')
}
