import fc from 'fast-check'
import { test } from 'tap'
import { OperationTimes, type PartitionTimes, type TurnCost } from '../../src/observe/measure/slow-requests.js'

function turn(partition: number, begun_ns: number, decided_ns: number, committed_ns: number): TurnCost {
  return { decided_ns, committed_ns, detail: { partition, begun_ns, logged_ns: Math.floor(committed_ns / 2) } }
}

function sumOf({ mailbox_ns, decide_ns, commit_ns, handle_ns }: PartitionTimes): number {
  return mailbox_ns + decide_ns + commit_ns + handle_ns
}

test('the partition that took longest is the one that is shown, with how many there were', async (t) => {
  const times = new OperationTimes()
  t.equal(times.slowest, undefined)
  times.turn(100n, turn(0, 150, 10, 20))
  times.turn(100n, turn(1, 300, 5, 8))
  times.handle({ partition: 2, from_ns: 100, to_ns: 120 })
  t.equal(times.partitions, 3)
  t.match(times.slowest, { partition: 1, mailbox_ns: 200, decide_ns: 5, commit_ns: 8, log_ns: 4, handle_ns: 0 })
})

test('commands that share a turn share its times, and while one turn is under way none waits for the next', async (t) => {
  const times = new OperationTimes()
  times.turn(100n, turn(0, 150, 10, 20))
  times.turn(110n, turn(0, 150, 10, 20))
  t.match(times.slowest, { mailbox_ns: 50, decide_ns: 10, commit_ns: 20 })
  times.turn(120n, turn(0, 190, 1, 2))
  t.match(times.slowest, { mailbox_ns: 60, decide_ns: 11, commit_ns: 22, log_ns: 11 })
})

test('a turn of which nothing was taken down counts for nothing', async (t) => {
  const times = new OperationTimes()
  times.turn(0n, turn(0, 150, 10, 20))
  times.turn(100n, { decided_ns: 1, committed_ns: 2 })
  t.equal(times.slowest, undefined)
})

test('the times of a partition are together no longer than from the first entry to the last end', async (t) => {
  const step = fc.record({ waits: fc.nat(1000), gap: fc.nat(100), decided: fc.nat(100), committed: fc.nat(100) })
  fc.assert(
    fc.property(fc.array(step, { minLength: 1 }), (steps) => {
      const times = new OperationTimes()
      let [end, first] = [10_000, Number.POSITIVE_INFINITY]
      for (const { waits, gap, decided, committed } of steps) {
        const begun = end + gap + 1
        const entered = begun - waits
        first = Math.min(first, entered)
        times.turn(BigInt(entered), turn(0, begun, decided, committed))
        end = begun + decided + committed
      }
      const { slowest } = times
      return slowest !== undefined && sumOf(slowest) <= end - first
    }),
  )
  const reads = new OperationTimes()
  reads.handle({ partition: 0, from_ns: 100, to_ns: 200 })
  reads.handle({ partition: 0, from_ns: 150, to_ns: 260 })
  t.equal(reads.slowest?.handle_ns, 160, 'waits at the same time count once')
})
