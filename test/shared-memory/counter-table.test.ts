import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { test } from 'tap'
import { CounterTable } from '../../src/threads/shared-memory/counter-table.js'
import { during } from '../until.js'

test('sums since a baseline are exact for any interleaving of adds and resets', async (t) => {
  const rows = 3
  const step = fc.oneof(
    fc.record({ row: fc.nat(rows - 1), column: fc.nat(1), amount: fc.bigInt(0n, 1n << 40n) }),
    fc.record({ baseline: fc.nat(1) }),
  )
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const table = CounterTable.make(rows, 2, 2, 0n)
      const expected = [
        [0n, 0n],
        [0n, 0n],
      ]
      const totals = [0n, 0n]
      steps.forEach((taken, at) => {
        if ('baseline' in taken) {
          table.setBaseline(taken.baseline, BigInt(at))
          expected[taken.baseline] = [0n, 0n]
        } else {
          table.add(taken.row, taken.column, taken.amount)
          for (const sums of [...expected, totals]) sums[taken.column] = (sums[taken.column] ?? 0n) + taken.amount
        }
      })
      t.same(
        [0, 1].map((baseline) => [table.since(baseline, 0), table.since(baseline, 1)]),
        expected,
      )
      t.same([table.total(0), table.total(1)], totals)
    }),
  )
})

test('a baseline only moves forward, whichever of two resets writes last', async (t) => {
  const table = CounterTable.make(1, 1, 1, 100n)
  table.setBaseline(0, 50n)
  t.equal(table.baselineAt(0), 100n)
  table.setBaseline(0, 150n)
  t.equal(table.baselineAt(0), 150n)
})

test('what is read since a baseline belongs together, also when it is set again meanwhile', async (t) => {
  const table = CounterTable.make(2, 2, 1, 0n)
  const add = (amount: bigint): void => {
    for (const column of [0, 1]) table.add(1, column, amount)
  }
  add(5n)
  table.setBaseline(0, 10n)
  add(7n)
  const from = table.baseline(0)
  const counted = from.since(0)
  table.setBaseline(0, 20n)
  t.same([from.at, counted, from.since(1)], [10n, 7n, 7n], 'the sums, and the moment from which they are')
  t.same([table.baselineAt(0), table.since(0, 0), table.since(0, 1)], [20n, 0n, 0n])
  t.ok(table.baseline(0).number > from.number)
  t.equal(table.begun(0), table.baseline(0).number)
})

test('what is counted while a baseline is set is before it or behind it, with its moment', async (t) => {
  // A thread sets the baseline when this one has asked for the first of its columns.
  const table = CounterTable.make(1, 3, 1, 0n)
  const other = new CounterTable(table.memory)
  const total = table.total.bind(table)
  let calls = 0
  table.total = (column) => {
    calls += 1
    // Between the columns somebody counts in all of them, and looks.
    if (calls === 2) {
      for (const each of [0, 1, 2]) other.add(0, each, 1n)
      t.same([other.since(0, 0), other.since(0, 1), other.since(0, 2), other.baselineAt(0)], [1n, 1n, 1n, 0n])
      t.equal(other.begun(0), 2n, 'that it has begun can be seen')
      t.equal(other.baseline(0).number, 1n)
    }
    return total(column)
  }
  table.setBaseline(0, 50n)
  t.equal(other.baselineAt(0), 50n)
  t.equal(other.baseline(0).number, 2n)
})

test('threads that count at the same time as others reset lose nothing', async (t) => {
  const threads = 2
  const adds = 20_000
  const table = CounterTable.make(threads, 1, 1, 0n)
  const adder = new URL('./fixtures/adder.js', import.meta.url)
  const workers = Array.from(
    { length: threads },
    (_, row) => new Worker(adder, { workerData: { memory: table.memory, row, adds } }),
  )
  let [at, least] = [0n, 0n]
  await during(Promise.all(workers.map((worker) => once(worker, 'exit'))), () => {
    at += 1n
    table.setBaseline(0, at)
    const since = table.since(0, 0)
    if (since < least) least = since
  })
  t.equal(least, 0n, 'never negative')
  t.equal(table.total(0), BigInt(threads * adds))
})
