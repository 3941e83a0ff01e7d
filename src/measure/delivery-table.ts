import { CounterTable, type CounterTableMemory } from '../shared-memory/counter-table.js'
import type { Milliseconds, Nanoseconds } from '../time.js'
import { type BucketReading, durationBuckets } from './buckets.js'

const sums = ['stored', 'left', 'accepted', 'dropped', 'simulated', 'trouble', 'refused', 'timeInQueue'] as const
type Sum = (typeof sums)[number]

const oldestColumn = sums.length
const openingColumn = oldestColumn + 1
const streamsColumn = openingColumn + 1
const attemptDurations = streamsColumn + 1
const queueWaits = attemptDurations + durationBuckets.width
/** From here on the depth and the bytes of each outbox. */
const queues = queueWaits + durationBuckets.width

const row = 0
const reset = 0

/** How a notification left its queue. */
export type AttemptResult = 'accepted' | 'simulated' | 'dropped' | 'ended'

/** Where the courier records its work; for one thread. */
export interface DeliveryMeter {
  /** Notifications were stored for delivery. */
  stored(notifications: number): void
  /** An attempt ended. */
  attempted(result: 'accepted' | 'trouble' | 'refused', duration: Nanoseconds): void
  /** A notification left: dropped by a limit, or with the end of its subscription, or accepted after so much time. */
  left(how: AttemptResult, inQueue?: Nanoseconds): void
  /** What waits or is under way in an outbox. */
  queue(outbox: number, depth: number, bytes: number): void
  /** When the oldest of what waits was made; nothing when nothing waits. */
  oldest(made: Milliseconds | undefined): void
  /** How many connections to MQTT brokers are being opened. */
  opening(connections: number): void
  /** How many clients listen to subscriptions. */
  listening(streams: number): void
}

/** The queue of notifications since the last reset [management 4.5]. */
export interface DeliveryReading {
  readonly in: number
  readonly out: number
  readonly reject: number
  readonly sentOk: number
  readonly sentError: number
  readonly timeInQueue: Nanoseconds
  readonly size: number
}

/** Since the start of the process, whatever was reset [management 7]. */
interface DeliveryTotals {
  readonly notifications: Readonly<Record<'accepted' | 'dropped' | 'simulated', number>>
  readonly attempts: Readonly<Record<'accepted' | 'trouble' | 'refused', number>>
  /** In seconds. */
  readonly attemptDurations: BucketReading
  /** In seconds; from the making of a notification to its acceptance. */
  readonly queueWaits: BucketReading
}

/** What waits or is under way in one outbox now. */
export interface OutboxReading {
  readonly depth: number
  readonly bytes: number
}

/** The work of the courier, which alone writes it [management 4.5, 7]. */
export class DeliveryTable {
  readonly #table: CounterTable
  readonly #outboxes: number

  /** For this number of outboxes: those of the partitions, then the coordinator's. */
  static make(outboxes: number, at: Nanoseconds): CounterTableMemory {
    return CounterTable.make(1, queues + 2 * outboxes, 1, at).memory
  }

  constructor(memory: CounterTableMemory) {
    this.#table = new CounterTable(memory)
    this.#outboxes = (memory.width - queues) / 2
  }

  /** For the courier's own thread. Opening it ends what a thread that was replaced had said of its queues. */
  meter(): DeliveryMeter {
    const table = this.#table
    const add = (sum: Sum, amount: bigint) => table.add(row, sums.indexOf(sum), amount)
    for (let column = queues; column < queues + 2 * this.#outboxes; column += 1) table.put(row, column, 0n)
    table.put(row, oldestColumn, 0n)
    table.put(row, openingColumn, 0n)
    table.put(row, streamsColumn, 0n)
    return {
      stored: (notifications) => add('stored', BigInt(notifications)),
      attempted: (result, duration) => {
        durationBuckets.record(table, row, attemptDurations, duration)
        if (result !== 'accepted') add(result, 1n)
      },
      left: (how, inQueue = 0n) => {
        // A reset takes the sums in their order: what it has as left it has in every other sum.
        if (how === 'accepted') {
          durationBuckets.record(table, row, queueWaits, inQueue)
          add('timeInQueue', inQueue)
        }
        if (how !== 'ended') add(how, 1n)
        add('left', 1n)
      },
      queue: (outbox, depth, bytes) => {
        table.put(row, queues + 2 * outbox, BigInt(depth))
        table.put(row, queues + 2 * outbox + 1, BigInt(bytes))
      },
      oldest: (made) => table.put(row, oldestColumn, BigInt(made ?? 0)),
      opening: (connections) => table.put(row, openingColumn, BigInt(connections)),
      listening: (streams) => table.put(row, streamsColumn, BigInt(streams)),
    }
  }

  /** The queue over all subscriptions; all but the size since the last reset. */
  read(): DeliveryReading {
    const from = this.#table.marked(reset)
    const since = (sum: Sum) => Number(from.since(sums.indexOf(sum)))
    return {
      in: since('stored'),
      out: since('left'),
      reject: since('dropped'),
      sentOk: since('accepted') + since('simulated'),
      sentError: since('trouble') + since('refused'),
      timeInQueue: from.since(sums.indexOf('timeInQueue')),
      size: this.outboxes().reduce((size, { depth }) => size + depth, 0),
    }
  }

  get totals(): DeliveryTotals {
    const column = (index: number) => this.#table.cell(row, index)
    const total = (sum: Sum) => Number(column(sums.indexOf(sum)))
    const attempts = { accepted: total('accepted'), trouble: total('trouble'), refused: total('refused') }
    return {
      notifications: { accepted: attempts.accepted, dropped: total('dropped'), simulated: total('simulated') },
      attempts,
      attemptDurations: durationBuckets.reading(column, attemptDurations),
      queueWaits: durationBuckets.reading(column, queueWaits),
    }
  }

  /** The outboxes of the partitions in their order, then the coordinator's. */
  outboxes(): readonly OutboxReading[] {
    const gauge = (column: number) => Number(this.#table.cell(row, column))
    return Array.from({ length: this.#outboxes }, (_, outbox) => ({
      depth: gauge(queues + 2 * outbox),
      bytes: gauge(queues + 2 * outbox + 1),
    }))
  }

  /** When the oldest notification that waits was made. */
  get oldest(): Milliseconds | undefined {
    const made = Number(this.#table.cell(row, oldestColumn))
    return made === 0 ? undefined : (made as Milliseconds)
  }

  /** Whether a connection to an MQTT broker is being opened [management 6.3]. */
  get isOpening(): boolean {
    return this.#table.cell(row, openingColumn) > 0n
  }

  /** How many clients listen to subscriptions, by event streams. */
  get streams(): number {
    return Number(this.#table.cell(row, streamsColumn))
  }

  /** From now on everything but the size counts from zero. */
  reset(at: Nanoseconds = process.hrtime.bigint()): void {
    this.#table.mark(reset, at)
  }
}
