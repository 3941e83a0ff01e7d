import { setTimeout as sleep } from 'node:timers/promises'
import { type Test, test } from 'tap'
import type { CourierSettings } from '../../src/delivery/courier.js'
import type { ServicePath, Tenant } from '../../src/model/context/entity.js'
import { templateText } from '../../src/model/expression/json-template.js'
import { stateOf } from '../../src/model/subscription/change.js'
import { lastNotified } from '../../src/model/subscription/clocks.js'
import type { BodyTerms } from '../../src/model/subscription/message.js'
import type { OrderingKey } from '../../src/model/subscription/notice.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import type { HttpTemplate } from '../../src/model/subscription/terms.js'
import { clockStart, type Milliseconds, now } from '../../src/time.js'
import { versionFacts } from '../../src/version.js'
import { attribute, entity } from '../context/given-entity.js'
import { FarEnd, responding } from '../far-end.js'
import { at } from '../given.js'
import { isStill, until } from '../until.js'
import { courier, notice, nth, outboxes, recipient, subscriptionId } from './given.js'

const one = subscriptionId(1)
const two = subscriptionId(2)
const initial: OrderingKey = { kind: 'initial' }
const tick: OrderingKey = { kind: 'tick' }

/** A courier that has begun, with one subscription that is notified at this end. */
async function sending(t: Test, end: FarEnd, settings: Partial<CourierSettings> = {}) {
  const running = courier(t, { recipients: [recipient(one, end.url())], settings })
  await running.start()
  return running
}

test('what waits at the start is delivered, its clock set, and its outcome stored', async (t) => {
  const end = await FarEnd.listen(t)
  const boxes = outboxes(t)
  const first = notice(one, 'a', '{"n":1}')
  nth(boxes.partitions, 0).enqueue(first)
  nth(boxes.partitions, 1).enqueue(notice(one, 'b', '{"n":2}', { made: first.made }))
  const known = recipient(one, end.url(), { clocked: { throttling_ms: 60_000 } })
  const running = courier(t, { outboxes: boxes, recipients: [known] })
  await running.start()
  t.equal(lastNotified(known.clock), first.made)
  await until(() => end.received.length === 2)
  await until(() => boxes.partitions.every(({ numbers }) => numbers.length === 0))
  t.same([...end.bodies].sort(), ['{"n":1}', '{"n":2}'])
  t.match(nth(boxes.partitions, 0).stats(one), { sent: 1, discarded: 0, tried: [], lastSuccessCode: 200, fails: 0 })
  t.match(await running.state(one), { timesSent: 2, lastNotification: first.made, queueDepth: 0, queueBytes: 0 })
  t.same(running.counts, ['notificationsSent', 'notificationsSent'])
  t.match(running.figures.read(), { in: 0, out: 2, sentOk: 2, reject: 0, sentError: 0, size: 0 })
})

test('a notification is sent with the headers of the request that caused it', async (t) => {
  const end = await FarEnd.listen(t)
  const running = courier(t, { recipients: [recipient(one, end.url('/in?x=1'))] })
  await running.start()
  const paths = ['/east', '/east'] as ServicePath[]
  nth(running.partitions, 1).enqueue(notice(one, 'a', '{"ü":1}', { tenant: 'acme' as Tenant, paths, token: 'tok' }))
  running.metadata.enqueue(notice(one, initial, '{}', { paths: ['/', '/'] as ServicePath[], after: [0, 1] }))
  running.ring()
  await until(() => end.received.length === 2)
  t.match(end.received[0], {
    ...{ method: 'POST', url: '/in?x=1', body: '{"ü":1}' },
    headers: {
      host: `127.0.0.1:${end.port}`,
      'user-agent': `rigel/${versionFacts.version}`,
      accept: 'application/json',
      'content-type': 'application/json; charset=utf-8',
      'content-length': '8',
      'fiware-servicepath': '/east,/east',
      'fiware-service': 'acme',
      'x-auth-token': 'tok',
      'fiware-correlator': 'corr-1',
      'rigel-notification-id': `${one}-1-1`,
    },
  })
  const { headers = {} } = end.received[1] ?? {}
  t.equal(headers['fiware-servicepath'], '/')
  t.equal(headers['rigel-notification-id'], `${one}-2-1`)
  t.notOk('fiware-service' in headers || 'x-auth-token' in headers || 'ngsiv2-attrsformat' in headers)
})

test('a notification in trouble is repeated as it was until it is accepted, and everything else waits behind one', async (t) => {
  const end = await FarEnd.listen(t, responding(503))
  const running = await sending(t, end, { retryMin_ms: 30, retryMax_ms: 30 })
  for (const line of ['a', 'b', 'c']) nth(running.partitions, 0).enqueue(notice(one, line, line))
  running.ring()
  await until(() => end.received.length >= 5)
  // The three went out together; from then on one at a time asks whether things are better.
  const times = end.received.slice(3).map(({ at }) => at)
  t.ok(
    times.every((at, index) => index === 0 || at - nth(times, index - 1) >= 20),
    'pauses lie between',
  )
  await until(async () => ((await running.state(one))?.failsCounter ?? 0) >= 4)
  const state = await running.state(one)
  t.match(state, { timesSent: 3, queueDepth: 3, lastFailureReason: 'trouble: 503', discarded: 0 })
  end.respond = responding(204)
  await until(() => nth(running.partitions, 0).numbers.length === 0)
  t.match(await running.state(one), { timesSent: 3, queueDepth: 0, failsCounter: 0, lastSuccessCode: 204 })
  const ids = end.received.map(({ headers, body }) => `${body} ${headers['rigel-notification-id']}`)
  t.equal(new Set(ids).size, 3, 'the same id at every attempt')
  t.match(running.alarms.at(0), {
    alarm: 'NotificationError',
    subject: end.url(),
    reason: 'trouble: 503',
  })
  t.match(running.alarms.at(-1), { subject: end.url(), reason: undefined })
})

test('the alarm of a receiver is about the URL that its subscription gives, wherever each message goes', async (t) => {
  const end = await FarEnd.listen(t, responding(503))
  const running = courier(t, { recipients: [recipient(one, end.url('/vats/${id}'))] })
  await running.start()
  const told = (line: string) => notice(one, line, line, { message: { url: end.url(`/vats/${line}?v=${line}`) } })
  nth(running.partitions, 0).enqueue(told('a'))
  running.ring()
  await until(() => running.alarms.length > 0)
  end.respond = ({ url }, response) => response.writeHead(url.startsWith('/vats/a') ? 503 : 204).end()
  nth(running.partitions, 0).enqueue(told('b'))
  running.ring()
  await until(() => running.alarms.some(({ reason }) => reason === undefined))
  t.same([...new Set(running.alarms.map(({ subject }) => subject))], [end.url('/vats/${id}')])
})

test('an alarm ends when nobody is left whose attempts failed there', async (t) => {
  const end = await FarEnd.listen(t, responding(503))
  const three = subscriptionId(3)
  const recipients = [one, two, three].map((id) => recipient(id, end.url()))
  const running = courier(t, { recipients, settings: { retryMin_ms: 60_000, retryMax_ms: 60_000 } })
  await running.start()
  nth(running.partitions, 0).enqueue(notice(one, 'a', 'a'), notice(two, 'b', 'b'))
  running.ring()
  await until(() => running.alarms.length === 2)
  await running.courier.remove(three)
  await running.courier.remove(one)
  t.notOk(running.alarms.some(({ reason }) => reason === undefined))
  const elsewhere = await FarEnd.listen(t)
  running.courier.put(recipient(two, elsewhere.url()))
  t.match(running.alarms.at(-1), { alarm: 'NotificationError', subject: end.url(), reason: undefined })
  await until(() => elsewhere.received.length === 1)
  t.equal(running.alarms.length, 3)
})

test('the next one of a line waits for the one before; a refusal stops its line and no other', async (t) => {
  const end = await FarEnd.listen(t, async ({ body }, response) => {
    if (body === 'a1') await until(() => end.bodies.includes('b2'))
    response.writeHead(body === 'a1' ? 404 : 200).end()
  })
  const running = await sending(t, end, { retryMin_ms: 40, retryMax_ms: 40 })
  nth(running.partitions, 0).enqueue(
    notice(one, 'a', 'a1'),
    notice(one, 'a', 'a2'),
    notice(one, 'b', 'b1'),
    notice(one, 'b', 'b2'),
  )
  running.ring()
  await until(() => end.received.length >= 4)
  t.same(end.bodies.slice(0, 3).sort(), ['a1', 'b1', 'b2'])
  t.same(end.bodies.slice(3, 4), ['a1'], 'repeated after its pause')
  t.notOk(end.bodies.includes('a2'))
  t.match(await running.state(one), { lastFailureReason: 'refused: 404', queueDepth: 2, nextAttempt: undefined })
  end.respond = responding(200)
  await until(() => end.bodies.includes('a2'))
})

test('a changed subscription starts at once, to its new reference', async (t) => {
  const down = await FarEnd.listen(t, responding(500))
  const end = await FarEnd.listen(t)
  const running = await sending(t, down, { retryMin_ms: 60_000, retryMax_ms: 60_000 })
  const begun = Date.now()
  nth(running.partitions, 0).enqueue(notice(one, 'a', 'a1'))
  running.ring()
  await until(() => running.alarms.length > 0)
  const { nextAttempt = 0 } = (await running.state(one)) ?? {}
  t.ok(nextAttempt > begun + 40_000)
  running.courier.put(recipient(one, end.url()))
  await until(() => end.received.length === 1)
  t.equal(down.received.length, 1)
})

test('a receiver can ask for a longer pause, up to the longest', async (t) => {
  const end = await FarEnd.listen(t, responding(503, { 'Retry-After': '3600' }))
  const running = await sending(t, end, { retryMin_ms: 1, retryMax_ms: 5000 })
  const begun = Date.now()
  nth(running.partitions, 0).enqueue(notice(one, 'a', 'a1'))
  running.ring()
  await until(() => running.alarms.length > 0)
  const { nextAttempt = 0 } = (await running.state(one)) ?? {}
  t.ok(nextAttempt > begun + 4000 && nextAttempt <= Date.now() + 5000)
})

test('an initial notification goes after all earlier ones and before all later ones', async (t) => {
  const end = await FarEnd.listen(t, responding(404))
  const running = await sending(t, end)
  const [left, right] = [nth(running.partitions, 0), nth(running.partitions, 1)]
  left.enqueue(notice(one, 'a', 'early a'))
  right.enqueue(notice(one, 'b', 'early b'))
  running.metadata.enqueue(
    notice(one, initial, 'initial 1', { after: [1, 1] }),
    notice(one, initial, 'initial 2', { after: [1, 1] }),
  )
  left.enqueue(notice(one, 'a', 'late a'), notice(one, 'c', 'late c'))
  running.ring()
  await until(() => end.received.length >= 6)
  t.same([...new Set(end.bodies)].sort(), ['early a', 'early b'])
  end.received.length = 0
  end.respond = responding(200)
  await until(() => end.received.length === 6)
  const order = end.bodies.map((body) => body.replace(/ [abc]$/, ''))
  t.same(order, ['early', 'early', 'initial 1', 'initial 2', 'late', 'late'])
})

test('a barrier does not wait for numbers that have left before the start', async (t) => {
  const end = await FarEnd.listen(t)
  const boxes = outboxes(t)
  nth(boxes.partitions, 0).enqueue(notice(one, 'a', 'gone'))
  nth(boxes.partitions, 0).store([{ subscription: one, gone: [1], stats: undefined }])
  boxes.metadata.enqueue(notice(one, initial, 'initial', { after: [1, 0] }))
  const running = courier(t, { outboxes: boxes, recipients: [recipient(one, end.url())] })
  await running.start()
  await until(() => end.bodies.includes('initial'))
})

test('of ticks only the newest waits', async (t) => {
  const end = await FarEnd.listen(t, responding(500))
  const running = await sending(t, end, { retryMin_ms: 50, retryMax_ms: 50 })
  running.metadata.enqueue(notice(one, tick, '1'))
  running.ring()
  await until(() => running.alarms.length > 0)
  const later = (by_ms: number) => ({ made: (Date.now() + by_ms) as Milliseconds })
  // The newest one takes two messages.
  const newest = later(2000)
  running.metadata.enqueue(
    notice(one, tick, '2', later(1000)),
    notice(one, tick, '3', newest),
    notice(one, tick, '4', newest),
  )
  running.ring()
  await until(() => running.metadata.numbers.length === 2)
  end.respond = responding(200)
  await until(() => running.metadata.numbers.length === 0)
  t.same(end.bodies.slice(-2), ['3', '4'])
  t.notOk(end.bodies.includes('2'))
  t.match(await running.state(one), { discarded: 0, timesSent: 3 })
})

test('a tick that fails gives way to a newer one', async (t) => {
  let respond = (): unknown => undefined
  const end = await FarEnd.listen(t, (_, response) => {
    respond = () => response.writeHead(404).end()
  })
  const running = await sending(t, end)
  running.metadata.enqueue(notice(one, tick, '1'))
  running.ring()
  await until(() => end.received.length === 1)
  running.metadata.enqueue(notice(one, tick, '2'))
  running.ring()
  await until(() => running.figures.read().in === 2)
  end.respond = responding(200)
  respond()
  await until(() => running.metadata.numbers.length === 0)
  t.same(end.bodies, ['1', '2'])
})

test('what is not accepted in time is dropped when its time has come, counted and warned of once', async (t) => {
  const end = await FarEnd.listen(t, responding(500))
  const running = await sending(t, end, { retention_ms: 200, retryMin_ms: 60_000 })
  nth(running.partitions, 0).enqueue(notice(one, 'a', 'a1'), notice(one, 'b', 'b1'))
  running.ring()
  await until(() => nth(running.partitions, 0).numbers.length === 0)
  t.match(await running.state(one), { discarded: 2, queueDepth: 0, queueBytes: 0 })
  t.match(running.figures.read(), { in: 2, out: 2, reject: 2, sentOk: 0, size: 0 })
  t.match(nth(running.partitions, 0).stats(one), { discarded: 2, tried: [] })
  t.same(
    running.lines.map(({ level, message }) => `${level} ${message}`),
    [`WARN notifications of subscription ${one} are dropped: not accepted within 0.2 s`],
  )
})

test('a queue that is full drops its oldest, and says before that it is nearly full', async (t) => {
  const end = await FarEnd.listen(t, responding(500))
  const running = await sending(t, end, { queueMax: 10, retryMin_ms: 60_000, retryMax_ms: 60_000 })
  for (let number = 1; number <= 12; number += 1) nth(running.partitions, 0).enqueue(notice(one, 'a', String(number)))
  running.ring()
  await until(() => nth(running.partitions, 0).numbers.length === 10)
  t.same(nth(running.partitions, 0).numbers, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  t.match(await running.state(one), { discarded: 2, queueDepth: 10 })
  t.match(running.lines, [{ message: /nearly full: 9 notifications/ }, { message: /are dropped: 11 are waiting/ }])
  running.courier.put(recipient(one, (await FarEnd.listen(t)).url()))
  await until(() => nth(running.partitions, 0).numbers.length === 0)
})

test('beyond the space for all, the oldest of the largest subscription are dropped', async (t) => {
  const end = await FarEnd.listen(t, responding(500))
  const recipients = [recipient(one, end.url()), recipient(two, end.url())]
  const running = courier(t, { recipients, settings: { bytesMax: 5000, retryMin_ms: 60_000, retryMax_ms: 60_000 } })
  await running.start()
  nth(running.partitions, 0).enqueue(notice(two, 'a', 'small'))
  for (let number = 1; number <= 10; number += 1) nth(running.partitions, 1).enqueue(notice(one, 'a', 'x'.repeat(900)))
  running.ring()
  await until(() => nth(running.partitions, 1).numbers.length <= 5)
  t.match(await running.state(two), { discarded: 0, queueDepth: 1 })
  const state = await running.state(one)
  t.ok((state?.queueBytes ?? 0) <= 5000)
  t.ok((state?.discarded ?? 0) >= 5)
})

test('beyond the number for all, the oldest of the largest subscription are dropped', async (t) => {
  const end = await FarEnd.listen(t, responding(500))
  const recipients = [recipient(one, end.url()), recipient(two, end.url())]
  const running = courier(t, { recipients, settings: { noticesMax: 6, retryMin_ms: 60_000, retryMax_ms: 60_000 } })
  await running.start()
  nth(running.partitions, 0).enqueue(notice(two, 'a', 'small'))
  for (let number = 1; number <= 10; number += 1) nth(running.partitions, 1).enqueue(notice(one, 'a', 'x'))
  running.ring()
  await until(() => nth(running.partitions, 1).numbers.length === 5)
  t.match(await running.state(two), { discarded: 0, queueDepth: 1 })
  t.match(await running.state(one), { discarded: 5, queueDepth: 5 })
  t.match(running.lines, [{ message: /are dropped: \d+ wait in all/ }, { message: /nearly full: 6 wait, of / }])
})

test('a message that is too long is dropped at once, its head counted', async (t) => {
  const end = await FarEnd.listen(t)
  const running = await sending(t, end, { maxSize: 600 })
  nth(running.partitions, 0).enqueue(
    notice(one, 'a', 'x'.repeat(500)),
    notice(one, 'a', 'y'.repeat(600)),
    notice(one, 'a', 'fits'),
  )
  running.ring()
  await until(() => nth(running.partitions, 0).numbers.length === 0)
  t.same(end.bodies, ['fits'])
  t.match(await running.state(one), { discarded: 2, timesSent: 1 })
  t.match(running.lines, [{ message: /bytes are more than a notification may have/ }])
})

test('with the end of a subscription nothing of it is begun any more, and nothing is left of it', async (t) => {
  const end = await FarEnd.listen(t, responding(404))
  const running = await sending(t, end, { retryMin_ms: 20, retryMax_ms: 20 })
  const partition = nth(running.partitions, 0)
  partition.enqueue(notice(one, 'a', 'a1'), notice(one, 'a', 'a2'))
  running.ring()
  await until(() => partition.stats(one)?.sent === 1)
  partition.enqueue(notice(one, 'a', 'not read yet'))
  await running.courier.remove(one)
  running.ring()
  await until(() => partition.numbers.length === 0 && partition.stats(one) === undefined)
  await until(
    isStill(10, () => end.received.length),
    'none is on its way any more',
  )
  const before = end.received.length
  await sleep(100)
  t.equal(end.received.length, before)
  t.equal(await running.state(one), undefined)
  t.match(running.figures.read(), { reject: 0, size: 0 })
})

test('expiry drops what waits without counting it, and a revived subscription begins anew', async (t) => {
  const end = await FarEnd.listen(t, responding(404))
  const running = await sending(t, end, { retryMin_ms: 60_000, retryMax_ms: 60_000 })
  const partition = nth(running.partitions, 0)
  partition.enqueue(notice(one, 'a', 'a1'), notice(one, 'a', 'a2'))
  running.ring()
  await until(() => partition.stats(one)?.sent === 1)
  running.courier.put(recipient(one, end.url(), { expires: Date.now() as Milliseconds }))
  await until(() => partition.numbers.length === 0)
  partition.enqueue(notice(one, 'a', 'a3'))
  await running.courier.expire(one)
  t.same(partition.numbers, [], 'the response says that it is on disk')
  t.match(await running.state(one), { discarded: 0, queueDepth: 0, timesSent: 1 })
  running.courier.put(recipient(one, end.url()))
  partition.enqueue(notice(one, 'a', 'a4'))
  running.ring()
  await until(() => end.bodies.includes('a4'))
  t.same(end.bodies, ['a1', 'a4'])
})

test('nothing of a subscription on hold is begun until it is put', async (t) => {
  const end = await FarEnd.listen(t)
  const running = courier(t)
  await running.start()
  await running.courier.hold(one)
  nth(running.partitions, 0).enqueue(notice(one, 'a', 'a1'), notice(two, 'a', 'of an unknown one'))
  running.ring()
  await until(() => running.figures.read().in === 2)
  await sleep(20)
  t.equal(end.received.length, 0)
  running.courier.put(recipient(one, end.url()))
  running.courier.put(recipient(two, end.url()))
  await until(() => end.received.length === 2)
})

test('what belongs to nobody at the start is removed', async (t) => {
  const boxes = outboxes(t)
  const partition = nth(boxes.partitions, 0)
  partition.enqueue(notice(one, 'a', 'a1'))
  partition.store([{ subscription: two, gone: [], stats: { sent: 1, discarded: 0, tried: [], fails: 0 } }])
  const running = courier(t, { outboxes: boxes })
  await running.start()
  await until(() => partition.numbers.length === 0 && partition.stats(two) === undefined)
})

test('how it went outlives the courier: attempts are not counted twice, failures are remembered', async (t) => {
  const end = await FarEnd.listen(t, responding(503))
  const boxes = outboxes(t)
  const slow = { retryMin_ms: 60_000, retryMax_ms: 60_000 }
  const before = courier(t, { outboxes: boxes, recipients: [recipient(one, end.url())], settings: slow })
  await before.start()
  nth(boxes.partitions, 0).enqueue(notice(one, 'a', 'a1'))
  before.ring()
  await until(() => nth(boxes.partitions, 0).stats(one)?.fails === 1)
  t.same(nth(boxes.partitions, 0).stats(one)?.tried, [1])
  await before.drain()
  t.equal(end.received.length, 1, 'the end does not wait for a pause')
  const after = courier(t, { outboxes: boxes, recipients: [recipient(one, end.url())], settings: slow })
  await after.start()
  await until(() => nth(boxes.partitions, 0).stats(one)?.fails === 2)
  t.match(await after.state(one), { timesSent: 1, failsCounter: 2, lastFailureReason: 'trouble: 503', queueDepth: 1 })
})

test('an orderly end sends what can be sent and leaves what cannot', async (t) => {
  const good = await FarEnd.listen(t)
  const hanging = await FarEnd.listen(t, () => undefined)
  const running = courier(t, {
    recipients: [recipient(one, good.url()), recipient(two, hanging.url())],
    settings: { perReceiver: 1 },
  })
  await running.start()
  const many = Array.from({ length: 60 }, (_, number) => notice(one, `${number % 7}`, String(number)))
  nth(running.partitions, 0).enqueue(...many)
  nth(running.partitions, 1).enqueue(notice(two, 'a', 'a1'))
  await running.drain(60_000)
  t.equal(good.received.length, 60)
  t.same(nth(running.partitions, 0).numbers, [])
  t.same(nth(running.partitions, 1).numbers, [1])
})

test('an orderly end does not send to its end what has waited for long', async (t) => {
  const slow = await FarEnd.listen(t, async (_, response) => {
    await sleep(5)
    response.end()
  })
  const running = await sending(t, slow, { perReceiver: 1 })
  const partition = nth(running.partitions, 0)
  // They take 50 s at least.
  const waiting = Array.from({ length: 10_000 }, (_, number) => notice(one, 'a', String(number)))
  partition.enqueue(...waiting)
  await running.drain(3_600_000)
  t.ok(partition.numbers.length > 0)
  t.equal(partition.numbers.length + slow.received.length, waiting.length, 'what was begun is finished')
})

test('an orderly end stores the outcome of every attempt, however slow the disk is', async (t) => {
  const end = await FarEnd.listen(t)
  const running = await sending(t, end, { perReceiver: 64 })
  const partition = nth(running.partitions, 0)
  partition.delay_ms = 2500
  partition.enqueue(...Array.from({ length: 300 }, (_, number) => notice(one, String(number), String(number))))
  await running.drain(60_000)
  t.equal(partition.numbers.length, 300 - end.received.length, 'nothing that was accepted is sent again')
  t.match(partition.stats(one), { sent: end.received.length, tried: [] })
})

test('an orderly end does not go on for receivers that fail again and again', async (t) => {
  const hanging = await FarEnd.listen(t, () => undefined)
  const ids = Array.from({ length: 8 }, (_, number) => subscriptionId(number + 1))
  const running = courier(t, {
    recipients: ids.map((id) => recipient(id, hanging.url())),
    settings: { timeout_ms: 20, retryMin_ms: 1, retryMax_ms: 1 },
  })
  await running.start()
  nth(running.partitions, 0).enqueue(...ids.map((id) => notice(id, 'a', 'a1')))
  running.ring()
  await until(() => hanging.received.length > ids.length)
  // Longer than a test may take.
  await running.drain(3_600_000)
  t.equal(nth(running.partitions, 0).numbers.length, ids.length)
})

test('at an orderly end a receiver is not given up because the process stood still', async (t) => {
  const { now: wall } = performance
  let stood_ms = 0
  performance.now = () => wall.call(performance) + stood_ms
  t.teardown(() => {
    performance.now = wall
  })
  const end = await FarEnd.listen(t, async ({ body }, response) => {
    if (body === '5') {
      // Between two attempts, so that only the clock has gone on at the next look.
      await sleep(50)
      stood_ms += 5000
      await sleep(50)
    }
    response.end()
  })
  const running = await sending(t, end)
  nth(running.partitions, 0).enqueue(...Array.from({ length: 10 }, (_, number) => notice(one, 'a', String(number))))
  await running.drain(60_000)
  t.equal(end.received.length, 10)
})

test('acks that are refused are repeated until they are stored', async (t) => {
  const end = await FarEnd.listen(t)
  const running = await sending(t, end)
  const partition = nth(running.partitions, 0)
  partition.refuse = true
  partition.enqueue(notice(one, 'a', 'a1'), notice(one, 'a', 'a2'))
  running.ring()
  await until(() => end.received.length === 2)
  // The second one was received; that it was answered is known to the courier a moment later.
  await until(async () => (await running.state(one))?.queueDepth === 0)
  t.same(partition.numbers, [1, 2], 'the line went on meanwhile')
  partition.refuse = false
  await until(() => partition.numbers.length === 0)
  t.match(partition.stats(one), { sent: 2, fails: 0 })
})

test('outcomes are stored without a further one, however long the batch before them takes', async (t) => {
  const end = await FarEnd.listen(t)
  const running = await sending(t, end)
  const partition = nth(running.partitions, 0)
  partition.delay_ms = 200
  partition.enqueue(notice(one, 'a', 'a1'))
  running.ring()
  await until(async () => (await running.state(one))?.queueDepth === 0)
  await sleep(60) // Its ack is under way now.
  partition.enqueue(notice(one, 'a', 'a2'))
  running.ring()
  await until(async () => end.received.length === 2 && (await running.state(one))?.queueDepth === 0)
  await running.courier.expire(one)
  t.same(partition.numbers, [], 'the response says that it is on disk')
})

test('a receiver that hangs makes only its own notifications wait, and subscriptions of one receiver take turns', async (t) => {
  const waiting: (() => void)[] = []
  const hanging = await FarEnd.listen(t, (_, response) => waiting.push(() => response.end()))
  const good = await FarEnd.listen(t)
  const [three, four] = [subscriptionId(3), subscriptionId(4)]
  const running = courier(t, {
    recipients: [
      recipient(one, hanging.url()),
      recipient(two, good.url()),
      recipient(three, good.url('/3')),
      recipient(four, good.url('/4')),
    ],
    settings: { perReceiver: 2, total: 5 },
  })
  await running.start()
  for (let line = 0; line < 10; line += 1)
    nth(running.partitions, 0).enqueue(notice(one, String(line), 'x'), notice(two, String(line), 'x'))
  running.ring()
  await until(() => good.received.length === 10)
  t.equal(hanging.received.length, 2)
  for (const id of [three, four])
    for (let line = 0; line < 20; line += 1) nth(running.partitions, 1).enqueue(notice(id, String(line), 'x'))
  running.ring()
  await until(() => good.received.length === 50)
  const first = good.received.slice(10, 30).filter(({ url }) => url === '/3').length
  t.ok(first >= 8 && first <= 12, `${first} of the first 20 are of one of the two`)
  hanging.respond = responding(200)
  for (const release of waiting) release()
  await until(() => hanging.received.length === 10)
})

test('notifications under way have a limited number of bytes in all, and a quarter of them for one receiver', async (t) => {
  const waiting: (() => void)[] = []
  const ends = await Promise.all(Array.from({ length: 10 }, () => FarEnd.listen(t)))
  const ids = ends.map((_, number) => subscriptionId(number + 1))
  const running = courier(t, {
    recipients: ends.map((end, number) => recipient(nth(ids, number), end.url())),
    settings: { underWay_bytes: 4 * 2500 },
  })
  await running.start()
  for (const id of ids) nth(running.partitions, 0).enqueue(notice(id, 'first', 'x'))
  running.ring()
  await until(() => nth(running.partitions, 0).numbers.length === 0)
  for (const end of ends) {
    end.received.length = 0
    end.respond = (_, response) => waiting.push(() => response.end())
  }
  // Some 1100 bytes each: three take the share of a receiver, ten take all.
  const body = 'x'.repeat(1000)
  for (const id of ids)
    for (let line = 0; line < 8; line += 1) nth(running.partitions, 0).enqueue(notice(id, String(line), body))
  running.ring()
  const received = () => ends.map((end) => end.received.length)
  const sum = () => received().reduce((a, b) => a + b, 0)
  await until(() => sum() >= 9)
  await sleep(100)
  t.ok(sum() <= 10, `${sum()} under way`)
  t.ok(Math.max(...received()) <= 3, `${received()}`)
  for (const end of ends) end.respond = responding(200)
  for (const release of waiting) release()
  await until(() => sum() === 80)
  await until(() => nth(running.partitions, 0).numbers.length === 0)
})

test('one notification that is larger than all of them may be is sent alone', async (t) => {
  const end = await FarEnd.listen(t)
  const running = await sending(t, end, { underWay_bytes: 100 })
  nth(running.partitions, 0).enqueue(notice(one, 'a', 'x'.repeat(5000)), notice(one, 'b', 'y'.repeat(5000)))
  running.ring()
  await until(() => end.received.length === 2)
})

test('simulated notifications are counted as accepted and go nowhere', async (t) => {
  const end = await FarEnd.listen(t)
  const running = await sending(t, end, { simulated: true })
  nth(running.partitions, 0).enqueue(notice(one, 'a', 'a1'), notice(two, 'a', 'b1'))
  running.ring()
  await until(() => nth(running.partitions, 0).numbers.length === 1)
  running.courier.put(recipient(two, end.url()))
  await until(() => nth(running.partitions, 0).numbers.length === 0)
  t.equal(end.received.length, 0)
  t.same(running.counts, ['simulatedNotifications', 'simulatedNotifications'])
  t.match(await running.state(one), { timesSent: 1, queueDepth: 0, failsCounter: 0 })
  t.match(running.figures.read(), { in: 2, out: 2, sentOk: 2, sentError: 0, reject: 0 })
  t.equal(running.figures.sums.value('notifications.simulated'), 2)
})

test('availability notifications are counted as such', async (t) => {
  const end = await FarEnd.listen(t)
  const running = courier(t, { recipients: [recipient(one, end.url(), { kind: 'availability' })] })
  await running.start()
  running.metadata.enqueue(notice(one, { kind: 'availability' }, '1'), notice(one, { kind: 'availability' }, '2'))
  running.ring()
  await until(() => running.counts.length === 2)
  t.same(end.bodies, ['1', '2'])
  t.same(running.counts, ['availabilityNotificationsSent', 'availabilityNotificationsSent'])
})

test('attempts have a line at level INFO, and traces that hide secrets', async (t) => {
  const end = await FarEnd.listen(t, (_, response) => response.writeHead(404).end('go away'))
  const url = end.url('/in?token=abc&x=1')
  const running = courier(t, {
    recipients: [recipient(one, url)],
    level: 'INFO',
    traces: [161, 162, 165, 182, 183, 185],
  })
  await running.start()
  nth(running.partitions, 0).enqueue(notice(one, 'a', '{\n "n": 1 }', { token: 'secret' }))
  running.ring()
  const message = (op: string) => running.lines.find((line) => line.op === op)?.message
  await until(() => message('notif:delivery') !== undefined && message('payload.client.in') !== undefined)
  const shown = url.replace('abc', '***')
  t.equal(
    message('notif:delivery'),
    `Notif failed (subId: ${one}): POST ${shown}, payload (11 bytes): { "n": 1 }, response code: 404`,
  )
  t.match(running.lines.find(({ op }) => op === 'notif:delivery')?.context, {
    corr: 'corr-1',
    trans: '1',
    srv: '<none>',
    subsrv: '/',
  })
  t.equal(message('notify.request'), `POST ${shown}, 11 bytes`)
  t.match(message('notify.response'), /^refused: 404 after 0\.\d{9} s$/)
  t.equal(message('payload.client.in'), 'go away')
  t.equal(message('payload.client.out'), '{ "n": 1 }')
  t.match(message('notify.queue'), /put into the queue/)
  t.match(message('payload.client.dump'), /"X-Auth-Token":"\*\*\*"/)
  t.notMatch(JSON.stringify(running.lines), /secret|abc/)
})

test('what many are told of one change goes to each rendered for it, in order, and again after a restart', async (t) => {
  const end = await FarEnd.listen(t, responding(503))
  const boxes = outboxes(t)
  const ids = Array.from({ length: 300 }, (_, at) => subscriptionId(at))
  const listeningAt = (url: string) =>
    ids.map((id, number) => recipient(id, url, { attributes: number % 2 === 0 ? [] : ['level'] }))
  const settings = { retryMin_ms: 20, retryMax_ms: 20 }
  const { subscription: _, body: __, after: ___, ...common } = notice(one, 'a', '')
  const noticeOf = (value: string) => ({
    ...common,
    subscriptions: ids,
    entity: entity({ attributes: [attribute('door', 'x'.repeat(2000)), attribute('level', value)] }),
  })
  const first = courier(t, { outboxes: boxes, recipients: listeningAt(end.url()), settings })
  await first.start()
  nth(boxes.partitions, 0).enqueue(noticeOf('1'), noticeOf('2'))
  first.ring()
  await until(() => end.received.length >= 300)
  await first.drain(0)
  t.equal(nth(boxes.partitions, 0).numbers.length, 600, 'nothing was accepted, so nothing has left')
  // What the first courier has given up may still arrive at the end that it knows.
  const later = await FarEnd.listen(t, responding(200))
  const again = courier(t, { outboxes: boxes, recipients: listeningAt(later.url()), settings })
  await again.start()
  await until(() => nth(boxes.partitions, 0).numbers.length === 0)
  for (const [number, id] of ids.entries()) {
    const own = later.bodies.map((body) => JSON.parse(body)).filter(({ subscriptionId: of }) => of === id)
    const shown = own.map(({ contextResponses: [{ contextElement }] }) =>
      contextElement.attributes.map(
        ({ name, value }: { name: string; value: string }) => `${name}=${value.slice(0, 1)}`,
      ),
    )
    t.same(
      shown,
      number % 2 === 0
        ? [
            ['door=x', 'level=1'],
            ['door=x', 'level=2'],
          ]
        : [['level=1'], ['level=2']],
    )
  }
})

/** The terms of a body with this template. */
function withTemplate(id: SubscriptionId, custom: HttpTemplate): BodyTerms {
  const target = { kind: 'http', timeout_ms: 0, custom } as const
  const shown = { format: 'normalized', excepts: false, metadata: [], onlyChanged: false, covered: false } as const
  return { id, attributes: [], onMetadata: true, notification: { target, ...shown } }
}

test('bodies by templates are rendered when they are sent, by the terms of their change; one that cannot be is dropped', async (t) => {
  const end = await FarEnd.listen(t, responding(200))
  const ids = [1, 2, 3, 4].map(subscriptionId)
  const recipients = ids.map((id) => recipient(id, end.url()))
  const running = courier(t, { recipients })
  await running.start()
  const { subscription: _, body: __, correlator: ___, message: ____, after: _____, ...common } = notice(one, 'a', '')
  const templates: readonly HttpTemplate[] = [
    { payload: '${level} of ${id}' },
    { json: templateText({ all: '${level}' }) },
    { payload: '${level' },
    { payload: '${level|len}${door|len}${door|len}' },
  ]
  const messages = templates.map((custom, at) => ({
    correlator: `c; cbnotif=${at + 1}`,
    message: { format: 'custom', url: `${end.url()}/${at}`, headers: [['x-own', String(at)]] as const },
    terms: withTemplate(nth(ids, at), custom),
  }))
  const tank = entity({ id: 'Tank1', attributes: [attribute('door', 'x'.repeat(50_000)), attribute('level', '7')] })
  const shown = { change: stateOf(common.tenant, tank), time: common.made, steps: 4000 }
  nth(running.partitions, 0).enqueue({ ...common, subscriptions: ids, messages, shown })
  running.ring()
  await until(() => nth(running.partitions, 0).numbers.length === 0)
  t.same([...end.bodies].sort(), ['1nullnull', '7 of Tank1', '{"all":"7"}'])
  t.match(await running.state(nth(ids, 2)), { discarded: 1, timesSent: 0 })
  const lines = running.lines.map((line) => JSON.stringify(line)).join('\n')
  t.match(lines, /a notification of subscription \w+3 is dropped: a macro of its template does not end/)
  t.match(lines, /the template of subscription \w+4 takes too long for Tank1 \(.*\): if it needs more than 4000 steps/)
})

test('of notifications by templates that are dropped, and of bodies that take too long, each subscription has a line every 10 s', async (t) => {
  const end = await FarEnd.listen(t, responding(200))
  const ids = [1, 2].map(subscriptionId)
  const running = courier(t, { recipients: ids.map((id) => recipient(id, end.url())) })
  await running.start()
  const { subscription: _, body: __, correlator: ___, message: ____, after: _____, ...common } = notice(one, 'a', '')
  const templates: readonly HttpTemplate[] = [{ payload: '${level' }, { payload: '${door|len}${door|len}' }]
  const messages = templates.map((custom, at) => ({
    correlator: `c; cbnotif=${at + 1}`,
    message: { format: 'custom', url: end.url(), headers: [] },
    terms: withTemplate(nth(ids, at), custom),
  }))
  const tank = entity({ id: 'Tank1', attributes: [attribute('door', 'x'.repeat(50_000))] })
  const shown = { change: stateOf(common.tenant, tank), time: common.made, steps: 4000 }
  for (let round = 0; round < 5; round += 1) {
    nth(running.partitions, 0).enqueue({ ...common, subscriptions: ids, messages, shown })
  }
  running.ring()
  await until(() => nth(running.partitions, 0).numbers.length === 0)
  t.match(await running.state(nth(ids, 0)), { discarded: 5, timesSent: 0 })
  const lines = running.lines.map((line) => JSON.stringify(line))
  for (const what of ['is dropped: a macro of its template does not end', 'takes too long for Tank1']) {
    t.equal(lines.filter((line) => line.includes(what)).length, 1, what)
  }
  t.equal(lines.filter((line) => line.includes('notif:drop')).length, 1)
})

test('a notification that turns out too long when it is rendered is dropped and counted, and the next one goes', async (t) => {
  const end = await FarEnd.listen(t, responding(200))
  const [small, large] = [subscriptionId(1), subscriptionId(2)]
  const running = courier(t, {
    recipients: [recipient(small, end.url(), { attributes: ['level'] }), recipient(large, end.url())],
    settings: { maxSize: 2000 },
  })
  await running.start()
  const { subscription: _, body: __, after: ___, ...common } = notice(one, 'a', '')
  const tank = entity({ attributes: [attribute('door', 'x'.repeat(3000)), attribute('level', '1')] })
  nth(running.partitions, 0).enqueue(
    { ...common, subscriptions: [small, large], entity: tank },
    notice(large, 'a', '{}'),
  )
  running.ring()
  await until(() => nth(running.partitions, 0).numbers.length === 0)
  t.equal(end.received.length, 2)
  t.match(await running.state(large), { discarded: 1, timesSent: 1, queueDepth: 0 })
  t.match(await running.state(small), { discarded: 0, timesSent: 1, queueDepth: 0 })
})

test('a clock of the day that jumps makes nothing that waits older, also after a restart of the courier', async (t) => {
  const end = await FarEnd.listen(t, responding(500))
  const settings = { retention_ms: 60_000, retryMin_ms: 60_000, clock: clockStart() }
  const wall = Date.now
  const hour_ms = 3_600_000
  let jumped_ms = 0
  t.intercept(Date, 'now', { value: () => wall() + jumped_ms })
  const owned = outboxes(t)
  nth(owned.partitions, 0).enqueue(notice(one, 'old', '0', { made: at(wall() - 2 * hour_ms) }))
  nth(owned.partitions, 0).enqueue(notice(one, 'a', '1', { made: now() }))
  const numbers = (): readonly number[] => nth(owned.partitions, 0).numbers
  for (const [hours, name] of [
    [0, 'b'],
    [24, 'c'],
    [-24, 'd'],
  ] as const) {
    const running = courier(t, {
      recipients: [recipient(one, end.url(), { expires: at(4e12) })],
      settings,
      outboxes: owned,
    })
    await running.start()
    await until(() => !numbers().includes(1)) // Made two hours before the start.
    jumped_ms = hours * hour_ms
    nth(owned.partitions, 0).enqueue(notice(one, name, '1', { made: now() }))
    running.ring()
    const { length } = numbers()
    await until(async () => (await running.state(one))?.queueDepth === length)
    await sleep(600) // It looks for what has waited too long twice.
    t.equal((await running.state(one))?.queueDepth, length, `${hours} hours`)
    await running.drain()
  }
  t.same(numbers(), [2, 3, 4, 5])
})

test('what comes while the courier runs is not as old as a clock that had jumped back says', async (t) => {
  const end = await FarEnd.listen(t, responding(500))
  const settings = { retention_ms: 60_000, retryMin_ms: 60_000, clock: clockStart() }
  const running = courier(t, { recipients: [recipient(one, end.url(), { expires: at(4e12) })], settings })
  await running.start()
  // Made while the clock was a day behind, and found when it was right again.
  nth(running.partitions, 0).enqueue(notice(one, 'a', '1', { made: at(Date.now() - 86_400_000) }))
  running.ring()
  await until(async () => (await running.state(one))?.queueDepth === 1)
  await sleep(600) // It looks for what has waited too long twice.
  t.match(await running.state(one), { queueDepth: 1, discarded: 0 })
})
