import { join } from 'node:path'
import { before, t as file, test } from 'tap'
import { items, member } from '../../bench/ngsi.js'
import { FarEnd } from '../far-end.js'
import type { Reply, RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { givenNodes, setLevel } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

/** A subscription to the level of one tank. */
function toTank(id: string, url: string) {
  return {
    description: id,
    subject: { entities: [{ id, type: 'Tank' }], condition: { attrs: ['level'] } },
    notification: { http: { url }, attrs: ['level'] },
  }
}

/** Asks a node again while it answers 503, since the coordinator or an owner is late. What it refused so may have been carried out. */
function sendUntilServed(node: RunningBroker, method: string, path: string, body?: unknown): Promise<Reply> {
  return until(async () => {
    const reply = await node.send(method, path, body)
    return reply.status !== 503 && reply
  }, `${method} ${path} is answered`)
}

/** Removes what a path names: it is gone then, also where the first response was 503. */
async function removed(node: RunningBroker, path: string): Promise<boolean> {
  const { status } = await node.send('DELETE', path)
  return status === 204 || (status === 503 && [204, 404].includes((await sendUntilServed(node, 'DELETE', path)).status))
}

/** Subscribes at a node; gives the path of the subscription. */
async function subscribed(node: RunningBroker, id: string, url: string): Promise<string> {
  const reply = await sendUntilServed(node, 'POST', '/v2/subscriptions', toTank(id, url))
  if (reply.status !== 201) throw new Error(`there is no subscription: ${reply.status} ${reply.text}`)
  return reply.headers.get('location') ?? ''
}

/** The same through NGSIv1. */
async function subscribedInNgsi1(node: RunningBroker, id: string, reference: string): Promise<string> {
  const { status, json } = await sendUntilServed(node, 'POST', '/v1/subscribeContext', {
    ...{ entities: [{ id, type: 'Tank', isPattern: 'false' }], attributes: ['level'], reference, duration: 'P1D' },
    notifyConditions: [{ type: 'ONCHANGE', condValues: ['level'] }],
  })
  const made = member(member(json, 'subscribeResponse'), 'subscriptionId')
  if (status !== 200 || made === undefined)
    throw new Error(`there is no subscription: ${status} ${JSON.stringify(json)}`)
  return `/v2/subscriptions/${String(made)}`
}

/** The descriptions of all subscriptions, as a node shows them. */
async function shown(node: RunningBroker): Promise<readonly string[]> {
  const { json } = await sendUntilServed(node, 'GET', '/v2/subscriptions')
  return items(json)
    .map((each) => String(member(each, 'description')))
    .sort()
}

test('what one node has acknowledged of subscriptions is shown by all, and survives the one that coordinates', {
  skip: noEtcd,
}, async (t) => {
  const receiver = await FarEnd.listen(t)
  const folder = t.testdir({ token: `${'t'.repeat(40)}\n` })
  const flags = () => ['-clusterTokenFile', join(folder, 'token'), '-logLevel', 'INFO']
  const { nodes } = await givenNodes(t, etcd, ['a', 'b'], flags, { httpThreads: 2 })
  const [a, b] = nodes
  if (a === undefined || b === undefined) return

  const first = await subscribed(b, 'Tank1', receiver.url())
  t.same(await shown(a), ['Tank1'])
  t.same(await shown(b), ['Tank1'])
  const second = await subscribed(a, 'Tank2', receiver.url())
  t.same(await shown(b), ['Tank1', 'Tank2'])
  for (const [node, other] of [
    [a, b],
    [b, a],
  ] as const) {
    const description = node === a ? 'first' : 'second'
    t.equal((await sendUntilServed(node, 'PATCH', first, { description })).status, 204)
    t.same(await shown(other), ['Tank2', description])
  }
  t.ok(await removed(a, second))
  t.equal((await sendUntilServed(b, 'GET', second)).status, 404)
  t.equal((await sendUntilServed(b, 'DELETE', second)).status, 404)

  // Whichever node owns the partition of a tank, it makes the notice of the first update after the response.
  const more = ['Tank11', 'Tank12', 'Tank13', 'Tank14', 'Tank15', 'Tank16', 'Tank17', 'Tank18']
  for (const [number, tank] of more.entries()) {
    const [node, other] = number % 2 === 0 ? [a, b] : [b, a]
    const path =
      number < 6 ? await subscribed(node, tank, receiver.url()) : await subscribedInNgsi1(node, tank, receiver.url())
    await until(() => setLevel(other, tank, `${number}`), `${tank} is set`)
    const isNotified = (): boolean =>
      receiver.bodies.some((body) => body.includes(tank) && /"value" ?: ?"?\d/.test(body))
    await until(isNotified, `the receiver is told of ${tank}`)
    t.ok(await removed(other, path))
  }

  const registered = { entities: [{ id: 'Lamp', type: 'Lamp' }], attrs: ['on'] }
  const registration = { dataProvided: registered, provider: { http: { url: receiver.url('/v2') } } }
  for (const [node, other] of [
    [a, b],
    [b, a],
  ] as const) {
    const made = await sendUntilServed(node, 'POST', '/v2/registrations', registration)
    t.equal(made.status, 201, made.text)
    const path = made.headers.get('location') ?? ''
    t.equal(
      (await sendUntilServed(other, 'GET', path)).status,
      200,
      'what is registered at one node is shown by the other at once',
    )
    t.ok(await removed(other, path))
    t.equal((await sendUntilServed(node, 'GET', path)).status, 404)
  }

  const coordinates = (node: RunningBroker): boolean => node.output.includes('this node coordinates the cluster')
  const [coordinator, other] = coordinates(a) ? [a, b] : [b, a]
  await coordinator.end('SIGKILL')
  await subscribed(other, 'Tank3', receiver.url())
  t.same(await shown(other), ['Tank3', 'second'])
  await coordinator.run()
  t.same(await shown(coordinator), ['Tank3', 'second'])
  for (const node of nodes) await node.endsInOrder(t)
})
