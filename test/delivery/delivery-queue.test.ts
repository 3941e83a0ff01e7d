import fc from 'fast-check'
import { test } from 'tap'
import type { RecipientTerms } from '../../src/delivery/queue/courier-protocol.js'
import { noStats } from '../../src/delivery/queue/delivery-records.js'
import { trouble } from '../../src/delivery/queue/outgoing.js'
import type { BegunAttempt } from '../../src/delivery/queue/receiver-turns.js'
import type { WindowLimits } from '../../src/delivery/queue/unread-notices.js'
import type { DeliveryMeter } from '../../src/observe/measure/delivery-figures.js'
import { atOnce, inSlices } from '../../src/slices.js'
import { at } from '../given.js'
import { runs } from '../runs.js'
import { DeliveryModel } from './delivery-model.js'
import { nth, recipient, subscriptionId } from './given.js'
import { coordinator, QueueUnderTest } from './given-queue.js'

const change = fc.record({ partition: fc.nat(1), key: fc.nat(1) })
const subscription = fc.nat(3)
const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('move' as const), outbox: fc.nat(1) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('shut' as const, 'open' as const), outbox: fc.nat(2) }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('add' as const), subscription, what: change }) },
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ kind: fc.constant('add' as const), subscription },
      what: fc.constantFrom('initial' as const, 'tick' as const),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      ...{ kind: fc.constant('finish' as const), attempt: fc.nat(2) },
      outcome: fc.constantFrom(
        ...(['accepted', 'accepted', 'trouble', 'trouble', 'refused', 'refused', 'unsendable', 'missing'] as const),
      ),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('advance' as const), by_ms: fc.integer({ min: 1, max: 30 }) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('put' as const, 'hold' as const), subscription }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('expire' as const, 'end' as const), subscription }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('beginAck' as const, 'endAck' as const, 'refuseAck' as const),
      outbox: fc.nat(2),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer Kind> ? Kind : never

/** More than may wait arrive while a subscription is on hold; then it is put. */
const beyondLimitOnHold: Step[] = [
  { kind: 'hold', subscription: 1 },
  ...Array.from({ length: 9 }, () => ({ kind: 'add' as const, subscription: 1, what: { partition: 0, key: 0 } })),
  { kind: 'put', subscription: 1 },
]

function adds(subscription: number, partition: number, ...keys: readonly number[]): readonly Step[] {
  return keys.map((key) => ({ kind: 'add', subscription, what: { partition, key } }))
}

const refusal: Step = { kind: 'finish', attempt: 0, outcome: 'refused' }
const accepted: Step = { kind: 'finish', attempt: 0, outcome: 'accepted' }

/** The first key of a subscription pauses: those behind it go, in their order. */
const behindRefusal: Step[] = [...adds(0, 0, 0, 0, 0, 1, 1), refusal, accepted, accepted]

/** Others leave room in memory while some of a subscription are only on disk: what arrives then goes behind these. */
const roomAgain: Step[] = [
  ...adds(2, 1, 0, 1),
  ...adds(0, 0, 0, 0, 0),
  ...[accepted, accepted],
  ...adds(0, 0, 0, 1),
  ...[accepted, accepted, accepted, accepted, accepted],
]

/** What was attempted before its partition went away is not counted again when it comes back. */
const triedAndMoved: Step[] = [
  ...[...adds(0, 0, 0, 1), refusal, refusal, ...adds(1, 0, 0, 0, 0)],
  ...[
    { kind: 'move' as const, outbox: 0 },
    { kind: 'advance' as const, by_ms: 30 },
  ],
  ...[accepted, accepted, accepted],
]

const examples = [beyondLimitOnHold, behindRefusal, roomAgain, triedAndMoved]

function take(model: DeliveryModel, taken: Step): void {
  switch (taken.kind) {
    case 'add':
      model.add(nth(model.subscriptions, taken.subscription), taken.what)
      break
    case 'finish':
      model.finish(taken.attempt, taken.outcome)
      break
    case 'advance':
      model.advance(taken.by_ms)
      model.sweep()
      break
    case 'move':
    case 'shut':
    case 'open':
      model[taken.kind](taken.outbox)
      break
    case 'beginAck':
    case 'endAck':
    case 'refuseAck':
      model.tested[taken.kind](taken.outbox)
      break
    default:
      model[taken.kind](nth(model.subscriptions, taken.subscription))
  }
}

/** All in memory; one of each subscription and further ones where these cannot go; hardly any. */
const windows: readonly WindowLimits[] = [
  { most: 1e9, share: 1e9, streamShare: 1 },
  { most: 5, share: 1, streamShare: 1 },
  { most: 2, share: 1, streamShare: 1 },
  { most: 3, share: 2, streamShare: 1 },
]

test('whatever happens, exactly what the rules of delivery allow is under way, counted and acked once', async (t) => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 10, maxLength: 120 }), fc.constantFrom(...windows), (steps, window) => {
      const model = new DeliveryModel(window)
      for (const taken of steps) {
        take(model, taken)
        model.beginAll()
        model.check()
      }
      model.finishAll()
      model.check()
      model.checkStored()
    }),
    {
      numRuns: runs(1000),
      examples: examples.flatMap((steps) => windows.map((window): [Step[], WindowLimits] => [steps, window])),
    },
  )
  t.pass()
})

test('receivers that respond take turns, and so do the subscriptions of a receiver', async (t) => {
  const shape = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 4 })
  fc.assert(
    fc.property(shape, fc.integer({ min: 1, max: 5 }), (subscriptionsOf, atATime) => {
      const tested = new QueueUnderTest({ total: atATime, perReceiver: atATime })
      const receivers = subscriptionsOf.map((length, receiver) =>
        Array.from({ length }, (_, number) => subscriptionId(10 * receiver + number)),
      )
      for (const [receiver, ids] of receivers.entries()) {
        for (const id of ids) tested.queue.put(recipient(id, `http://receiver-${receiver}.example/in`))
      }
      for (const id of receivers.flat())
        tested.arrive(0, { subscription: id, orderingKey: { kind: 'entity', key: 'a' } })
      for (let attempt = tested.queue.next(); attempt !== undefined; attempt = tested.queue.next()) {
        tested.queue.ended(attempt, { kind: 'accepted', status: 200 })
      }
      const each = 30
      for (const id of receivers.flat()) {
        for (let key = 0; key < each; key += 1) {
          tested.arrive(0, { subscription: id, orderingKey: { kind: 'entity', key: String(key) } })
        }
      }
      const begun = new Map(receivers.flat().map((id) => [id, 0]))
      // As long as everybody still has something to send.
      for (let count = 0; count < each; count += 1) {
        const attempt = tested.queue.next()
        if (attempt === undefined) throw new Error('nothing is begun')
        begun.set(attempt.recipient.id, (begun.get(attempt.recipient.id) ?? 0) + 1)
        tested.queue.ended(attempt, { kind: 'accepted', status: 200 })
        const shares = receivers.map((ids) => ids.map((id) => begun.get(id) ?? 0))
        const sums = shares.map((own) => own.reduce((sum, share) => sum + share, 0))
        for (const all of [sums, ...shares]) t.ok(Math.max(...all) - Math.min(...all) <= 1)
      }
    }),
    { numRuns: runs(30) },
  )
})

test('many receivers are sorted in steps as well', async (t) => {
  const tested = new QueueUnderTest()
  const many = 3000
  for (let id = 0; id < many; id += 1)
    tested.queue.put(recipient(subscriptionId(id), `http://r${many - id}.example/in`))
  const gathering = tested.queue.receivers({ offset: 0, limit: 3 })
  let steps = 0
  let page = gathering.next()
  for (; !page.done; page = gathering.next()) steps += 1
  t.ok(steps > 2 * many + 3, `${steps} steps`)
  t.match(page.value, { count: many, receivers: ['r1.', 'r10.', 'r100.'].map((name) => ({ receiver: RegExp(name) })) })
})

test('the receivers that are waited for are those of subscriptions that are to be sent something', async (t) => {
  const tested = new QueueUnderTest()
  const [waiting, empty, inactive, held] = [subscriptionId(1), subscriptionId(2), subscriptionId(3), subscriptionId(4)]
  const url = 'http://receiver.example/in'
  for (const id of [waiting, empty, inactive, held]) tested.queue.put(recipient(id, url))
  for (const subscription of [waiting, inactive, held]) {
    tested.arrive(0, { subscription, orderingKey: { kind: 'entity', key: 'a' } })
  }
  const target = { kind: 'http', timeout_ms: 0, custom: undefined } as const
  tested.queue.put(recipient(inactive, url, { terms: { paused: true, maxFails: undefined, target } }))
  tested.queue.hold(held)
  const receivers = async (onlyWaiting: boolean) =>
    (await inSlices(tested.queue.receivers({ onlyWaiting, offset: 0, limit: 9 }))).receivers
  t.match(await receivers(true), [{ subscriptions: 1, ids: [waiting], queueDepth: 1 }])
  t.match(await receivers(false), [{ subscriptions: 4, queueDepth: 3 }])
})

test('a receiver that does not respond takes its share of the attempts and of their bytes, and no more', async (t) => {
  const [slow, fast] = [subscriptionId(1), subscriptionId(2)]
  for (const [limits, size_bytes, share] of [
    [{ perReceiver: 5, total: 100 }, 100, 5],
    [{ perReceiver: 50, total: 100, underWay_bytes: 4000 }, 100, 10],
  ] as const) {
    const tested = new QueueUnderTest(limits)
    tested.queue.put(recipient(slow, 'http://slow.example/in'))
    tested.queue.put(recipient(fast, 'http://fast.example/in'))
    for (const id of [slow, fast]) {
      for (let key = 0; key < 40; key += 1) {
        tested.arrive(0, { subscription: id, size_bytes, orderingKey: { kind: 'entity', key: String(key) } })
      }
    }
    const begun = { [slow]: 0, [fast]: 0 }
    for (let attempt = tested.queue.next(); attempt !== undefined; attempt = tested.queue.next()) {
      begun[attempt.recipient.id] = (begun[attempt.recipient.id] ?? 0) + 1
      if (attempt.recipient.id === fast) tested.queue.ended(attempt, { kind: 'accepted', status: 200 })
    }
    t.same(begun, { [slow]: share, [fast]: 40 })
    t.notOk(tested.queue.isIdle)
  }
})

test('the connection to an MQTT broker is a receiver: one for each user, whether the port is written or not', async (t) => {
  const tested = new QueueUnderTest({ perReceiver: 5, total: 100 })
  const ids = [subscriptionId(1), subscriptionId(2), subscriptionId(3)] as const
  const target = (user: string): RecipientTerms['target'] => ({
    ...{ kind: 'mqtt', topic: 'plant', qos: 1, retain: false, custom: undefined, user, passwd: 'secret' },
  })
  const terms = (user: string) => ({ terms: { paused: false, maxFails: undefined, target: target(user) } })
  tested.queue.put(recipient(ids[0], 'mqtt://bus.example', terms('plant')))
  tested.queue.put(recipient(ids[1], 'mqtt://bus.example:1883', terms('plant')))
  tested.queue.put(recipient(ids[2], 'mqtt://bus.example', terms('yard')))
  for (const id of ids) {
    for (let key = 0; key < 10; key += 1) {
      tested.arrive(0, { subscription: id, orderingKey: { kind: 'entity', key: String(key) } })
    }
  }
  const begun = ids.map(() => 0)
  for (let attempt = tested.queue.next(); attempt !== undefined; attempt = tested.queue.next()) {
    const at = ids.indexOf(attempt.recipient.id)
    begun[at] = (begun[at] ?? 0) + 1
  }
  t.same(begun, [3, 2, 5])
})

interface SeenBySweeps {
  oldest: number | undefined
  withheld: number
  /** How often all queues were seen. */
  passes: number
}

/** A meter that keeps what sweeps tell. */
function watchedSweeps(): { readonly seen: SeenBySweeps; readonly meter: DeliveryMeter } {
  const seen: SeenBySweeps = { oldest: undefined, withheld: 0, passes: 0 }
  const meter: DeliveryMeter = {
    ...{ stored: () => {}, attempted: () => {}, left: () => {}, queue: () => {} },
    ...{ unread: () => {}, opening: () => {}, listening: () => {} },
    oldest: (made) => {
      seen.oldest = made
      seen.passes += 1
    },
    withheld: (notices) => {
      seen.withheld = notices
    },
  }
  return { seen, meter }
}

test('the oldest notice that waits is one that is to be sent: what inactive subscriptions hold back is counted apart', async (t) => {
  const { seen, meter } = watchedSweeps()
  const tested = new QueueUnderTest({}, { meter })
  const [inactive, active] = [subscriptionId(1), subscriptionId(2)]
  const terms: RecipientTerms = {
    paused: true,
    maxFails: undefined,
    target: { kind: 'http', timeout_ms: 0, custom: undefined },
  }
  tested.queue.put(recipient(inactive, 'http://receiver.example/in', { terms }))
  tested.queue.put(recipient(active, 'http://receiver.example/in'))
  const orderingKey = { kind: 'entity', key: 'a' } as const
  tested.arrive(0, { subscription: inactive, orderingKey })
  tested.arrive(0, { subscription: inactive, orderingKey })
  tested.queue.sweep()
  t.match(seen, { oldest: undefined, withheld: 2 })
  tested.clock.advance(20)
  tested.arrive(0, { subscription: active, orderingKey })
  tested.queue.sweep()
  t.match(seen, { oldest: tested.clock.now(), withheld: 2 })
  tested.queue.put(recipient(inactive, 'http://receiver.example/in'))
  tested.queue.sweep()
  t.match(seen, { oldest: tested.clock.now() - 20, withheld: 0 }, 'it is active again')
  tested.queue.put(recipient(inactive, 'sse:'))
  tested.queue.sweep()
  t.match(seen, { oldest: tested.clock.now(), withheld: 2 }, 'what goes to listeners')
  tested.queue.forget(0)
  tested.queue.sweep()
  t.match(seen, { oldest: undefined, withheld: 0 }, 'another node has them')
  tested.arrive(1, { subscription: inactive, orderingKey })
  tested.queue.sweep()
  t.equal(seen.withheld, 1)
  tested.queue.end(inactive)
  tested.queue.sweep()
  t.equal(seen.withheld, 0)
})

/** A queue in which one notice of each of so many subscriptions waits for listeners, after one that is to be posted. */
function manyWaiting(number: number): { readonly tested: QueueUnderTest; readonly seen: SeenBySweeps } {
  const { seen, meter } = watchedSweeps()
  const tested = new QueueUnderTest({}, { meter })
  for (let count = 0; count <= number; count += 1) {
    tested.queue.put(recipient(subscriptionId(count), count === 0 ? 'http://receiver.example/in' : 'sse:'))
    tested.arrive(0, { subscription: subscriptionId(count), orderingKey: { kind: 'entity', key: 'a' } })
  }
  return { tested, seen }
}

test('a sweep sees some of the queues, and tells which is the oldest notice once it has seen all', async (t) => {
  const { tested, seen } = manyWaiting(3000)
  const told: (readonly [number, number])[] = []
  for (let sweeps = 0; sweeps < 6; sweeps += 1) {
    tested.queue.sweep()
    told.push([seen.passes, seen.withheld])
  }
  t.same(told, [
    [0, 3000],
    [0, 3000],
    [1, 3000],
    [1, 3000],
    [1, 3000],
    [2, 3000],
  ])
  t.equal(seen.oldest, tested.clock.now())
})

test('sweeps see all queues however many fill meanwhile', async (t) => {
  const { tested, seen } = manyWaiting(1500)
  for (let sweeps = 0; sweeps < 2; sweeps += 1) {
    tested.queue.sweep()
    for (let count = 0; count < 1500; count += 1) {
      const subscription = subscriptionId(10_000 + sweeps * 1500 + count)
      tested.queue.put(recipient(subscription, 'sse:'))
      tested.arrive(0, { subscription, orderingKey: { kind: 'entity', key: 'a' } })
    }
  }
  t.equal(seen.passes, 1)
})

test('what waits for an outbox to be open is not offered again before it is', async (t) => {
  let offered = 0
  const tested = new QueueUnderTest({}, { ready: () => (offered += 1) })
  tested.queue.put(recipient(subscriptionId(1), 'http://receiver.example/in'))
  tested.closed.add(0)
  tested.arrive(0, { subscription: subscriptionId(1), orderingKey: { kind: 'entity', key: 'a' } })
  t.equal(tested.queue.next(), undefined)
  const before = offered
  tested.queue.sweep()
  t.equal(offered, before)
  tested.closed.delete(0)
  tested.queue.sweep()
  t.ok(offered > before)
  t.equal(tested.queue.next()?.notice.number, 1)
})

test('no more waits than the limits allow; what is dropped is the oldest of its subscription, and counted', async (t) => {
  const arrivals = fc.array(fc.record({ subscription: fc.nat(2), size_bytes: fc.integer({ min: 1, max: 400 }) }), {
    maxLength: 80,
  })
  fc.assert(
    fc.property(
      arrivals,
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 400, max: 3000 }),
      (all, most, bytesMax) => {
        const tested = new QueueUnderTest({ queueMax: 8, noticesMax: most, bytesMax })
        const ids = [0, 1, 2].map(subscriptionId)
        // Nothing is begun of a subscription on hold.
        for (const id of ids) {
          tested.queue.put(recipient(id, 'http://receiver.example/in'))
          tested.queue.hold(id)
        }
        const sizes: number[][] = ids.map(() => [])
        const space = () => sizes.flat().reduce((sum, size) => sum + size, 0)
        let dropped = 0
        for (const { subscription: of, size_bytes } of all) {
          tested.arrive(0, { subscription: nth(ids, of), size_bytes, orderingKey: { kind: 'entity', key: 'a' } })
          tested.queue.check()
          nth(sizes, of).push(size_bytes)
          if (nth(sizes, of).length > 8) nth(sizes, of).shift()
          const states = tested.queue.states(ids).map(({ delivery }) => delivery)
          for (const [number, own] of sizes.entries()) {
            while (own.length > (states[number]?.queueDepth ?? 0)) own.shift()
          }
          t.same(
            states.map(({ queueBytes }) => queueBytes),
            sizes.map((own) => own.reduce((sum, size) => sum + size, 0)),
          )
          t.ok(space() <= bytesMax && sizes.flat().length <= most)
          dropped = states.reduce((sum, { discarded }) => sum + discarded, 0)
        }
        t.equal(dropped, all.length - sizes.flat().length)
        t.equal(tested.left.dropped, dropped)
        t.equal(tested.ackAll().size, dropped)
      },
    ),
    { numRuns: runs(50) },
  )
})

test('when fewer may wait than did, the largest queues lose their oldest notices until none is larger than the others', async (t) => {
  const tested = new QueueUnderTest({ bytesMax: 1100 })
  const waiting = [12, 8, 2, 1]
  for (const [number, notices] of waiting.entries()) {
    tested.queue.put(recipient(subscriptionId(number), 'http://receiver.example/in'))
    tested.queue.hold(subscriptionId(number))
    for (let count = 0; count < notices; count += 1) {
      tested.arrive(0, { subscription: subscriptionId(number), orderingKey: { kind: 'entity', key: 'a' } })
    }
  }
  tested.queue.check()
  const states = tested.queue.states(waiting.map((_, number) => subscriptionId(number)))
  t.same(
    states.map(({ delivery }) => delivery.queueDepth),
    [4, 4, 2, 1],
  )
})

test('a notice that is not sent says nothing of its receiver: the next one goes alone, and pauses go on getting longer', async (t) => {
  const tested = new QueueUnderTest()
  const id = subscriptionId(1)
  tested.queue.put(recipient(id, 'http://receiver.example/in'))
  for (const key of ['a', 'b', 'c', 'd']) tested.arrive(0, { subscription: id, orderingKey: { kind: 'entity', key } })
  const begin = (): BegunAttempt[] => {
    const begun: BegunAttempt[] = []
    for (let next = tested.queue.next(); next !== undefined; next = tested.queue.next()) begun.push(next)
    return begun
  }
  for (const attempt of begin()) tested.queue.ended(attempt, trouble('timeout'))
  for (const unsent of ['missing', 'unsendable'] as const) {
    tested.clock.advance(10)
    const probe = begin()
    t.equal(probe.length, 1)
    tested.queue.ended(nth(probe, 0), { kind: unsent })
  }
  const last = begin()
  t.equal(last.length, 1, 'no acceptance has ended the pause')
  tested.queue.ended(nth(last, 0), trouble('timeout'))
  tested.clock.advance(19)
  t.same(begin(), [], 'the second failure in a row')
  tested.clock.advance(1)
  tested.queue.ended(nth(begin(), 0), { kind: 'accepted', status: 200 })
  t.equal(begin().length, 1)
})

test('a barrier waits for notices that are on disk and have not arrived yet', async (t) => {
  const tested = new QueueUnderTest()
  const id = subscriptionId(1)
  tested.queue.put(recipient(id, 'http://receiver.example/in'))
  tested.arrive(coordinator, { subscription: id, orderingKey: { kind: 'initial' }, after: [1, 0] })
  t.equal(tested.queue.next(), undefined)
  tested.arrive(0, { subscription: id, orderingKey: { kind: 'entity', key: 'a' } })
  tested.arrive(0, { subscription: id, orderingKey: { kind: 'entity', key: 'b' } })
  tested.queue.check()
  const early = tested.queue.next()
  t.match(early, { notice: { outbox: 0, number: 1 } })
  t.equal(tested.queue.next(), undefined)
  if (early !== undefined) tested.queue.ended(early, { kind: 'accepted', status: 200 })
  const barrier = tested.queue.next()
  t.match(barrier, { notice: { outbox: coordinator, number: 1 } })
  t.equal(tested.queue.next(), undefined)
  if (barrier !== undefined) tested.queue.ended(barrier, { kind: 'accepted', status: 200 })
  t.match(tested.queue.next(), { notice: { outbox: 0, number: 2 } })
})

test('a batch of acks has at most 400 notices, and whoever waits for a subscription is told when all are on disk', async (t) => {
  const tested = new QueueUnderTest()
  const id = subscriptionId(1)
  tested.queue.put(recipient(id, 'http://receiver.example/in'))
  tested.queue.hold(id)
  for (let count = 0; count < 900; count += 1) {
    tested.arrive(0, { subscription: id, orderingKey: { kind: 'entity', key: 'a' } })
  }
  atOnce(tested.queue.expire(id))
  let stored = false
  const waiting = tested.queue.records.stored(id).then(() => {
    stored = true
  })
  for (const leaving of [128, 400, 372]) {
    await new Promise(setImmediate)
    t.notOk(stored)
    t.equal(tested.offered(0)?.flatMap(({ gone }) => gone).length, leaving)
    tested.endAck(0)
    // What gathered meanwhile waits for more.
    tested.clock.advance(20)
  }
  t.equal(tested.offered(0), undefined)
  await waiting
  await tested.queue.records.flush()
})

/** So many notices of one subscription, of two outboxes in turn, some of which wait on disk only. */
function waiting(number: number, more: Parameters<typeof recipient>[2] = {}): QueueUnderTest {
  const tested = new QueueUnderTest({ window: { most: 1000, share: 700, streamShare: 1e9 } })
  const id = subscriptionId(1)
  tested.queue.put(recipient(id, 'http://receiver.example/in', more))
  for (let count = 0; count < number; count += 1) {
    tested.arrive(count % 2, { subscription: id, orderingKey: { kind: 'entity', key: `${count % 100}` } })
  }
  return tested
}

test('each subscription has as much in memory as the ones before leave to others, and its share while there is room', async (t) => {
  const tested = new QueueUnderTest({ window: { most: 1000, share: 100, streamShare: 1e9 } })
  const held: number[] = []
  for (let number = 1; number <= 5; number += 1) {
    const before = tested.queue.inMemory
    tested.queue.put(recipient(subscriptionId(number), `http://receiver-${number}.example/in`))
    for (let count = 0; count < 800; count += 1) {
      tested.arrive(0, { subscription: subscriptionId(number), orderingKey: { kind: 'entity', key: `${count}` } })
    }
    held.push(tested.queue.inMemory - before)
  }
  t.same(held, [500, 250, 125, 100, 25], 'the last one finds what is left')
})

/** How many leave with each sweep, until none is to be swept soon. */
function sweptBy(tested: QueueUnderTest): readonly number[] {
  const swept: number[] = []
  for (let isMore = true; isMore; ) {
    const before = tested.left.ended
    isMore = tested.queue.sweep()
    swept.push(tested.left.ended - before)
  }
  return swept
}

test('the notices of a subscription that has ended leave with several sweeps, and it is not sent any more at once', async (t) => {
  const tested = waiting(1500)
  const attempt = tested.queue.next()
  tested.queue.end(subscriptionId(1))
  t.equal(tested.left.ended, 64)
  t.equal(tested.queue.next(), undefined)
  if (attempt !== undefined) tested.queue.ended(attempt, { kind: 'accepted', status: 200 })
  t.same(sweptBy(tested), [512, 512, 412])
  t.equal(tested.left.accepted, 0)
  t.equal(tested.queue.inMemory, 0)
})

test('of a subscription that has ended, what an outbox of another node holds does not leave here', async (t) => {
  const tested = waiting(1000)
  tested.queue.end(subscriptionId(1))
  tested.queue.forget(0)
  while (tested.queue.sweep());
  t.ok(tested.left.ended >= 500 && tested.left.ended <= 564, `${tested.left.ended} of 500 and the first 64`)
  t.equal(tested.offered(0), undefined)
})

test('the notices of an expired subscription leave with several sweeps', async (t) => {
  const tested = waiting(1500, { expires: at(1_000_010) })
  tested.clock.advance(20)
  t.same(sweptBy(tested), [512, 512, 476])
  t.equal(tested.queue.inMemory, 0)
})

test('what of an expired subscription waits leaves in steps, and no more once it has ended', async (t) => {
  const tested = waiting(1000)
  const steps = tested.queue.expire(subscriptionId(1))
  for (let taken = 0; taken < 500; taken += 1) steps.next()
  t.equal(tested.left.ended, 500)
  tested.queue.end(subscriptionId(1))
  atOnce(steps)
  while (tested.queue.sweep());
  t.equal(tested.left.ended, 1000)
})

test('a batch of acks has the stats of its notices, not of those that leave in a later one', async (t) => {
  const tested = new QueueUnderTest()
  const id = subscriptionId(1)
  tested.queue.put(recipient(id, 'http://receiver.example/in'))
  for (let key = 0; key < 1000; key += 1) {
    tested.arrive(0, { subscription: id, orderingKey: { kind: 'entity', key: String(key) } })
    const attempt = tested.queue.next()
    if (attempt !== undefined) tested.queue.ended(attempt, { kind: 'accepted', status: 200 })
  }
  let gone = 0
  while (gone < 1000) {
    const [ack] = tested.offered(0) ?? []
    if (ack?.stats === undefined) throw new Error(`${gone} have left, and no more are offered`)
    gone += ack.gone.length
    const { sent, tried } = ack.stats
    t.equal(sent - tried.length, gone, 'none is counted that would be sent again')
    tested.endAck(0)
    tested.clock.advance(20)
  }
})

/** A queue with a receiver: `accept` has a notice come and go, and `offered` tells how many leave in the batch of acks that is offered. */
function accepting() {
  const tested = new QueueUnderTest()
  const id = subscriptionId(1)
  tested.queue.put(recipient(id, 'http://receiver.example/in'))
  const accept = (key: string): void => {
    tested.arrive(0, { subscription: id, orderingKey: { kind: 'entity', key } })
    const attempt = tested.queue.next()
    if (attempt !== undefined) tested.queue.ended(attempt, { kind: 'accepted', status: 200 })
  }
  const offered = (): number | undefined => tested.offered(0)?.flatMap(({ gone }) => gone).length
  return { tested, accept, offered }
}

test('acks are gathered for 20 ms, or until there are many', async (t) => {
  const { tested, accept, offered } = accepting()
  for (const key of ['a', 'b']) accept(key)
  tested.clock.advance(19)
  t.equal(offered(), undefined)
  tested.clock.advance(1)
  t.equal(offered(), 2)
  tested.endAck(0)
  for (let key = 0; key < 200; key += 1) accept(String(key))
  t.equal(offered(), 128)
  tested.refuseAck(0)
  tested.clock.advance(49)
  t.equal(offered(), undefined)
  tested.clock.advance(1)
  t.equal(offered(), 128, 'what was refused is offered again')
  tested.refuseAck(0)
  tested.beginAck(0)
  t.equal(offered(), 128, 'a flush does not wait for the end of a pause')
  tested.endAck(0)
  t.equal(offered(), 72)
})

test('acks that come while a batch is under way are gathered for 20 ms as well, and go as soon as that one has ended', async (t) => {
  const { tested, accept, offered } = accepting()
  accept('a')
  tested.clock.advance(20)
  t.equal(offered(), 1)
  accept('b')
  tested.clock.advance(15)
  tested.endAck(0)
  accept('c')
  t.equal(offered(), undefined)
  tested.clock.advance(5)
  t.equal(offered(), 2, 'they are gathered from the first of them on')
  accept('d')
  tested.clock.advance(30)
  tested.endAck(0)
  t.equal(offered(), 1, 'what is gathered does not wait again')
  tested.endAck(0)
  tested.clock.advance(100)
  t.equal(offered(), undefined)
})

test('while deliveries are simulated a notice counts as accepted when it arrives, or when its subscription is put', async (t) => {
  let count = 0
  const countSimulated = (): void => {
    count += 1
  }
  const tested = new QueueUnderTest({}, { simulated: true, countSimulated })
  const id = subscriptionId(1)
  const orderingKey = { kind: 'entity', key: 'a' } as const
  tested.arrive(0, { subscription: id, orderingKey })
  t.equal(count, 0)
  tested.queue.put(recipient(id, 'http://receiver.example/in'))
  tested.arrive(0, { subscription: id, orderingKey })
  t.equal(count, 2)
  t.equal(tested.queue.next(), undefined)
  t.match(tested.queue.states([id]), [{ delivery: { timesSent: 2, queueDepth: 0, failsCounter: 0 } }])
  t.equal(tested.left.simulated, 2)
  t.equal(tested.ackAll().size, 2)
})

test('what a partition brings of subscriptions that nobody knows a minute later is removed', async (t) => {
  const tested = new QueueUnderTest({}, { mayMove: () => true })
  const [late, gone, opening] = [subscriptionId(1), subscriptionId(2), subscriptionId(3)]
  const orderingKey = { kind: 'entity', key: 'a' } as const
  const held = [late, gone, opening].map((subscription, number) => ({
    ...{ number: number + 1, subscription, orderingKey },
    ...{ made: tested.clock.now(), since_ms: tested.clock.steady_ms() + number },
  }))
  tested.queue.hold(opening)
  tested.move(0, held)
  tested.queue.put(recipient(late, 'http://receiver.example/in'))
  tested.clock.advance(59_000)
  tested.queue.sweep()
  t.equal(tested.ackAll().size, 0)
  tested.clock.advance(2000)
  tested.queue.sweep()
  t.same([...tested.ackAll()], ['0-2'])
  t.match(tested.queue.next(), { notice: { number: 1 } })
  tested.queue.put(recipient(opening, 'http://other.example/in'))
  t.match(tested.queue.next(), { notice: { number: 3 } })
})

test('more notices of unknown subscriptions than are kept are dropped with one warning, until there is room', async (t) => {
  const tested = new QueueUnderTest()
  const orderingKey = { kind: 'entity', key: 'a' } as const
  for (let count = 0; count < 10_000; count += 1) {
    tested.arrive(0, { subscription: subscriptionId(count % 100), orderingKey })
  }
  t.same(tested.warnings, [])
  for (let count = 0; count < 500; count += 1) {
    tested.arrive(0, { subscription: subscriptionId(1000 + count), orderingKey })
  }
  t.same(tested.warnings, ['notifications of unknown subscriptions are dropped'])
  t.equal(tested.left.ended, 500)
  for (let number = 0; number < 60; number += 1)
    tested.queue.put(recipient(subscriptionId(number), 'http://a.example/in'))
  tested.arrive(0, { subscription: subscriptionId(2000), orderingKey })
  t.equal(tested.left.ended, 500, 'there is room again')
})

test('what outboxes held of a subscription at the start goes on; stats of an unknown one are removed', async (t) => {
  const tested = new QueueUnderTest()
  const [known, unknown] = [subscriptionId(1), subscriptionId(2)]
  tested.queue.put(recipient(known, 'http://receiver.example/in'))
  const stats = { ...noStats, sent: 3, fails: 2, attempted: at(5), tried: [1] }
  tested.queue.restore(0, [
    [known, stats],
    [unknown, stats],
  ])
  tested.arrive(0, { subscription: known, orderingKey: { kind: 'entity', key: 'a' } })
  tested.queue.loaded(0)
  const attempt = tested.queue.next()
  if (attempt !== undefined) tested.queue.ended(attempt, { kind: 'refused', reason: '404' })
  t.match(tested.queue.states([known]), [{ delivery: { timesSent: 3, failsCounter: 3 } }])
  t.same(tested.queue.states([unknown]), [])
  tested.beginAck(0)
  t.same(
    tested.offered(0)?.map(({ subscription, stats }) => [subscription, stats?.sent]),
    [
      [unknown, undefined],
      [known, 3],
    ],
  )
})

test('a notice that is held before older ones of its outbox are read takes its place among them', async (t) => {
  const tested = new QueueUnderTest({ window: { most: 1, share: 1, streamShare: 1e9 } })
  tested.queue.put(recipient(subscriptionId(1), 'http://slow.example/in'))
  const order = ['a', 'b', 'c'].map((key) => ({ kind: 'entity', key }) as const)
  for (const orderingKey of order) tested.arrive(coordinator, { subscription: subscriptionId(1), orderingKey })
  tested.arrive(coordinator, { subscription: subscriptionId(1), orderingKey: { kind: 'initial' }, after: [0, 0] })
  tested.queue.check()
  const sent: number[] = []
  for (let attempt = tested.queue.next(); attempt !== undefined; attempt = tested.queue.next()) {
    sent.push(attempt.notice.number)
    t.ok(tested.queue.inMemory <= 3, 'nothing is read that has to wait')
    tested.queue.ended(attempt, { kind: 'accepted', status: 200 })
  }
  t.same(sent, [1, 2, 3, 4])
})

test('a sweep drops so many of what has waited too long that others have their turn', async (t) => {
  const tested = new QueueUnderTest({ retention_ms: 10, window: { most: 4, share: 4, streamShare: 1e9 } })
  tested.queue.put(recipient(subscriptionId(1), 'http://slow.example/in'))
  for (let key = 0; key < 1300; key += 1) {
    tested.arrive(0, { subscription: subscriptionId(1), orderingKey: { kind: 'entity', key: `${key}` } })
  }
  tested.clock.advance(20)
  const dropped: (readonly [boolean, number])[] = []
  for (let more = true; more; ) {
    more = tested.queue.sweep()
    dropped.push([more, tested.left.dropped])
  }
  t.same(dropped, [
    [true, 512],
    [true, 1024],
    [false, 1300],
  ])
})

test('a clock that was set back and forth makes nothing older that is read again, and nothing stays longer for it', async (t) => {
  const tested = new QueueUnderTest({ retention_ms: 1000, window: { most: 1, share: 1, streamShare: 1e9 } })
  tested.queue.put(recipient(subscriptionId(1), 'http://slow.example/in'))
  // Of each three, one was made while the clock was a day behind, and one while it was a day ahead.
  for (const [key, skew_ms] of [0, 86_400_000, -100, 0, 86_400_000, -100].entries()) {
    tested.arrive(0, { subscription: subscriptionId(1), orderingKey: { kind: 'entity', key: `${key}` }, skew_ms })
    tested.clock.advance(100)
  }
  const sweep = (): number => {
    tested.queue.sweep()
    return tested.left.dropped
  }
  t.equal(sweep(), 0)
  tested.clock.advance(300)
  t.equal(sweep(), 0, 'none has waited for more than 900 ms')
  tested.clock.advance(200)
  t.equal(sweep(), 1, 'the first one')
  tested.clock.advance(1000)
  t.equal(sweep(), 6)
})

test('an outbox that is forgotten leaves nothing in memory, and room for the others', async (t) => {
  const tested = new QueueUnderTest({ window: { most: 2, share: 2, streamShare: 1e9 } })
  tested.queue.put(recipient(subscriptionId(1), 'http://slow.example/in'))
  const arrive = (outbox: number, key: string) =>
    tested.arrive(outbox, { subscription: subscriptionId(1), orderingKey: { kind: 'entity', key } })
  for (const key of ['a', 'b', 'c', 'd']) arrive(0, key)
  t.equal(tested.queue.inMemory, 2)
  tested.queue.forget(0)
  t.equal(tested.queue.inMemory, 0)
  for (const key of ['e', 'f']) arrive(1, key)
  t.equal(tested.queue.inMemory, 2)
})
