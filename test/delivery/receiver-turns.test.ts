import assert from 'node:assert'
import fc from 'fast-check'
import { test } from 'tap'
import { RememberedReceivers } from '../../src/delivery/queue/attempt-shares.js'
import { type AttemptOutcome, trouble } from '../../src/delivery/queue/outgoing.js'
import type { BegunAttempt } from '../../src/delivery/queue/receiver-turns.js'
import type { QueueLimits } from '../../src/delivery/queue/recipients.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { Random } from '../replica/schedule.js'
import { runs } from '../runs.js'
import { until } from '../until.js'
import { recipient, subscriptionId } from './given.js'
import { attemptsOf, QueueUnderTest } from './given-queue.js'

const accepted: AttemptOutcome = { kind: 'accepted', status: 200 }
const refusedConnection = trouble('connection refused')

/** A delivery queue with one subscription for each receiver. */
class Receivers extends QueueUnderTest {
  #count = 0
  #notices = 0

  /** A receiver that was never tried, with a time limit of its own or the usual one. */
  add(timeout_ms = 0): SubscriptionId {
    this.#count += 1
    const id = subscriptionId(this.#count)
    const target = { kind: 'http', timeout_ms, custom: undefined } as const
    const terms = { target, maxFails: undefined, paused: false }
    const expires = Number.MAX_SAFE_INTEGER as never
    this.queue.put(recipient(id, `http://receiver-${this.#count}.example/in`, { expires, terms }))
    return id
  }

  addMany(count: number): readonly SubscriptionId[] {
    return Array.from({ length: count }, () => this.add())
  }

  /** Notifications about different entities. */
  notify(subscription: SubscriptionId, notices = 1, size_bytes = 100): void {
    for (let count = 0; count < notices; count += 1) {
      this.#notices += 1
      this.arrive(0, { subscription, size_bytes, orderingKey: { kind: 'entity', key: String(this.#notices) } })
    }
  }

  /** Attempts as they are begun. */
  *begun(): Generator<BegunAttempt> {
    for (let attempt = this.queue.next(); attempt !== undefined; attempt = this.queue.next()) yield attempt
  }

  /** One that has responded at once. */
  addQuick(timeout_ms?: number): SubscriptionId {
    const id = this.add(timeout_ms)
    this.notify(id)
    for (const attempt of this.begun()) this.queue.ended(attempt, accepted)
    return id
  }
}

const limitsOfAll: Partial<QueueLimits>[] = [
  {},
  { underWay_bytes: 256 * 50 },
  { total: 2048, underWay_bytes: 256 * 50 },
]

test('a receiver that responds is notified at once while others never respond', async (t) => {
  for (const limits of limitsOfAll) {
    const tested = new Receivers(limits)
    const quick = tested.addQuick()
    // Twice as many as there may be attempts in all, of receivers that were never tried.
    for (const id of tested.addMany(64)) tested.notify(id, 8)
    for (let second = 0; second < 10; second += 1) {
      for (const { recipient } of tested.begun()) t.not(recipient.id, quick)
      tested.notify(quick, 2)
      for (const attempt of tested.begun()) {
        if (attempt.recipient.id === quick) tested.queue.ended(attempt, accepted)
      }
      t.match(tested.queue.states([quick]), [{ delivery: { timesSent: 1 + 2 * (second + 1), queueDepth: 0 } }])
      tested.clock.advance(1000)
    }
  }
})

test('receivers that may take longer than usual leave half to the others, however well they responded before', async (t) => {
  const tested = new Receivers()
  const quick = Array.from({ length: 4 }, () => tested.addQuick(5000))
  const patient = Array.from({ length: 64 }, () => tested.addQuick(5001))
  for (const id of patient) tested.notify(id, 8)
  t.equal([...tested.begun()].length, 128)
  for (const id of quick) tested.notify(id, 8)
  t.equal([...tested.begun()].length, 32)
})

test('a receiver that was never tried is tried while others have not responded for a second', async (t) => {
  let ready = 0
  const tested = new Receivers({}, { ready: () => (ready += 1) })
  for (const id of tested.addMany(32)) tested.notify(id, 8)
  t.equal([...tested.begun()].length, 128, 'half of all attempts are for such receivers')
  const late = tested.add()
  tested.notify(late)
  t.same([...tested.begun()], [])
  ready = 0
  tested.clock.advance(1000)
  t.equal(ready, 1, 'nothing else happens by which it might begin')
  t.same(
    [...tested.begun()].map((attempt) => attempt.recipient.id),
    [late],
  )
})

test('a receiver that responds goes before many that fail, and these have turns nevertheless', async (t) => {
  const tested = new Receivers()
  const quick = tested.addQuick()
  const dead = new Set(tested.addMany(2000))
  for (const id of dead) tested.notify(id)
  tested.notify(quick, 300)
  let [good, bad] = [0, 0]
  for (const attempt of tested.begun()) {
    const isDead = dead.has(attempt.recipient.id)
    if (isDead) bad += 1
    else good += 1
    tested.queue.ended(attempt, isDead ? refusedConnection : accepted)
    if (good === 300) break
  }
  t.ok(bad >= 95 && bad <= 101, `${bad} attempts at others`)
})

test('receivers that failed hold half of the attempts at most, and others of them follow', async (t) => {
  const tested = new Receivers()
  const failing = tested.addMany(300)
  for (const id of failing) tested.notify(id)
  for (const attempt of tested.begun()) tested.queue.ended(attempt, refusedConnection)
  tested.clock.advance(100)
  const underWay = [...tested.begun()]
  t.equal(underWay.length, 128)
  const quick = tested.addQuick()
  tested.clock.advance(60_000)
  t.same([...tested.begun()], [], 'they hold no more when they take long')
  tested.notify(quick)
  t.equal([...tested.begun()].length, 1)
  for (const attempt of underWay) tested.queue.ended(attempt, accepted)
  t.equal([...tested.begun()].length, 128, 'the others follow')
})

test('receivers that responded are remembered, however many fail', async (t) => {
  const receivers = new RememberedReceivers()
  for (const name of ['http://a.example', 'http://b.example']) receivers.put(name, 'quick')
  receivers.put('http://b.example', 'failing')
  for (let number = 0; number < 100_000; number += 1) receivers.put(`http://${number}.example`, 'failing')
  receivers.put('http://c.example', 'slow')
  t.same(
    ['a', 'b', 'c', 'd', '0', '99999'].map((name) => receivers.of(`http://${name}.example`)),
    ['quick', 'untried', 'slow', 'untried', 'untried', 'failing'],
    'the first that failed are forgotten',
  )
  receivers.put('http://a.example', 'failing')
  t.equal(receivers.of('http://a.example'), 'failing')
  receivers.put('http://a.example', 'quick')
  t.equal(receivers.of('http://a.example'), 'quick')
})

test('attempts are begun a few in a turn of the event loop, and those at quick receivers for some milliseconds', async (t) => {
  for (const [respond_ms, outcome, most] of [
    [0, refusedConnection, 16],
    [1, accepted, 20],
  ] as const) {
    let begun = 0
    const tested: Receivers = new Receivers({}, { ready: () => attempts.schedule() })
    const attempts = attemptsOf(tested.queue, subscriptionId(1), async () => {
      for (const until_ms = performance.now() + respond_ms; performance.now() < until_ms; );
      begun += 1
      return outcome
    })
    const ids = tested.addMany(100)
    if (outcome === accepted) {
      for (const id of ids) tested.notify(id)
      for (const attempt of tested.begun()) tested.queue.ended(attempt, outcome)
    }
    for (const id of ids) tested.notify(id)
    attempts.start()
    await new Promise(setImmediate)
    t.ok(begun > 0 && begun <= most, `${begun} in the first turn`)
    await until(() => begun === 100)
  }
})

test('whatever others do, a receiver that responds at once only lets others of its kind and each fourth attempt go first', async (t) => {
  fc.assert(
    fc.property(fc.integer(), fc.constantFrom(...limitsOfAll), (seed, limits) => play(new Random(seed), limits)),
    { numRuns: runs(12) },
  )
  t.pass()
})

/** How long an attempt at a receiver takes, in ms, and how it ends. */
type Behaviour = (random: Random, attempts: number) => readonly [duration_ms: number, outcome: AttemptOutcome]

const never = Number.POSITIVE_INFINITY
const behaviours: readonly Behaviour[] = [
  () => [never, accepted],
  () => [0, refusedConnection],
  (random) => [random.below(5000), random.chance(0.5) ? refusedConnection : accepted],
  (random) => [1000 + random.below(60_000), accepted],
  (random) => [5000, random.chance(0.1) ? accepted : trouble('timeout')],
]
/** It responds a few times, and then never again; of such there are few, since nobody can tell them from quick ones before. */
const silenced: Behaviour = (_, attempts) => [attempts < 5 ? 0 : never, accepted]

function play(random: Random, limits: Partial<QueueLimits>): void {
  const tested = new Receivers(limits)
  const quick = tested.addQuick()
  const others = new Map<SubscriptionId, Behaviour>()
  const attempts = new Map<SubscriptionId, number>()
  const ends: { readonly at_ms: number; readonly attempt: BegunAttempt; readonly outcome: AttemptOutcome }[] = []
  const began = (attempt: BegunAttempt): void => {
    const { id } = attempt.recipient
    if (id === quick) {
      tested.queue.ended(attempt, accepted)
      return
    }
    const before = attempts.get(id) ?? 0
    attempts.set(id, before + 1)
    const [duration_ms, outcome] = (others.get(id) ?? silenced)(random, before)
    if (duration_ms === never) return
    ends.push({ at_ms: tested.clock.steady_ms() + duration_ms, attempt, outcome })
  }
  for (let few = 0; few < 10; few += 1) others.set(tested.add(), silenced)
  for (let step = 0; step < 150; step += 1) {
    for (let count = random.below(20); count > 0; count -= 1) others.set(tested.add(), random.of(behaviours))
    const known = [...others.keys()]
    for (let count = random.below(40); count > 0; count -= 1)
      tested.notify(random.of(known), 1 + random.below(12), 1 + random.below(100))
    // Attempts begin in slices, so something may arrive when some of them have begun.
    for (let count = random.below(600); count > 0; count -= 1) {
      const attempt = tested.queue.next()
      if (attempt === undefined) break
      began(attempt)
    }
    tested.notify(quick, 1, 1 + random.below(100))
    const before: BegunAttempt[] = []
    for (let isBegun = false; !isBegun; ) {
      const attempt = tested.queue.next()
      assert(attempt !== undefined, 'nobody waits for an attempt to end')
      began(attempt)
      isBegun = attempt.recipient.id === quick
      if (!isBegun) before.push(attempt)
    }
    const first = before.filter(({ share }) => share.standing === 'free').map(({ recipient }) => recipient.id)
    assert.equal(new Set(first).size, first.length, 'each of its kind goes first once')
    const rest = before.length - first.length
    assert(rest <= Math.ceil((before.length + 1) / 4), `${rest} others before ${first.length} of its kind`)
    tested.clock.advance(random.of([1, 10, 500, 1500, 30_000]))
    const now_ms = tested.clock.steady_ms()
    for (const end of ends.splice(0)) {
      if (end.at_ms <= now_ms) tested.queue.ended(end.attempt, end.outcome)
      else ends.push(end)
    }
  }
}
