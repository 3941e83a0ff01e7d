import { test } from 'tap'
import { DeliveryFigures } from '../../src/observe/measure/delivery-figures.js'
import { Measures, rowOf } from '../../src/observe/measure/measures.js'
import { at } from '../given.js'

test('the queue of notifications is counted since the reset, its size and the totals are not', async (t) => {
  const table = new DeliveryFigures(DeliveryFigures.make(3, 0n))
  const meter = table.meter()
  meter.stored(5)
  meter.attempted('trouble', 2_000_000n)
  meter.attempted('refused', 1n)
  meter.attempted('accepted', 1n)
  meter.left('accepted', 3_000_000_000n)
  meter.left('dropped')
  meter.left('ended')
  meter.left('simulated')
  meter.queue(2, 1, 300)
  meter.oldest(at(77))
  t.same(table.read(), { in: 5, out: 4, reject: 1, sentOk: 2, sentError: 2, timeInQueue: 3_000_000_000n, size: 1 })
  table.reset()
  t.same(table.read(), { in: 0, out: 0, reject: 0, sentOk: 0, sentError: 0, timeInQueue: 0n, size: 1 })
  const results = ['notifications.accepted', 'notifications.dropped', 'notifications.simulated', 'trouble'] as const
  t.same(
    results.map((name) => table.sums.value(name)),
    [1, 1, 1, 1],
  )
  t.equal(table.sums.distribution('queueWaits').sum, 3)
  t.equal(table.sums.distribution('attemptDurations').counts.at(-1), 3)
  t.same([table.outboxes.value('depth', 2), table.outboxes.value('bytes', 2)], [1, 300])
  t.equal(table.oldest, 77)
  table.meter()
  t.equal(table.oldest, undefined, 'another courier begins with nothing')
  t.equal(table.read().size, 0)
})

test('the courier has a row of its own, and its queue is reset with the rest', async (t) => {
  const threads = { frontEnds: 2, partitions: 3, queryThreads: 2 }
  const measures = Measures.make(threads)
  const row = rowOf(threads, 'courier', 0)
  t.equal(row, 7)
  const courier = new Measures(measures.memory, row)
  courier.count('notificationsSent')
  courier.delivery.meter().stored(2)
  t.equal(measures.counts.flat('notificationsSent'), 1n)
  t.equal(measures.delivery.read().in, 2)
  t.equal(measures.delivery.outboxes.rows, 4)
  measures.switchPart('notifQueue', true, process.hrtime.bigint())
  t.equal(measures.delivery.read().in, 0, 'what is switched on starts at zero')
  courier.delivery.meter().stored(1)
  measures.reset(process.hrtime.bigint())
  t.equal(measures.delivery.read().in, 0)
})
