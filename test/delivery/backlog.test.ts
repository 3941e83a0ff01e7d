import { test } from 'tap'
import { ReadingProgress } from '../../src/delivery/queue/reading-progress.js'
import { lastNotified } from '../../src/model/subscription/clocks.js'
import { type Milliseconds, now } from '../../src/time.js'
import { FarEnd, responding } from '../far-end.js'
import { until } from '../until.js'
import { courier, notice, nth, outboxes, recipient, subscriptionId } from './given.js'

const one = subscriptionId(1)
const two = subscriptionId(2)

/** Notices of one subscription, each of an entity of its own; more than a courier reads in one go. */
function many(number = 2000) {
  return Array.from({ length: number }, (_, at) => notice(one, `${at}`, `${at}`))
}

test('a courier begins before it has read what waits, which is counted all the same', async (t) => {
  const end = await FarEnd.listen(t, responding(503))
  const boxes = outboxes(t)
  nth(boxes.partitions, 0).enqueue(...many())
  const running = courier(t, { outboxes: boxes, recipients: [recipient(one, end.url())] })
  await running.start()
  t.equal(running.figures.unread, 2000)
  t.equal(running.figures.read().size, 2000)
  t.ok(((await running.state(one))?.queueDepth ?? 0) < 2000, 'what is known is reported, without a wait')
  await until(() => running.figures.unread === 0)
  t.equal(running.figures.read().size, 2000)
  t.match(running.figures.read(), { in: 0 }, 'they were stored before this start')
  t.equal((await running.state(one))?.queueDepth, 2000)
})

test('a throttled subscription remembers its last notification before what waits was read', async (t) => {
  const end = await FarEnd.listen(t, responding(503))
  const boxes = outboxes(t)
  const at = now()
  const made = (ago_ms: number) => ({ made: (at - ago_ms) as Milliseconds })
  const [box, other] = [nth(boxes.partitions, 0), nth(boxes.partitions, 1)]
  box.enqueue(...many(), notice(two, 'a', '{}', made(9000)), notice(two, 'a', '{}', made(8000)), ...many(500))
  other.enqueue(notice(two, 'b', '{}', made(7000)), ...many(500))
  const known = recipient(two, end.url(), { clocked: { throttling_ms: 10_000 } })
  const running = courier(t, { outboxes: boxes, recipients: [recipient(one, end.url()), known] })
  await running.start()
  t.not(running.figures.unread, 0)
  t.equal(lastNotified(known.clock), at - 7000)
})

test('what was made before any subscription could be throttled by it is not looked at for the clocks', async (t) => {
  const end = await FarEnd.listen(t, responding(503))
  const boxes = outboxes(t)
  const old = { made: (now() - 60_000) as Milliseconds }
  nth(boxes.partitions, 0).enqueue(notice(two, 'a', '{}', old), ...many().map((each) => ({ ...each, ...old })))
  const known = recipient(two, end.url(), { clocked: { throttling_ms: 1000 } })
  const running = courier(t, { outboxes: boxes, recipients: [recipient(one, end.url()), known] })
  await running.start()
  t.equal(lastNotified(known.clock), 0)
  await until(() => running.figures.unread === 0)
  t.equal(lastNotified(known.clock), old.made, 'it is noted when it is read')
})

test('a courier that ends does not read a backlog to its end, and loses nothing of it', async (t) => {
  const boxes = outboxes(t)
  nth(boxes.partitions, 0).enqueue(...many(10_000))
  const end = await FarEnd.listen(t, responding(503))
  const running = courier(t, { outboxes: boxes, recipients: [recipient(one, end.url())] })
  await running.start()
  await running.drain(1)
  t.not(running.figures.unread, 0)
  t.equal(nth(boxes.partitions, 0).numbers.length, 10_000)
})

test('the log tells of a long reading when it begins, every five seconds, and at its end', async (t) => {
  const lines: string[] = []
  let at_ms = 0
  const progress = new ReadingProgress({ info: (_, message) => lines.push(message) }, () => at_ms)
  const linesAfter = (outbox: number, left: number, after_ms = 0): readonly string[] => {
    at_ms += after_ms
    progress.left(outbox, left)
    return lines.splice(0)
  }
  t.same(linesAfter(0, 9000), [], 'a short one is not worth a line')
  t.same(linesAfter(1, 31_000), [])
  t.match(linesAfter(0, 8000), [/^the outboxes are read while the broker runs: at most 40000 notifications wait/])
  t.same(linesAfter(0, 0, 4999), [])
  t.match(linesAfter(1, 30_000, 1), [/25 % is done, at most 30000 notifications are left/])
  t.same(linesAfter(1, 20_000, 4000), [])
  t.same(linesAfter(1, 0, 2000), ['the outboxes were read in 11.0 s'])
  t.same(linesAfter(1, 0, 9000), [])
  t.same([...linesAfter(0, 500), ...linesAfter(0, 0, 9000)], [])
})
