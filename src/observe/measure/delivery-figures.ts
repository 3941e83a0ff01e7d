import type { CounterTableMemory } from '../../threads/shared-memory/counter-table.js'
import type { Milliseconds, Nanoseconds } from '../../time.js'
import { FigureTable } from './figure-table.js'
import { courierFigures, deliveryFigures, outboxFigures } from './figures.js'

/** How a notification left its queue. */
export type AttemptResult = 'accepted' | 'simulated' | 'dropped' | 'ended'

/** Where the courier records its work; for one thread. */
export interface DeliveryMeter {
  /** Notifications were stored for delivery. */
  stored(notifications: number): void
  /** An attempt ended. */
  attempted(result: 'accepted' | 'trouble' | 'refused', duration: Nanoseconds): void
  /** A notification left its queue: dropped by a limit, or with the end of its subscription, or accepted after this time. */
  left(how: AttemptResult, inQueue?: Nanoseconds): void
  /** The number and bytes of notices that wait or are under way in an outbox. */
  queue(outbox: number, depth: number, bytes: number): void
  /** The number of notices from before the start that were not read from the outboxes yet, at most. */
  unread(notices: number): void
  /** When the oldest waiting notice that is to be sent now was made; undefined when there is none. */
  oldest(made: Milliseconds | undefined): void
  /** Notices of inactive subscriptions, and of those with listeners: they wait, but nothing is late. */
  withheld(notices: number): void
  /** The number of connections to MQTT brokers that are being opened. */
  opening(connections: number): void
  /** The number of clients that listen to subscriptions. */
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

export interface DeliveryMemory {
  readonly sums: CounterTableMemory
  readonly outboxes: CounterTableMemory
  readonly courier: CounterTableMemory
}

/** The figures of the courier, which alone writes them [management 4.5, 7]. */
export class DeliveryFigures {
  readonly sums: FigureTable<typeof deliveryFigures.all>
  /** A row per outbox: those of the partitions in order, then the coordinator's. */
  readonly outboxes: FigureTable<typeof outboxFigures.all>
  readonly courier: FigureTable<typeof courierFigures.all>

  /** For this number of outboxes, the coordinator's included. */
  static make(outboxes: number, at: Nanoseconds): DeliveryMemory {
    return {
      sums: FigureTable.make(deliveryFigures, 1, at, true),
      outboxes: FigureTable.make(outboxFigures, outboxes, at),
      courier: FigureTable.make(courierFigures, 1, at),
    }
  }

  constructor({ sums, outboxes, courier }: DeliveryMemory) {
    this.sums = new FigureTable(deliveryFigures, sums)
    this.outboxes = new FigureTable(outboxFigures, outboxes)
    this.courier = new FigureTable(courierFigures, courier)
  }

  /** For the courier's own thread. Opening it resets the state that a replaced thread has left. */
  meter(): DeliveryMeter {
    const [sums, courier] = [this.sums.row(0), this.courier.row(0)]
    const attempted = sums.recorder('attemptDurations')
    const [left, inQueueSum, waited] = [sums.adder('left'), sums.adder('timeInQueue_ns'), sums.recorder('queueWaits')]
    const count = {
      accepted: sums.adder('notifications.accepted'),
      dropped: sums.adder('notifications.dropped'),
      simulated: sums.adder('notifications.simulated'),
    }
    const queues = Array.from({ length: this.outboxes.rows }, (_, outbox) => {
      const row = this.outboxes.row(outbox)
      return { depth: row.setter('depth'), bytes: row.setter('bytes') }
    })
    const meter: DeliveryMeter = {
      stored: (notifications) => sums.add('stored', notifications),
      attempted: (result, duration) => {
        attempted(duration)
        if (result !== 'accepted') sums.add(result)
      },
      left: (how, inQueue = 0n) => {
        // A reset reads the columns in order: every notification that it counts as left is in all other sums.
        if (how === 'accepted') {
          waited(inQueue)
          inQueueSum(inQueue)
        }
        if (how !== 'ended') count[how](1n)
        left(1n)
      },
      queue: (outbox, depth, bytes) => {
        queues[outbox]?.depth(depth)
        queues[outbox]?.bytes(bytes)
      },
      unread: courier.setter('unread'),
      oldest: (made) => courier.put('oldest', made ?? 0),
      withheld: courier.setter('withheld'),
      opening: courier.setter('opening'),
      listening: courier.setter('streams'),
    }
    for (const outbox of queues.keys()) meter.queue(outbox, 0, 0)
    meter.unread(0)
    meter.oldest(undefined)
    meter.withheld(0)
    meter.opening(0)
    meter.listening(0)
    return meter
  }

  /** The queue over all subscriptions; everything but the size counts since the last reset. */
  read(): DeliveryReading {
    const exact = this.sums.sinceReset
    const since = (name: Parameters<typeof exact>[0]) => Number(exact(name))
    return {
      in: since('stored'),
      out: since('left'),
      reject: since('notifications.dropped'),
      sentOk: since('notifications.accepted') + since('notifications.simulated'),
      sentError: since('trouble') + since('refused'),
      timeInQueue: exact('timeInQueue_ns'),
      size: this.outboxes.value('depth'),
    }
  }

  /** When the oldest waiting notification that is to be sent now was made. */
  get oldest(): Milliseconds | undefined {
    const made = this.courier.value('oldest')
    return made === 0 ? undefined : (made as Milliseconds)
  }

  /** Notifications from before the start that were not read from the outboxes yet, at most. */
  get unread(): number {
    return this.courier.value('unread')
  }

  /** From now on everything but the size counts from zero. */
  reset(at: Nanoseconds = process.hrtime.bigint()): void {
    this.sums.reset(at)
  }
}
