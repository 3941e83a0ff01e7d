import { test } from 'tap'
import { goneUpTo, RemoteBarriers } from '../../src/delivery/queue/remote-barriers.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import { clockStart } from '../../src/time.js'
import { entity } from '../context/given-entity.js'
import { FarEnd } from '../far-end.js'
import { until } from '../until.js'
import { courier, notice, nth, outboxes, recipient, subscriptionId } from './given.js'

const one = subscriptionId(1)
const two = subscriptionId(2)
const initial = { kind: 'initial' } as const

let elections = 0

function elect(position: PartitionPosition): void {
  elections += 1
  position.own(elections)
  position.confirm(clockStart(), 3_600_000)
}

function lose(position: PartitionPosition): void {
  position.revoke()
  position.own(0)
}

test('an initial notification goes after what another node sends that is earlier, and before what is later', async (t) => {
  // What the receiver does not take now.
  const troubled = new Set<string>()
  const taken: string[] = []
  const tried: string[] = []
  const end = await FarEnd.listen(t, ({ body }, response) => {
    tried.push(body)
    if (!troubled.has(body)) taken.push(body)
    response.writeHead(troubled.has(body) ? 503 : 200).end()
  })
  const boxes = outboxes(t, 2)
  const [first, second] = [nth(boxes.partitions, 0), nth(boxes.partitions, 1)]
  // Of each node whether it owns the partitions, and what the coordinator owns.
  const positions = () => Array.from({ length: 3 }, () => new PartitionPosition(PartitionPosition.memory()))
  const [ofA, ofB] = [positions(), positions()]
  for (const owned of [nth(ofA, 0), nth(ofA, 2), nth(ofB, 1)]) elect(owned)
  const known = [recipient(one, end.url()), recipient(two, end.url())]
  const [a, b] = [ofA, ofB].map((owners) => courier(t, { outboxes: boxes, owners, recipients: known }))
  if (a === undefined || b === undefined) return
  await Promise.all([a.start(), b.start()])
  const ring = () => {
    a.ring()
    b.ring()
  }

  troubled.add('early')
  second.enqueue(notice(one, 'tank', 'early'))
  boxes.metadata.enqueue(notice(one, initial, 'state', { after: [0, 1] }))
  first.enqueue(notice(one, 'silo', 'late at a'))
  second.enqueue(notice(one, 'tank', 'late at b'))
  second.enqueue(notice(two, 'tank', 'of another'))
  ring()
  await until(() => taken.includes('of another') && tried.filter((body) => body === 'early').length > 2)
  t.same(taken, ['of another'], 'nothing of the subscription has overtaken what is early')
  troubled.clear()
  troubled.add('state')
  await until(() => tried.filter((body) => body === 'state').length > 2)
  t.same(taken, ['of another', 'early'])

  // The other node coordinates while the receiver does not take it.
  lose(nth(ofA, 2))
  await until(async () => (await a.state(one))?.queueDepth === 1)
  const before = tried.length
  elect(nth(ofB, 2))
  await until(() => tried.length > before + 2)
  t.same(new Set(tried.slice(before)), new Set(['state']), 'what is later waits at both nodes')
  troubled.clear()
  await until(() => first.numbers.length + second.numbers.length + boxes.metadata.numbers.length === 0)
  t.same(taken.slice(0, 3), ['of another', 'early', 'state'])
  t.same(taken.slice(3).sort(), ['late at a', 'late at b'])
})

test('a node that begins holds back what comes after the initial notification of another one, until its subscription ends', async (t) => {
  const end = await FarEnd.listen(t)
  const boxes = outboxes(t, 1)
  const box = nth(boxes.partitions, 0)
  const positions = [0, 1].map(() => new PartitionPosition(PartitionPosition.memory()))
  elect(nth(positions, 0))
  boxes.metadata.enqueue(notice(one, initial, 'state', { after: [0] }))
  boxes.metadata.enqueue(notice(two, initial, 'of another', { after: [0] }))
  box.enqueue(notice(one, 'tank', 'late'), notice(two, 'tank', 'later'))
  const known = [recipient(one, end.url()), recipient(two, end.url())]
  const b = courier(t, { outboxes: boxes, owners: positions, recipients: known })
  await b.start()
  boxes.metadata.store([{ subscription: two, gone: [2], stats: undefined }])
  await until(() => box.numbers.length === 1)
  t.same(end.bodies, ['later'], 'one barrier is gone, the other one stands')
  await b.courier.remove(one)
  await until(() => box.numbers.length === 0)
  t.same(end.bodies, ['later'])
})

test('what is on hold while its subscription is opened does not overtake what is made first', async (t) => {
  const end = await FarEnd.listen(t)
  const boxes = outboxes(t, 1)
  const box = nth(boxes.partitions, 0)
  const opened = recipient(one, end.url())
  const only = courier(t, { outboxes: boxes, begun: { held: [one], closed: [] } })
  box.enqueue(notice(one, 'tank', 'late'))
  await only.start()
  // Nobody has rung for it yet.
  boxes.metadata.enqueue(notice(one, initial, 'state', { after: [0] }))
  only.courier.put(opened)
  await until(() => box.numbers.length + boxes.metadata.numbers.length === 0)
  t.same(end.bodies, ['state', 'late'])
})

test('barriers that stand are looked for without reading their notices again', async (t) => {
  const { metadata } = outboxes(t, 1)
  const stored = metadata.opened()
  t.teardown(() => stored.close())
  let read = 0
  const gone: SubscriptionId[] = []
  const outbox = {
    holds: stored.holds,
    after: (number: number, limit: number) => {
      const found = stored.after(number, limit)
      read += found.length
      return found
    },
  }
  const barriers = new RemoteBarriers(outbox, (id) => gone.push(id))
  const ids = Array.from({ length: 50 }, (_, number) => subscriptionId(number + 1))
  metadata.enqueue(...ids.map((id) => notice(id, initial, 'state', { after: [0] })))
  const { subscription: _, body: __, ...common } = notice(one, 'tank', '')
  metadata.enqueue({ ...common, subscriptions: [one, two], entity: entity() })
  barriers.look()
  t.equal(read, 52)
  metadata.store([{ subscription: one, gone: [1, 51], stats: undefined }])
  stored.refresh()
  barriers.look()
  t.same([read, gone], [52, [one]])
  t.equal(barriers.boundsOf(one), undefined)
  t.same(barriers.boundsOf(two), [0])
  t.same([1, 2, 51, 52, 53].map(stored.holds), [false, true, false, true, false])
})

test('what arrives between two reads of the outbox of another node is not gone', async (t) => {
  const numbered = (number: number, subscription: SubscriptionId) => {
    const { orderingKey, made, ...more } = notice(subscription, 'tank', String(number))
    return { number, notice: { ...more, orderingKey, made }, size_bytes: 100, body_bytes: 10 }
  }
  const held: ReturnType<typeof numbered>[] = []
  let onRead = (): void => {}
  const outbox = {
    after: (number: number) => {
      const found = held.filter((each) => each.number > number)
      onRead()
      return found
    },
    last: () => held.at(-1)?.number ?? 0,
  }
  t.equal(goneUpTo(outbox, one, 0, 3), 0, 'nothing has arrived')
  onRead = () => {
    onRead = () => {}
    held.push(numbered(1, two), numbered(2, one), numbered(3, two))
  }
  t.equal(goneUpTo(outbox, one, 0, 3), 0, 'these have arrived, and are not read')
  t.equal(goneUpTo(outbox, one, 0, 3), 1)
  held.splice(1, 1)
  t.equal(goneUpTo(outbox, one, 0, 3), 3)
})
