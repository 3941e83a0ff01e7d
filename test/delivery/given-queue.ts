import assert from 'node:assert'
import { DeliveryQueue, type DeliveryQueueParts } from '../../src/delivery/queue/delivery-queue.js'
import type { ReadNotice } from '../../src/delivery/queue/notice-list.js'
import { Outboxes } from '../../src/delivery/queue/outboxes.js'
import { trouble } from '../../src/delivery/queue/outgoing.js'
import type { QueueLimits } from '../../src/delivery/queue/recipients.js'
import type { QueueClock } from '../../src/delivery/queue/subscription-queue.js'
import { type AttemptParts, Attempts } from '../../src/delivery/senders/attempts.js'
import type {
  DeliveryStats,
  NoticeAck,
  NoticeNumber,
  NumberedNotice,
  OrderingKey,
} from '../../src/model/subscription/notice.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { FrequentEvents } from '../../src/observe/log/frequent-event.js'
import { LineLog } from '../../src/observe/log/log.js'
import type { AttemptResult } from '../../src/observe/measure/delivery-figures.js'
import { ok } from '../../src/result.js'
import { logLevels, Switches } from '../../src/threads/shared-memory/switches.js'
import type { Milliseconds } from '../../src/time.js'
import { notice } from './given.js'

/** A clock that stands still until it is advanced. */
export class ManualClock implements QueueClock {
  #now = 1_000_000
  readonly #timers = new Set<{ readonly due: number; readonly act: () => void }>()

  readonly now = (): Milliseconds => this.#now as Milliseconds
  readonly steady_ms = (): number => this.#now

  readonly later = (delay_ms: number, act: () => void): (() => void) => {
    const timer = { due: this.#now + delay_ms, act }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  advance(by_ms: number): void {
    this.#now += by_ms
    for (const timer of [...this.#timers].sort((a, b) => a.due - b.due)) {
      if (timer.due > this.#now || !this.#timers.delete(timer)) continue
      timer.act()
    }
  }
}

/** What waits in an outbox: of partition 0 or 1, or of the coordinator, which is number 2. */
export const coordinator = 2

export const outboxNumbers = [...Array(coordinator + 1).keys()]

/** Makes the attempts that a queue begins with this `send` in the place of HTTP; each notice is one of this subscription. */
export function attemptsOf(queue: DeliveryQueue, id: SubscriptionId, send: AttemptParts['http']['send']): Attempts {
  const switches = new Switches()
  const nothing = (): undefined => undefined
  const outbox = {
    ...{ refresh: nothing, first: nothing, last: () => 0, after: () => [], before: () => [], head: nothing },
    ...{ holds: () => true, stats: () => [], statsOf: nothing, ack: async () => true, close: async () => undefined },
  }
  return new Attempts({
    ...{ queue, switches, log: new LineLog(switches, nothing), transaction: () => '1' },
    ...{ count: nothing, sent: nothing, alarm: nothing, brokerId: '0011223344556677', maxSize: 1e6 },
    ...{ render: () => '', body: () => ok('') },
    told: { dropped: new FrequentEvents(), steps: new FrequentEvents() },
    meter: { attempted: nothing },
    outboxes: new Outboxes(outboxNumbers.map(() => ({ ...outbox, at: () => notice(id, 'any', '{}') }))),
    http: { send, close: nothing },
    mqtt: { send: async () => trouble('no broker'), close: nothing },
  })
}

const limits: QueueLimits = {
  retention_ms: 1e9,
  queueMax: 1e9,
  bytesMax: 1e9,
  noticesMax: 1e9,
  window: { most: 1e9, share: 1e9, streamShare: 1e9 },
  perReceiver: 8,
  timeout_ms: 5000,
  total: 256,
  underWay_bytes: 1e9,
}

/** A notice that an outbox holds when it is read. */
interface HeldNotice {
  readonly number: NoticeNumber
  readonly subscription: SubscriptionId
  readonly orderingKey: OrderingKey
  readonly made: Milliseconds
  readonly since_ms: number
}

/** A delivery queue with outboxes in memory: it keeps all acks, and what was counted. */
export class QueueUnderTest {
  readonly clock = new ManualClock()
  readonly queue: DeliveryQueue
  readonly left: Record<AttemptResult, number> = { accepted: 0, simulated: 0, dropped: 0, ended: 0 }
  readonly warnings: string[] = []
  /** The stats as the outboxes hold them. */
  readonly stored = new Map<string, DeliveryStats>()
  /** The number of the last notice of each outbox that has arrived. */
  readonly known: NoticeNumber[] = [0, 0, 0]
  /** Outboxes of which nothing may be sent. */
  readonly closed = new Set<number>()
  readonly #acked = new Set<string>()
  /** What the outboxes hold, as it is read again. */
  readonly #held = new Map<string, ReadNotice>()
  /** The batch of each outbox that its owner has been given and has not answered. */
  readonly #batches = new Map<
    number,
    { readonly acks: readonly NoticeAck[]; readonly respond: (isStored: boolean) => void }
  >()
  /** The batch of each outbox that was refused. */
  readonly #refused = new Map<number, readonly NoticeAck[]>()
  #arrivals = 0
  /** How many notices were read again. */
  reread = 0

  constructor(more: Partial<QueueLimits> = {}, parts: Partial<DeliveryQueueParts> = {}) {
    const switches = new Switches()
    switches.set('logLevel', logLevels.indexOf('WARN'))
    this.queue = new DeliveryQueue({
      limits: { ...limits, ...more },
      failing: () => {},
      ...{ simulated: false, coordinator, clock: this.clock },
      known: (outbox) => this.known[outbox] ?? 0,
      isOpen: (outbox) => !this.closed.has(outbox),
      remoteBarrier: () => undefined,
      goneElsewhere: () => undefined,
      mayMove: () => false,
      pause_ms: (failures) => failures * 10,
      tooLong: () => undefined,
      reread: (outbox, number) => {
        assert(!this.#acked.has(`${outbox}-${number}`), 'what has left is not read again')
        this.reread += 1
        return this.#held.get(`${outbox}-${number}`)
      },
      countSimulated: () => undefined,
      ready: () => undefined,
      streamReady: () => undefined,
      ack: (outbox, acks, response) => this.#offered(outbox, acks, response),
      elsewhere: () => [],
      meter: {
        ...{
          stored: () => undefined,
          attempted: () => undefined,
          queue: () => undefined,
          oldest: () => undefined,
          withheld: () => undefined,
          unread: () => undefined,
          opening: () => undefined,
          listening: () => undefined,
        },
        left: (how) => {
          this.left[how] += 1
        },
      },
      log: new LineLog(switches, ({ message }) => this.warnings.push(message)),
      ...parts,
    })
  }

  /** An outbox goes to another node, and comes back with what it holds: everything that has left is stored before. */
  move(outbox: number, held: readonly HeldNotice[]): void {
    this.#ackAllOf(outbox)
    this.queue.forget(outbox)
    const prefix = `${outbox} `
    const stored = [...this.stored].filter(([key]) => key.startsWith(prefix))
    this.queue.restore(
      outbox,
      stored.map(([key, stats]) => [key.slice(prefix.length) as SubscriptionId, stats] as const),
    )
    for (const { number, subscription, orderingKey, made, since_ms } of held) {
      const { body: _, ...head } = notice(subscription, orderingKey, '', { made })
      this.#add(outbox, { number, size_bytes: 100, body_bytes: 10, notice: head }, since_ms)
    }
    this.queue.loaded(outbox)
    this.queue.check()
  }

  /** A notice arrives; gives when it was made by the steady clock, of which no two are the same. */
  arrive(
    outbox: number,
    given: {
      readonly subscription: SubscriptionId
      readonly orderingKey: OrderingKey
      readonly after?: readonly number[] | undefined
      readonly made?: number
      readonly size_bytes?: number
      /** By how much it seems to be older when it is read again, since the clock of the day was set. */
      readonly skew_ms?: number
    },
  ): { readonly number: NoticeNumber; readonly since_ms: number } {
    const { subscription, orderingKey, after, made = this.clock.now(), size_bytes = 100, skew_ms = 0 } = given
    const number = (this.known[outbox] ?? 0) + 1
    this.known[outbox] = number
    this.#arrivals += 1
    const since_ms = this.clock.steady_ms() + this.#arrivals * 1e-6
    const { body: _, ...head } = notice(subscription, orderingKey, '', { made: made as Milliseconds, after })
    this.#add(outbox, { number, size_bytes, body_bytes: 10, notice: head }, since_ms, skew_ms)
    return { number, since_ms }
  }

  #add(outbox: number, numbered: NumberedNotice, since_ms: number, skew_ms = 0): void {
    this.#held.set(`${outbox}-${numbered.number}`, { numbered, since_ms: since_ms - skew_ms })
    this.queue.add(outbox, numbered, since_ms)
  }

  /** A batch is offered to its owner; asserts that no other one is under way, and that no notice leaves twice. */
  #offered(outbox: number, acks: readonly NoticeAck[], respond: (isStored: boolean) => void): void {
    assert(!this.#batches.has(outbox), 'one batch of an outbox is under way at a time')
    this.#batches.set(outbox, { acks, respond })
    const before = this.#refused.get(outbox)
    if (before !== undefined) {
      assert(acks === before, 'what was refused is offered again')
      return
    }
    assert(acks.reduce((sum, { gone }) => sum + gone.length, 0) <= 400)
    for (const number of acks.flatMap(({ gone }) => gone)) {
      assert(!this.#acked.has(`${outbox}-${number}`), 'a notice leaves once')
      this.#acked.add(`${outbox}-${number}`)
    }
  }

  /** The acks of an outbox that are offered to its owner. */
  offered(outbox: number): readonly NoticeAck[] | undefined {
    return this.#batches.get(outbox)?.acks
  }

  /** Has the acks of an outbox offered without gathering more. */
  beginAck(outbox: number): void {
    this.queue.records.flush(outbox)
  }

  /** The owner stores the batch that it was offered. */
  endAck(outbox: number): void {
    const batch = this.#batches.get(outbox)
    if (batch === undefined) return
    this.#batches.delete(outbox)
    this.#refused.delete(outbox)
    for (const { subscription, stats } of batch.acks) {
      if (stats === undefined) this.stored.delete(`${outbox} ${subscription}`)
      else this.stored.set(`${outbox} ${subscription}`, stats)
    }
    batch.respond(true)
  }

  /** The owner refuses the batch that it was offered, which comes again later. */
  refuseAck(outbox: number): void {
    const batch = this.#batches.get(outbox)
    if (batch === undefined) return
    this.#batches.delete(outbox)
    this.#refused.set(outbox, batch.acks)
    batch.respond(false)
  }

  #ackAllOf(outbox: number): void {
    // What was refused comes again.
    if (this.#refused.has(outbox) && !this.#batches.has(outbox)) this.clock.advance(2000)
    this.beginAck(outbox)
    while (this.#batches.has(outbox)) this.endAck(outbox)
  }

  /** Stores everything; gives the notices that have left their outboxes, by outbox and number. */
  ackAll(): ReadonlySet<string> {
    for (const outbox of this.known.keys()) this.#ackAllOf(outbox)
    return this.#acked
  }
}
