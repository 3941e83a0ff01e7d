import { MessageChannel } from 'node:worker_threads'
import { test } from 'tap'
import type { StreamReport } from '../../src/delivery/streams/stream-message.js'
import { lastNotified } from '../../src/model/subscription/clocks.js'
import { streamReference } from '../../src/model/subscription/targets.js'
import { PartitionPosition } from '../../src/threads/shared-memory/partition-position.js'
import { clockStart, type Milliseconds, now } from '../../src/time.js'
import { FarEnd, responding } from '../far-end.js'
import { until } from '../until.js'
import { courier, notice, nth, outboxes, recipient, subscriptionId } from './given.js'

const one = subscriptionId(1)
const two = subscriptionId(2)

/** Whether a partition is that of a node, as its thread says it. */
function newOwner() {
  const position = new PartitionPosition(PartitionPosition.memory())
  let elections = 0
  return {
    position,
    /** It is from now on, by an election that was not before. */
    own: () => {
      elections += 1
      position.own(elections)
      position.confirm(clockStart(), 3_600_000)
    },
    lose: () => {
      position.revoke()
      position.own(0)
    },
  }
}

test('what a node does not own is not sent by it; what it comes to own is sent from where the one before it was', async (t) => {
  const end = await FarEnd.listen(t)
  const boxes = outboxes(t, 1)
  const box = nth(boxes.partitions, 0)
  const owners = [newOwner(), newOwner()]
  const [a, b] = owners.map(({ position }) =>
    courier(t, { outboxes: boxes, owners: [position], recipients: [recipient(one, end.url())] }),
  )
  if (a === undefined || b === undefined) return
  nth(owners, 0).own()
  await Promise.all([a.start(), b.start()])
  for (const body of ['1', '2', '3']) box.enqueue(notice(one, 'a', body))
  a.ring()
  b.ring()
  await until(() => box.numbers.length === 0)
  t.same(end.bodies, ['1', '2', '3'], 'one node sends')
  t.match(await b.state(one), { timesSent: 3, queueDepth: 0 }, 'the other one shows what is stored of it')

  // The receiver has the fourth one, and nobody has stored it when the node is gone.
  box.refuse = true
  for (const body of ['4', '5']) box.enqueue(notice(one, 'a', body))
  a.ring()
  await until(() => end.bodies.includes('5'))
  nth(owners, 0).lose()
  await until(async () => (await a.state(one))?.queueDepth === 0)
  t.match(await a.state(one), { timesSent: 3 }, 'which nobody knows')
  box.refuse = false
  nth(owners, 1).own()
  await until(() => box.numbers.length === 0)
  t.same(end.bodies, ['1', '2', '3', '4', '5', '4', '5'], 'what is not known to have arrived is sent again, in order')
  t.match(box.stats(one), { sent: 5, tried: [] })
  box.enqueue(notice(one, 'a', '6'))
  a.ring()
  b.ring()
  await until(() => box.numbers.length === 0)
  t.equal(end.bodies.length, 8)
})

test('nothing is begun while the node may not confirm; what is under way when another one owns it changes nothing', async (t) => {
  const responses: (() => void)[] = []
  const end = await FarEnd.listen(t, (_, response) => responses.push(() => response.end()))
  const boxes = outboxes(t, 2)
  const [box, other] = [nth(boxes.partitions, 0), nth(boxes.partitions, 1)]
  const owners = [newOwner(), newOwner()]
  const running = courier(t, {
    ...{ outboxes: boxes, owners: owners.map(({ position }) => position) },
    recipients: [recipient(one, end.url()), recipient(two, end.url())],
  })
  for (const owner of owners) owner.own()
  await running.start()
  for (const body of ['1', '2']) box.enqueue(notice(one, 'a', body))
  running.ring()
  await until(() => end.bodies.length === 1)
  // Its lease on the partition has run out, as that of a node that was paused has.
  nth(owners, 0).position.revoke()
  nth(responses, 0)()
  other.enqueue(notice(two, 'b', 'other'))
  running.ring()
  await until(() => end.bodies.length === 2)
  t.same(end.bodies, ['1', 'other'], 'what is owned is sent all the same')
  nth(responses, 1)()
  await until(() => other.numbers.length === 0)
  await until(async () => (await running.state(one))?.queueDepth === 1)
  nth(owners, 0).position.confirm(clockStart(), 3_600_000)
  await until(() => end.bodies.length === 3)
  t.same(end.bodies.at(-1), '2', 'it goes on when it may')

  nth(owners, 0).lose()
  await until(async () => (await running.state(one))?.queueDepth === 0)
  nth(responses, 2)()
  nth(owners, 0).own()
  await until(() => end.bodies.length === 4)
  t.same(end.bodies.at(-1), '2', 'it is read anew')
  nth(responses, 3)()
  await until(() => box.numbers.length === 0)
  t.match(box.stats(one), { sent: 2, tried: [] })
  t.match(running.figures.read(), { size: 0 })
})

test('an outbox that is about to be released is sent no more once what was under way is stored', async (t) => {
  const responses: (() => void)[] = []
  const end = await FarEnd.listen(t, (_, response) => responses.push(() => response.end()))
  const boxes = outboxes(t, 2)
  const [box, other] = [nth(boxes.partitions, 0), nth(boxes.partitions, 1)]
  const owners = [newOwner(), newOwner()]
  const recipients = [recipient(one, end.url()), recipient(two, end.url())]
  const running = courier(t, { outboxes: boxes, owners: owners.map(({ position }) => position), recipients })
  for (const owner of owners) owner.own()
  await running.start()
  for (const body of ['1', '2']) box.enqueue(notice(one, 'a', body))
  running.ring()
  await until(() => end.bodies.length === 1)
  let isReleased = false
  const released = running.courier.release(0, 1, 60_000).then(() => {
    isReleased = true
  })
  other.enqueue(notice(two, 'b', 'other'))
  running.ring()
  await until(() => end.bodies.length === 2)
  nth(responses, 1)()
  await until(() => other.numbers.length === 0)
  t.notOk(isReleased, 'what is under way is waited for')
  nth(responses, 0)()
  await released
  t.same(box.numbers, [2], 'its outcome is on disk')
  t.same(end.bodies, ['1', 'other'], 'nothing more is begun of it, and the others go on')

  nth(owners, 0).lose()
  nth(owners, 0).own()
  await until(() => end.bodies.length === 3)
  await running.courier.release(0, 2, 0) // A receiver that does not respond is waited for no longer.
  t.same(box.numbers, [2])
  nth(responses, 2)()
})

test('the release of an epoch that is over closes nothing of the one that came after it', async (t) => {
  const end = await FarEnd.listen(t)
  const boxes = outboxes(t, 1)
  const box = nth(boxes.partitions, 0)
  const owner = newOwner()
  const running = courier(t, { outboxes: boxes, owners: [owner.position], recipients: [recipient(one, end.url())] })
  owner.own()
  await running.start()
  owner.lose()
  owner.own()
  await until(async () => (await running.state(one)) !== undefined)
  box.enqueue(notice(one, 'a', 'first'))
  running.ring()
  await until(() => box.numbers.length === 0)
  // As a courier is told that was started meanwhile.
  await running.courier.release(0, 1, 60_000)
  box.enqueue(notice(one, 'a', 'second'))
  running.ring()
  await until(() => box.numbers.length === 0)
  t.same(end.bodies, ['first', 'second'])
})

test('clocks stand at the last notice of each outbox, whoever owns it', async (t) => {
  const end = await FarEnd.listen(t, responding(503))
  const boxes = outboxes(t, 2)
  const owners = [newOwner(), newOwner()]
  const made = (ago_ms: number) => ({ made: (now() - ago_ms) as Milliseconds })
  const [waiting, sent] = [made(20_000), made(10_000)]
  nth(boxes.partitions, 0).enqueue(notice(one, 'a', '{}', waiting))
  const stats = { sent: 1, discarded: 0, tried: [], fails: 0, lastNotification: sent.made }
  nth(boxes.partitions, 1).store([{ subscription: two, gone: [], stats }])
  const clocked = { throttling_ms: 60_000 }
  const recipients = [recipient(one, end.url(), { clocked }), recipient(two, end.url(), { clocked })]
  const running = courier(t, { outboxes: boxes, owners: owners.map(({ position }) => position), recipients })
  await running.start()
  t.same(
    recipients.map(({ clock }) => lastNotified(clock)),
    [waiting.made, sent.made],
  )
  // The partition comes with what was made meanwhile at the node that has owned it.
  const later = made(0)
  nth(boxes.partitions, 1).enqueue(notice(two, 'b', '{}', later))
  nth(owners, 1).own()
  await until(async () => (await running.state(two))?.queueDepth === 1)
  t.equal(lastNotified(nth(recipients, 1).clock), later.made)
})

test('an alarm of a receiver ends with the partition: another node tells how it is', async (t) => {
  const end = await FarEnd.listen(t, responding(503))
  const boxes = outboxes(t, 1)
  nth(boxes.partitions, 0).enqueue(notice(one, 'a', '{}'))
  const owner = newOwner()
  owner.own()
  const running = courier(t, { outboxes: boxes, owners: [owner.position], recipients: [recipient(one, end.url())] })
  await running.start()
  t.match(await until(() => running.alarms[0], 'an alarm'), { alarm: 'NotificationError', reason: /503/ })
  owner.lose()
  await until(() => running.alarms.at(-1)?.reason === undefined)
  t.match(await running.state(one), { queueDepth: 0 })
})

test('subscriptions that are not known yet when a partition comes are waited for', async (t) => {
  const end = await FarEnd.listen(t)
  const boxes = outboxes(t, 1)
  const box = nth(boxes.partitions, 0)
  const owner = newOwner()
  const running = courier(t, { outboxes: boxes, owners: [owner.position] })
  await running.start()
  const stats = { sent: 1, discarded: 0, tried: [], fails: 0 }
  box.store([{ subscription: one, gone: [], stats }])
  box.enqueue(notice(one, 'a', '1'))
  await running.courier.remove(two)
  box.store([{ subscription: two, gone: [], stats }])
  box.enqueue(notice(two, 'a', 'ended'))
  owner.own()
  await until(() => box.stats(two) === undefined && box.numbers.length === 1)
  t.same(box.numbers, [1], 'what was left of one that has ended is removed')
  running.courier.put(recipient(one, end.url()))
  await until(() => box.numbers.length === 0)
  t.same(end.bodies, ['1'])
  t.match(box.stats(one), { sent: 2 })
})

test('clients listen to what the node sends, and are told when that becomes less', async (t) => {
  const boxes = outboxes(t, 2)
  const box = nth(boxes.partitions, 0)
  const owners = [newOwner(), newOwner()]
  const running = courier(t, {
    ...{ outboxes: boxes, owners: owners.map(({ position }) => position) },
    recipients: [recipient(one, streamReference)],
  })
  const { port1, port2 } = new MessageChannel()
  const reports: StreamReport[] = []
  port1.on('message', (report: StreamReport) => reports.push(report))
  t.teardown(() => port1.close())
  const reported = async (report: Partial<StreamReport>): Promise<void> => {
    await until(() => reports.length > 0)
    t.match(reports.shift(), report)
  }
  const open = (stream: number, ago_ms = 0): void =>
    port1.postMessage({
      kind: 'open',
      stream,
      subscription: one,
      after: undefined,
      group: undefined,
      isExplicit: false,
      since: now() - ago_ms,
    })
  nth(owners, 0).own()
  await running.start()
  running.courier.connectStreams(port2)
  open(1)
  await reported({ kind: 'opened', stream: 1 })
  open(2, 2000)
  await reported({ kind: 'opened', stream: 2 })
  await reported({ kind: 'ended', stream: 2, why: 'replaced' })
  nth(boxes.partitions, 1).enqueue(notice(one, 'b', '{"n":0}'))
  nth(owners, 1).own()
  await reported({ kind: 'events', stream: 1, notices: 1 })
  box.enqueue(notice(one, 'a', '{"n":1}'))
  running.ring()
  await reported({ kind: 'events', stream: 1, notices: 1 })
  port1.postMessage({ kind: 'took', stream: 1, notices: 2 })
  nth(owners, 0).lose()
  await reported({ kind: 'ended', stream: 1, why: 'interrupted' })
  t.same(box.numbers, [1], 'what was not confirmed is sent by the node that comes next')
})
