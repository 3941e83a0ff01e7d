import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { test } from 'tap'
import { Measures, rowOf } from '../../src/observe/measure/measures.js'
import { runs } from '../runs.js'
import { during } from '../until.js'

const threads = { frontEnds: 2, partitions: 2, queryThreads: 1 }
const clock = () => process.hrtime.bigint()

function measuring(): Measures {
  const measures = Measures.make(threads)
  measures.switchPart('semWait', true, clock())
  return measures
}

test('rows are numbered through front ends, partitions and query threads', async (t) => {
  t.equal(rowOf(threads, 'frontEnd', 1), 1)
  t.equal(rowOf(threads, 'partition', 0), 2)
  t.equal(rowOf(threads, 'queryThread', 0), 4)
})

test('waits of a thread are seen by the others at once, with their percentiles, and can be reset from there', async (t) => {
  const measures = measuring()
  const workers = [0, 1].map((partition) => {
    const entry = new URL('./fixtures/measuring.js', import.meta.url)
    return new Worker(entry, { workerData: { memory: measures.memory, partition } })
  })
  t.teardown(() => Promise.all(workers.map((worker) => worker.terminate())))
  const record = async (waits: readonly bigint[]) => {
    for (const worker of workers) worker.postMessage(waits)
    await Promise.all(workers.map((worker) => once(worker, 'message')))
  }

  await record([1_000n, 5_000_000n])
  const first = measures.waits.reading('transaction', 1)
  t.match(first, { count: 3n, waited: 2n, total: 5_001_000n, max: 5_000_000n, p999: 5_000_000n })
  t.ok(first.p50 >= 1_000n && first.p50 < 1_002n, 'the second of three, with three digits')
  t.match(measures.waits.reading('transaction'), { count: 6n, waited: 4n, total: 10_002_000n, max: 5_000_000n })
  t.equal(measures.counts.flat('notificationsSent'), 2n)
  t.equal(measures.partitions.distribution('commitOperations', 1).sum, 2)

  measures.reset(clock())
  t.match(measures.waits.reading('transaction'), { count: 0n, waited: 0n, total: 0n, max: 0n, p50: 0n, p999: 0n })
  t.equal(measures.waits.buckets('transaction', 0).counts.at(-1), 3, 'Prometheus sees no reset')

  await record([700n])
  t.match(measures.waits.reading('transaction', 0), { count: 2n, waited: 1n, total: 700n, max: 700n, p999: 700n })
})

test('what is counted while others reset stays consistent: no more has waited than was counted, none longer than the longest', async (t) => {
  const measures = measuring()
  const entry = new URL('./fixtures/measuring.js', import.meta.url)
  const worker = new Worker(entry, { workerData: { memory: measures.memory, partition: 0 } })
  t.teardown(() => worker.terminate())
  const waits = Array.from({ length: 20_000 }, () => 1_000n)
  for (let rounds = 0; rounds < 10; rounds += 1) {
    const done = once(worker, 'message')
    worker.postMessage(waits)
    await during(done, () => measures.reset(clock()))
    const { count, waited, total, max } = measures.waits.reading('transaction', 0)
    // What is counted while a reset takes the sums may be a request without a wait: the columns are taken one after the other.
    t.ok(waited <= count, `${waited} of ${count} have waited`)
    t.ok(total <= waited * max, `${total} of ${waited} that waited at most ${max}`)
    t.equal(max, waited === 0n ? 0n : 1_000n)
  }
})

test('nothing is counted while the measurement is off, and switching it on starts at zero', async (t) => {
  const measures = Measures.make(threads)
  const meter = measures.wait('request')
  t.notOk(meter.on)
  meter.waited(5n)
  meter.free()
  t.match(measures.waits.reading('request'), { count: 0n, total: 0n })
  t.equal(measures.waits.buckets('request').counts.at(-1), 0)

  measures.switchPart('semWait', true, clock())
  t.ok(meter.on)
  meter.waited(5n)
  measures.switchPart('semWait', true, clock())
  t.equal(measures.waits.total('request'), 5n, 'switching on what is on changes nothing')
  measures.switchPart('semWait', false, clock())
  measures.switchPart('semWait', true, clock())
  t.match(measures.waits.reading('request'), { count: 0n, waited: 0n, total: 0n, max: 0n })
})

test('percentiles are over all occasions, those without a wait being zero', async (t) => {
  const measures = measuring()
  const meter = measures.wait('request')
  for (let requests = 0; requests < 95; requests += 1) meter.free()
  for (const wait of [10n, 20n, 30n, 40n, 4_000_123n]) meter.waited(wait)
  const { count, waited, p50, p90, p99, p999, max } = measures.waits.reading('request')
  t.same({ count, waited, p50, p90, p99 }, { count: 100n, waited: 5n, p50: 0n, p90: 0n, p99: 40n })
  t.same({ p999, max }, { p999: 4_000_123n, max: 4_000_123n }, 'never more than the exact maximum')
})

test('a wait of nothing is no wait, and one beyond the histogram still counts in full', async (t) => {
  const measures = measuring()
  const meter = measures.wait('request')
  meter.waited(0n)
  meter.waited(7_200_000_000_000n)
  t.match(measures.waits.reading('request'), {
    count: 2n,
    waited: 1n,
    total: 7_200_000_000_000n,
    max: 7_200_000_000_000n,
  })
})

test('count, sum and maximum are those since the last reset, whatever threads and resets do', async (t) => {
  const step = fc.oneof(fc.record({ row: fc.nat(1), wait: fc.bigInt(0n, 10n ** 12n) }), fc.constant('reset' as const))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const measures = measuring()
      const meters = [measures, new Measures(measures.memory, 1)].map((one) => one.wait('mailbox', 1))
      let since: bigint[] = []
      for (const taken of steps) {
        if (taken === 'reset') {
          measures.reset(clock())
          since = []
        } else {
          meters[taken.row]?.waited(taken.wait)
          since.push(taken.wait)
        }
      }
      t.match(measures.waits.reading('mailbox', 1), {
        count: BigInt(since.length),
        waited: BigInt(since.filter((wait) => wait > 0n).length),
        total: since.reduce((sum, wait) => sum + wait, 0n),
        max: since.toSorted((one, other) => Number(one - other)).at(-1) ?? 0n,
      })
    }),
    { numRuns: runs(30) },
  )
})

test('gauges are added up over the threads, and a thread that is replaced begins at zero', async (t) => {
  const measures = Measures.make(threads)
  const other = new Measures(measures.memory, 1)
  measures.mailboxDepth(1).set(3)
  other.mailboxDepth(1).set(4)
  t.equal(measures.mailboxDepthOf(1), 7)
  t.equal(measures.mailboxDepthOf(0), 0)
  new Measures(measures.memory, 1).mailboxDepth(1)
  t.equal(measures.mailboxDepthOf(1), 3)
})

test('a partition that is replaced no longer writes and keeps its sums', async (t) => {
  const measures = Measures.make(threads)
  const storage = measures.storage(1)
  storage.committed(7, 2_000n)
  storage.size(10, 4096, 8192)
  storage.writing(true)
  storage.full(true)
  const value = (name: Parameters<typeof measures.partitions.value>[0]) => measures.partitions.value(name, 1)
  t.same([value('entities'), value('used_bytes'), value('map_bytes')], [10, 4096, 8192])
  t.same([value('isWriting'), value('isFull')], [1, 1])
  measures.restarted(1)
  measures.storage(1).committed(1, 1_000n)
  t.same([value('isWriting'), value('isFull'), value('restarts')], [0, 0, 1])
  t.equal(measures.partitions.distribution('commitOperations', 1).sum, 8)
  t.equal(measures.partitions.distribution('commitDurations', 1).counts.at(-1), 2)
  t.equal(measures.partitions.value('restarts', 0), 0)
})

test('every thread sees that the broker is ending', async (t) => {
  const measures = Measures.make(threads)
  const other = new Measures(measures.memory, 3)
  t.notOk(other.ending)
  measures.end()
  t.ok(other.ending)
  t.equal(other.startedAt, measures.startedAt)
})
