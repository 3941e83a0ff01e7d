import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { test } from 'tap'
import { metricContentType, metricsOf, textOf } from '../../src/api/management/metric-text.js'
import { durationBuckets } from '../../src/observe/measure/buckets.js'
import { computed, counter, counters, FigureList, gauge, hidden, histogram } from '../../src/observe/measure/figure.js'
import { FigureTable } from '../../src/observe/measure/figure-table.js'

const list = new FigureList(['partition'], {
  turns: counter('turns_total', 'Turns'),
  used: gauge('used_ratio', 'A share', { per: 8 }),
  inside: hidden(),
  results: counters('results_total', 'Results', 'result', ['ok', 'failed']),
  named: computed('gauge', 'named', 'With any text', ['name']),
  none: computed('gauge', 'none', 'Without a value', []),
  durations: histogram('durations_seconds', 'Durations', durationBuckets),
})

test('the text is what prom-client makes of the same figures', async (t) => {
  const register = new Registry()
  const registers = [register]
  const turns = new Counter({ name: 'turns_total', help: 'Turns', labelNames: ['partition'], registers })
  const used = new Gauge({ name: 'used_ratio', help: 'A share', labelNames: ['partition'], registers })
  const labelNames = ['partition', 'result']
  const results = new Counter({ name: 'results_total', help: 'Results', labelNames, registers })
  const named = new Gauge({ name: 'named', help: 'With any text', labelNames: ['name'], registers })
  const none = new Gauge({ name: 'none', help: 'Without a value', registers })
  none.remove({})
  const buckets = [...durationBuckets.bounds]
  const options = { name: 'durations_seconds', help: 'Durations', labelNames: ['partition'], buckets, registers }
  const durations = new Histogram(options)
  const table = new FigureTable(list, FigureTable.make(list, 2, 0n))
  for (const [partition, amount] of [3, 2 ** 40].entries()) {
    const row = table.row(partition)
    row.add('turns', amount)
    turns.inc({ partition }, amount)
    row.put('used', partition - 1)
    used.set({ partition }, (partition - 1) / 8)
    row.put('inside', 77)
    for (const [result, times] of [
      ['ok', 0],
      ['failed', 2],
    ] as const) {
      row.add(`results.${result}`, times)
      results.inc({ partition, result }, times)
    }
    for (const duration of [1n, 2_500_000n, 70_000_000_000n]) {
      row.record('durations', duration)
      durations.observe({ partition }, Number(duration) / 1e9)
    }
  }
  const texts = ['plain', 'a "b" \\ c\nd', '']
  for (const name of texts) named.set({ name }, 1.5)
  const read = metricsOf(
    list,
    () => ({ named: texts.map((name) => ({ labels: { name }, value: 1.5 })), none: undefined }),
    table,
    [0, 1].map((row) => [{ partition: String(row) }, row]),
  )
  const own = await textOf([read])
  // It names the bound before the other labels.
  const expected = (await register.metrics()).replace(/\{(le="[^"]*"),(partition="\d")\}/g, '{$2,$1}')
  t.equal(own, expected)
  t.equal(metricContentType, register.contentType)
})
