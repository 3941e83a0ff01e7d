import assert from 'node:assert'
import { refusal, trouble } from '../../src/delivery/queue/outgoing.js'
import type { BegunAttempt } from '../../src/delivery/queue/receiver-turns.js'
import type { WindowLimits } from '../../src/delivery/queue/unread-notices.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import type { AttemptResult } from '../../src/observe/measure/delivery-figures.js'
import { atOnce } from '../../src/slices.js'
import type { Milliseconds } from '../../src/time.js'
import { recipient, subscriptionId } from './given.js'
import { coordinator, QueueUnderTest } from './given-queue.js'

/** A notice as the model sees it. */
interface Modelled {
  readonly subscription: ModelledSubscription
  readonly outbox: number
  readonly number: number
  readonly made: number
  readonly since_ms: number
  readonly key: ModelledKey
  /** Of a barrier: the last number of each outbox that goes before it. */
  readonly bounds: readonly number[] | undefined
  state: 'waiting' | 'underWay' | 'left'
  tried: boolean
  dropOnFailure: boolean
  epoch: number
}

interface ModelledKey {
  readonly isTick: boolean
  failures: number
  pausedUntil: number
}

interface ModelledSubscription {
  readonly id: SubscriptionId
  readonly receiver: string
  readonly keys: Map<string, ModelledKey>
  /** In the order of their arrival. */
  notices: Modelled[]
  phase: 'unknown' | 'known' | 'onHold' | 'ended'
  failures: number
  pausedUntil: number
  probing: boolean
  probe: Modelled | undefined
  epoch: number
  sent: number
  discarded: number
  failsInRow: number
}

const perReceiver = 2
const total = 3
const queueMax = 6
const retention_ms = 60

const results = { accepted: 'accepted', unsendable: 'dropped', missing: 'ended' } as const

const outcomes = {
  accepted: { kind: 'accepted', status: 200 },
  trouble: trouble('timeout'),
  refused: refusal('404'),
  unsendable: { kind: 'unsendable', reason: 'it cannot be read' },
  missing: { kind: 'missing' },
} as const

/** The rules of delivery in their plainest form: every question goes through all notices there are. */
export class DeliveryModel {
  readonly tested: QueueUnderTest
  readonly #window: WindowLimits
  readonly subscriptions: readonly ModelledSubscription[]
  readonly attempts: { readonly attempt: BegunAttempt; readonly notice: Modelled }[] = []
  readonly gone = new Set<string>()
  readonly left = { accepted: 0, simulated: 0, dropped: 0, ended: 0 }

  constructor(window: WindowLimits) {
    this.#window = window
    this.tested = new QueueUnderTest({ perReceiver, total, queueMax, retention_ms, window }, { mayMove: () => true })
    const receivers = ['http://a.example', 'http://a.example', 'http://b.example', 'http://c.example']
    this.subscriptions = receivers.map((receiver, number) => ({
      ...{ id: subscriptionId(number), receiver, keys: new Map(), notices: [], phase: 'unknown', failures: 0 },
      ...{ pausedUntil: 0, probing: false, probe: undefined, epoch: 0, sent: 0, discarded: 0, failsInRow: 0 },
    }))
    for (const subscription of this.subscriptions.slice(0, 3)) this.put(subscription)
  }

  get now(): number {
    return this.tested.clock.now()
  }

  put(subscription: ModelledSubscription): void {
    if (subscription.phase === 'ended') return
    this.tested.queue.put(recipient(subscription.id, `${subscription.receiver}/in`))
    Object.assign(subscription, { phase: 'known', failures: 0, probing: false, pausedUntil: 0 })
    subscription.epoch += 1
    for (const key of subscription.keys.values()) Object.assign(key, { failures: 0, pausedUntil: 0 })
    this.#dropBeyondLimit(subscription)
  }

  hold(subscription: ModelledSubscription): void {
    if (subscription.phase === 'ended') return
    this.tested.queue.hold(subscription.id)
    subscription.phase = 'onHold'
  }

  expire(subscription: ModelledSubscription): void {
    atOnce(this.tested.queue.expire(subscription.id))
    for (const notice of this.#in(subscription, 'waiting')) this.#leave(notice, 'ended')
    for (const notice of subscription.notices) notice.dropOnFailure = true
  }

  end(subscription: ModelledSubscription): void {
    this.tested.queue.end(subscription.id)
    for (const notice of [...subscription.notices]) this.#leave(notice, 'ended')
    subscription.phase = 'ended'
  }

  add(
    subscription: ModelledSubscription,
    kind: 'tick' | 'initial' | { readonly partition: number; readonly key: number },
  ) {
    const isChange = typeof kind === 'object'
    const outbox = isChange ? kind.partition : coordinator
    const name = isChange ? `${outbox}-${kind.key}` : kind
    const after = isChange ? undefined : this.tested.known.slice(0, coordinator)
    const { number, since_ms } = this.tested.arrive(outbox, {
      ...{ subscription: subscription.id, after, made: this.now },
      orderingKey: isChange ? { kind: 'entity', key: name } : { kind },
    })
    this.tested.queue.check()
    if (subscription.phase === 'ended') {
      this.gone.add(`${outbox}-${number}`)
      this.left.ended += 1
      return
    }
    const key = subscription.keys.get(name) ?? { isTick: kind === 'tick', failures: 0, pausedUntil: 0 }
    subscription.keys.set(name, key)
    const superseded = this.#waitingOf(subscription, key)[0]
    subscription.notices.push({
      ...{ subscription, outbox, number, made: this.now, since_ms, key, state: 'waiting' },
      ...{ bounds: after && [...after, number - 1], tried: false, dropOnFailure: false, epoch: 0 },
    })
    if (key.isTick && superseded !== undefined && superseded.made !== this.now) this.#leave(superseded, 'ended')
    if (subscription.phase !== 'onHold') this.#dropBeyondLimit(subscription)
  }

  /** An outbox of a partition goes to another node and comes back: what is under way is waited for no longer, and waits again. */
  move(outbox: number): void {
    for (const subscription of this.subscriptions) {
      const moved = subscription.notices.filter((notice) => notice.outbox === outbox)
      if (moved.length === 0) continue
      if (subscription.probe?.outbox === outbox) subscription.probe = undefined
      subscription.notices = subscription.notices.filter((notice) => notice.outbox !== outbox)
      this.#forgetIdleKeys(subscription)
      const read = moved.map((notice) => ({ ...notice, state: 'waiting' as const, dropOnFailure: false }))
      for (const notice of moved) notice.state = 'left'
      subscription.notices = [...subscription.notices, ...read].sort((a, b) => a.since_ms - b.since_ms)
    }
    const held = this.#all().filter((notice) => notice.outbox === outbox)
    this.tested.move(
      outbox,
      held
        .sort((a, b) => a.number - b.number)
        .map(({ subscription, key, number, made, since_ms }) => ({
          ...{ number, subscription: subscription.id, made: made as Milliseconds, since_ms },
          orderingKey: { kind: 'entity', key: keyName(subscription, key) },
        })),
    )
  }

  /** What an outbox holds may not be sent. */
  shut(outbox: number): void {
    this.tested.closed.add(outbox)
  }

  /** It may be sent again, which is found out by a look. */
  open(outbox: number): void {
    this.tested.closed.delete(outbox)
    this.sweep()
  }

  /** Begins all attempts that can be begun: each of them may go, and when there are no more none may. */
  beginAll(): void {
    for (let attempt = this.tested.queue.next(); attempt !== undefined; attempt = this.tested.queue.next()) {
      const { outbox, number } = attempt.notice
      const notice = this.#all().find((one) => one.outbox === outbox && one.number === number)
      assert(notice !== undefined && this.#mayGo(notice), `${outbox}-${number} may go`)
      notice.state = 'underWay'
      notice.epoch = notice.subscription.epoch
      if (notice.subscription.probing) notice.subscription.probe = notice
      this.attempts.push({ attempt, notice })
    }
    // Where many keys of a subscription pause, those behind them may not have been read.
    if (this.#window.most < 100) return
    const left = this.#all().find((notice) => this.#mayGo(notice))
    assert(left === undefined, `${left?.outbox}-${left?.number} could go and does not`)
  }

  finish(index: number, outcome: keyof typeof outcomes): void {
    const [{ attempt, notice } = {}] = this.attempts.splice(index % Math.max(1, this.attempts.length), 1)
    if (attempt === undefined || notice === undefined) return
    this.tested.queue.ended(attempt, outcomes[outcome])
    if (notice.state === 'left') return
    const { subscription } = notice
    if (subscription.probe === notice) subscription.probe = undefined
    if (outcome === 'trouble' || outcome === 'refused') this.#failed(notice, outcome)
    else this.#done(notice, outcome)
  }

  sweep(): void {
    this.tested.queue.sweep()
    for (const notice of this.#all()) {
      if (notice.state === 'waiting' && notice.since_ms + retention_ms <= this.now) this.#leave(notice, 'dropped')
    }
  }

  advance(by_ms: number): void {
    this.tested.clock.advance(by_ms)
    for (const subscription of this.subscriptions) this.#forgetIdleKeys(subscription)
  }

  /** The states of all subscriptions, and what was counted, are those of the model. */
  check(): void {
    for (const { id, phase, sent, discarded, failsInRow, notices, pausedUntil } of this.subscriptions) {
      const state = this.tested.queue.states([id])[0]?.delivery
      if (phase === 'unknown' || phase === 'ended') continue
      if (state === undefined) continue // On hold before it was known.
      const { timesSent, failsCounter, queueDepth, queueBytes, oldestQueued, nextAttempt } = state
      const oldest = [...notices].sort((a, b) => a.since_ms - b.since_ms)[0]
      assert.deepEqual(
        { timesSent, discarded: state.discarded, failsCounter, queueDepth, queueBytes, oldestQueued, nextAttempt },
        {
          ...{ timesSent: sent, discarded, failsCounter: failsInRow },
          ...{ queueDepth: notices.length, queueBytes: notices.length * 100, oldestQueued: oldest?.made },
          nextAttempt: pausedUntil > this.now ? pausedUntil : undefined,
        },
      )
    }
    assert.deepEqual(this.tested.left, this.left)
    // One of each subscription and outbox waits, others are under way, and barriers and ticks are always there.
    const special = this.#all().filter(({ bounds }) => bounds !== undefined).length
    const least = this.subscriptions.length * 3 + this.attempts.length + special
    assert(this.tested.queue.inMemory <= this.#window.most + least, 'no more is in memory than the window has')
  }

  /** All that is stored in the end is what the model says. */
  checkStored(): void {
    assert.deepEqual([...this.tested.ackAll()].sort(), [...this.gone].sort())
    for (const { id, phase, sent, discarded } of this.subscriptions) {
      const stored = [0, 1, 2].flatMap((outbox) => this.tested.stored.get(`${outbox} ${id}`) ?? [])
      assert.deepEqual(
        stored.flatMap(({ tried }) => tried),
        [],
      )
      if (phase === 'ended') assert.deepEqual(stored, [])
      else {
        assert.equal(
          stored.reduce((sum, stats) => sum + stats.sent, 0),
          sent,
        )
        assert.equal(
          stored.reduce((sum, stats) => sum + stats.discarded, 0),
          discarded,
        )
      }
    }
  }

  /** Everything that is left is accepted. */
  finishAll(): void {
    this.tested.closed.clear()
    this.sweep()
    for (const subscription of this.subscriptions) this.put(subscription)
    for (this.beginAll(); this.attempts.length > 0; this.beginAll()) this.finish(0, 'accepted')
    assert(this.tested.queue.isIdle)
    assert.equal(this.tested.queue.inMemory, 0)
    assert.deepEqual(this.#all(), [])
  }

  #mayGo(notice: Modelled): boolean {
    const { subscription, key } = notice
    const { receiver, phase, pausedUntil, probing, probe } = subscription
    if (notice.state !== 'waiting' || phase !== 'known' || pausedUntil > this.now || key.pausedUntil > this.now)
      return false
    if (this.tested.closed.has(notice.outbox)) return false
    if (probing && probe !== undefined) return false
    const underWay = this.attempts.filter(({ notice: other }) => other.subscription.receiver === receiver).length
    if (underWay >= perReceiver || this.attempts.length >= total) return false
    if (this.#in(subscription, 'underWay').some((other) => other.key === key)) return false
    if (this.#waitingOf(subscription, key)[0] !== notice) return false
    const barrier = subscription.notices.find(({ bounds }) => bounds !== undefined)
    const isBefore = (one: Modelled) => one.number <= (barrier?.bounds?.[one.outbox] ?? 0)
    if (barrier === undefined) return true
    return notice === barrier ? !subscription.notices.some(isBefore) : isBefore(notice)
  }

  #failed(notice: Modelled, outcome: 'trouble' | 'refused'): void {
    const { subscription, key } = notice
    this.#attempted(notice)
    subscription.failsInRow += 1
    const newer = this.#waitingOf(subscription, key)[0]
    const isCurrent = notice.epoch === subscription.epoch
    notice.state = 'waiting'
    if (outcome === 'trouble' && isCurrent) {
      subscription.failures += 1
      subscription.epoch += 1
      subscription.probing = true
      subscription.pausedUntil = this.now + 10 * subscription.failures
    }
    if (outcome === 'refused' && (isCurrent || subscription.pausedUntil > this.now)) {
      key.failures += 1
      key.pausedUntil = this.now + 10 * key.failures
    }
    if (notice.dropOnFailure || (key.isTick && newer !== undefined && newer.made !== notice.made)) {
      this.#leave(notice, 'ended')
    }
  }

  #done(notice: Modelled, outcome: 'accepted' | 'unsendable' | 'missing'): void {
    const { subscription, key } = notice
    if (outcome === 'accepted') {
      subscription.failures = 0
      key.failures = 0
      if (notice.epoch === subscription.epoch) subscription.probing = false
      this.#attempted(notice)
      subscription.failsInRow = 0
    }
    this.#leave(notice, results[outcome])
  }

  /** On hold nothing is dropped, since what an undecided change has made may be void; when the hold ends, as many as are too many. */
  #dropBeyondLimit(subscription: ModelledSubscription): void {
    for (const oldest of this.#in(subscription, 'waiting')) {
      if (subscription.notices.length > queueMax) this.#leave(oldest, 'dropped')
    }
  }

  #attempted(notice: Modelled): void {
    if (!notice.tried) notice.subscription.sent += 1
    notice.tried = true
  }

  #leave(notice: Modelled, result: AttemptResult): void {
    const { subscription, outbox, number } = notice
    notice.state = 'left'
    subscription.notices = subscription.notices.filter((other) => other !== notice)
    if (result === 'dropped') subscription.discarded += 1
    this.left[result] += 1
    this.gone.add(`${outbox}-${number}`)
    this.#forgetIdleKeys(subscription)
  }

  /** Refusals of a key are remembered while it has notices, or a pause. */
  #forgetIdleKeys({ keys, notices }: ModelledSubscription): void {
    for (const key of keys.values()) {
      if (key.pausedUntil <= this.now && !notices.some((notice) => notice.key === key)) key.failures = 0
    }
  }

  #all(): readonly Modelled[] {
    return this.subscriptions.flatMap(({ notices }) => notices)
  }

  #in({ notices }: ModelledSubscription, state: Modelled['state']): readonly Modelled[] {
    return notices.filter((notice) => notice.state === state)
  }

  #waitingOf(subscription: ModelledSubscription, key: ModelledKey): readonly Modelled[] {
    return this.#in(subscription, 'waiting').filter((notice) => notice.key === key)
  }
}

/** What the queue calls a key. */
function keyName({ keys }: ModelledSubscription, key: ModelledKey): string {
  for (const [name, own] of keys) if (own === key) return name
  throw new Error('a notice has a key that its subscription does not know')
}
