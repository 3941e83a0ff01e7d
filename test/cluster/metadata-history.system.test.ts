import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { FarEnd } from '../far-end.js'
import { isLong } from '../faults/run.js'
import type { RunningBroker } from '../running.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { inTime } from './given.js'
import { givenNodes, setLevel } from './given-nodes.js'
import { InitialFirst } from './initial-first.js'
import { Written } from './written-tanks.js'

const rounds = Number(process.env['RIGEL_CLUSTER_ROUNDS'] ?? 10)
const clients = 4
const response_ms = 16_000

/** One of them, by chance. */
function oneOf<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)]
  if (item === undefined) throw new Error('there is none')
  return item
}

/** A response; nothing when there is none, or it takes longer than that of any node that runs. */
function outcomeOf<Value>(request: Promise<Value>): Promise<Value | undefined> {
  return inTime(
    request.catch(() => undefined),
    response_ms,
  )
}

/** What clients were told of their subscriptions: the tank of each, by its path. */
class Acknowledged {
  readonly made = new Map<string, string>()
  readonly removed = new Set<string>()
  /** Tanks that were updated after their subscription was made. */
  readonly updated: string[] = []
  refused = 0
}

/** Subscribes to one tank after the other, at one node, and has the tank updated by another one at once. */
async function subscribe(
  nodes: readonly RunningBroker[],
  url: string,
  name: string,
  known: Acknowledged,
  isOver: () => boolean,
): Promise<void> {
  for (let number = 0; !isOver(); number += 1) {
    const tank = `${name}-${number}-`
    const subject = { entities: [{ id: tank, type: 'Tank' }] }
    const body = { description: tank, subject, notification: { http: { url } } }
    const reply = await outcomeOf(oneOf(nodes).send('POST', '/v2/subscriptions', body))
    const path = reply?.headers.get('location')
    if (reply?.status !== 201 || !path) {
      known.refused += 1
      await delay(50)
      continue
    }
    known.made.set(path, tank)
    const update = async (): Promise<boolean> => (await outcomeOf(setLevel(oneOf(nodes), tank, `${number}`))) === true
    await until(update, `${tank} is updated`)
    known.updated.push(tank)
    if (number % 3 > 0) continue
    const removed = await outcomeOf(oneOf(nodes).send('DELETE', path))
    if (removed?.status === 204) known.removed.add(path)
    // Whether it is removed is not known.
    else known.made.delete(path)
  }
}

test(`nodes are killed and paused while clients subscribe, ${rounds} times: each subscription is in force with its response`, {
  skip: noEtcd || (isLong ? false : 'takes minutes: RIGEL_FAULTS=long'),
}, async (t) => {
  t.setTimeout(300_000 + rounds * 60_000)
  const receiver = await FarEnd.listen(t)
  const folder = t.testdir({ token: `${'t'.repeat(40)}\n`, etcd: {} })
  const etcd = await EtcdMembers.start(t, 1)
  const flags = () => ['-clusterTokenFile', join(folder, 'token'), '-logLevel', 'INFO']
  const { nodes } = await givenNodes(t, etcd, ['a', 'b', 'c'], flags, { httpThreads: 2 })
  const known = new Acknowledged()
  let isOver = false
  const subscribing = Array.from({ length: clients }, (_, number) =>
    subscribe(nodes, receiver.url(), `client${number}`, known, () => isOver),
  )
  const [initial, written] = [new InitialFirst(), new Written()]
  const initialReceiver = await FarEnd.listen(t, (received, response) => {
    initial.accept(received)
    response.end()
  })
  const makingSubscriptions = initial.keepSubscribing(nodes, initialReceiver, written, () => isOver)
  const goesOn = async (): Promise<void> => {
    const before = known.updated.length
    await until(() => known.updated.length > before + clients, 'clients subscribe')
  }
  await goesOn()
  for (let round = 0; round < rounds; round += 1) {
    const node = oneOf(nodes)
    if (round % 2 === 0) {
      await node.end('SIGKILL')
      if (round % 4 === 0) await goesOn()
      await node.run()
    } else {
      node.signal('SIGSTOP')
      await goesOn()
      node.signal('SIGCONT')
    }
    await goesOn()
  }
  isOver = true
  await Promise.all([...subscribing, makingSubscriptions])

  t.comment(`${known.made.size} subscriptions were made, ${known.removed.size} removed, ${known.refused} refused`)
  const missing = (): readonly string[] => {
    const received = receiver.bodies.join(' ')
    return known.updated.filter((tank) => !received.includes(`"${tank}"`))
  }
  await until(() => missing().length === 0, 'all are notified').catch(() => {})
  t.same(missing(), [], 'the first update after each response was notified')
  await until(() => initial.isComplete, 'all have their initial notification')
  initial.check(t, written)
  for (const node of nodes) {
    const shown = new Map<string, string>()
    for (let isAll = false; !isAll; ) {
      const json = await until(async () => {
        const { status, json } = await node.send('GET', `/v2/subscriptions?limit=1000&offset=${shown.size}`)
        return status === 200 && Array.isArray(json) && json
      }, 'a page of subscriptions is shown')
      for (const each of json) shown.set(`/v2/subscriptions/${member(each, 'id')}`, String(member(each, 'description')))
      isAll = json.length < 1000
    }
    const lost = [...known.made.keys()].filter((path) => !known.removed.has(path) && !shown.has(path))
    t.same(lost, [], 'all that were made are there')
    t.same(
      [...known.removed].filter((path) => shown.has(path)),
      [],
      'none that was removed is',
    )
  }
  for (const node of nodes) await node.endsInOrder(t)
})
