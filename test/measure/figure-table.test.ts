import { test } from 'tap'
import { durationBuckets } from '../../src/observe/measure/buckets.js'
import { counter, counters, FigureList, gauge, hidden, histogram } from '../../src/observe/measure/figure.js'
import { FigureTable } from '../../src/observe/measure/figure-table.js'

const list = new FigureList(['number'], {
  sum: counter('sum_total', 'A sum'),
  results: counters('results_total', 'Results', 'result', ['ok', 'failed'], { isSummed: true }),
  durations: histogram('durations_seconds', 'Durations', durationBuckets),
  skew_ms: gauge('skew_seconds', 'May be negative', { per: 1000 }),
  end: gauge('end_seconds', 'Only when there was one', { since: 'isOver' }),
  isOver: hidden(),
})

function openTable() {
  return new FigureTable(list, FigureTable.make(list, 2, 0n))
}

test('each row has its own numbers, and without a row their sum is read', async (t) => {
  const table = openTable()
  table.row(0).add('sum')
  table.row(1).add('sum', 4)
  table.row(0).record('durations', 5n)
  table.row(1).record('durations', 2_000_000_000n)
  table.row(0).put('skew_ms', -7)
  t.same([table.value('sum', 0), table.value('sum', 1), table.value('sum')], [1, 4, 5])
  t.same([table.value('skew_ms', 0), table.value('skew_ms', 1)], [-7, 0])
  t.equal(table.distribution('durations', 1).sum, 2)
  t.equal(table.distribution('durations').counts.at(-1), 2)
})

test('another thread opens the table by the same memory', async (t) => {
  const memory = FigureTable.make(list, 1, 0n)
  new FigureTable(list, memory).row(0).add('results.failed', 3n)
  t.equal(new FigureTable(list, memory).value('results.failed'), 3)
})

test('what is shown has the labels of its row and its own, in the unit that is shown', async (t) => {
  const table = openTable()
  table.row(0).add('results.ok', 2)
  table.row(1).add('results.ok', 3)
  table.row(1).put('skew_ms', -2500)
  table.row(1).put('end', 9)
  const rows = [0, 1].map((row) => [{ number: String(row) }, row] as const)
  const shown = new Map(table.samples(rows))
  t.same([...shown.keys()], ['sum', 'results', 'durations', 'skew_ms', 'end'], 'all but what is hidden')
  t.same(shown.get('results'), [
    { labels: { result: 'ok' }, value: 5 },
    { labels: { result: 'failed' }, value: 0 },
  ])
  t.same(shown.get('skew_ms')?.at(1), { labels: { number: '1' }, value: -2.5 })
  t.same(shown.get('end'), [], 'not yet')
  table.row(1).put('isOver', true)
  t.same(new Map(table.samples(rows)).get('end'), [{ labels: { number: '1' }, value: 9 }])
})

test('the places of the columns and the labels come from the list', async (t) => {
  const { columns, width, metrics } = list
  t.equal(columns.sum, 0)
  t.equal(columns['results.failed'], 2)
  t.equal(columns.skew_ms, 3 + durationBuckets.width)
  t.equal(width, 6 + durationBuckets.width)
  t.same(
    metrics.map(({ name, labels }) => `${name} ${labels}`),
    [
      'sum_total number',
      'results_total result',
      'durations_seconds number',
      'skew_seconds number',
      'end_seconds number',
    ],
  )
})
