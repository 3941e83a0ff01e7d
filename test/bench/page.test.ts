import axe from 'axe-core'
import { JSDOM } from 'jsdom'
import { test } from 'tap'
import { reachedBars } from '../../bench/bars.js'
import { chartsOf } from '../../bench/charts.js'
import { pageOf } from '../../bench/page.js'
import { style } from '../../bench/page-parts.js'
import { humanName, type Line } from '../../bench/table.js'

const load = {
  rounds: 5,
  rate_per_s: 900,
  p50_ms: 1,
  p90_ms: 2,
  p99_ms: 3,
  max_ms: 9,
  reference_per_s: 1000,
  ratio: 0.9,
}
const delay = { delay_p50_ms: 1, delay_p90_ms: 2, delay_p99_ms: 3 }
const waited = { requestSemaphore_mean_us: 0, dbConnectionPool_mean_us: 0, transactionSemaphore_mean_us: 40.5 }
const versus = { against_per_s: 700, against_p99_ms: 6, against_p99_ratio: 0.5 }
const compared = { ...load, reference_entities: 10_000, reference_p50_ms: 1, time_ratio: 1.1 }

/** One line of every benchmark, as a run on all would have at 64 connections. */
const lines: readonly Line[] = [
  { bench: 'ingest', case: 'updateContext', connections: 16, ...load, ratio: 0.6 },
  { bench: 'ingest', case: 'updateContext', connections: 64, ...load, ...versus, spread: { rate_per_s: [850, 950] } },
  {
    bench: 'batch',
    case: 'updateContext',
    elements: 100,
    connections: 1,
    elements_per_s: 7,
    raw_lmdb_per_s: 8,
    echo_per_s: 9,
    ratio: 0.3,
  },
  {
    bench: 'batch',
    case: 'updateContext',
    elements: 100,
    connections: 16,
    elements_per_s: 7,
    raw_lmdb_per_s: 8,
    echo_per_s: 9,
    ratio: 0.7,
    echo_ratio: 0.4,
    rounds: 5,
  },
  { bench: 'peers', case: 'updateContext', connections: 16, ...load, ratio: 2.1 },
  { bench: 'peers', case: 'updateContext', connections: 64, ...load, ratio: 2.8 },
  { bench: 'read', case: 'GET', connections: 64, ...load },
  { bench: 'query', case: 'by type', connections: 1, entities: 10_000, offset: 0, ...load },
  { bench: 'ngsi2', case: 'POST /v2/op/update', connections: 64, ...load, ngsi1_per_s: 950 },
  { bench: 'notify', case: 'full speed', subscriptions: 100, ...delay },
  { bench: 'growth', case: 'updateContext', connections: 64, entities: 1_000_000, ...compared, ...versus },
  { bench: 'growth', case: 'first page by type', connections: 1, entities: 1_000_000, ...compared },
  {
    bench: 'scans',
    case: 'updateContext beside 4 scans',
    connections: 64,
    entities: 100_000,
    ...load,
    without_per_s: 990,
  },
  {
    bench: 'start',
    case: 'restart',
    entities: 1_000_000,
    rounds: 3,
    start_to_answer_ms: 900,
    resident_MiB: 80,
    resident_loaded_MiB: 300,
  },
  {
    bench: 'start',
    case: 'restart, log of 8 MiB',
    entities: 1_000_000,
    rounds: 3,
    log_MiB: 8,
    start_to_answer_ms: 1200,
  },
  {
    bench: 'waits',
    case: 'updateContext -mutexTimeStat',
    connections: 64,
    ...load,
    without_per_s: 905,
    ...waited,
    by_partition: [0, 1].map((partition) => ({
      partition,
      transaction_p50_us: 80 + partition,
      transaction_p99_us: 900,
    })),
  },
  { bench: 'scaling', case: 'updateContext', connections: 64, http_threads: 2, partitions: 1, ...load },
  { bench: 'generator', case: 'rigel', connections: 64, ...load },
]

const page = pageOf({
  environment: { machine: { processor: 'A <processor>' }, versions: { broker: '1' } },
  lines,
  tables: [{ name: 'ingest', lines: lines.slice(0, 2) }],
  bars: reachedBars(lines),
  notes: ['a note with </script>'],
})

/** A line needs two places: what was measured at one is a table alone. */
const drawn = chartsOf(lines).filter(({ x }) => x.values.length > 1)

test('the page has a series for every figure that is drawn', async (t) => {
  const series = chartsOf(lines).map(({ title, series }) => [title, series.map(({ label }) => label)])
  const percentiles = ['p50', 'p90', 'p99']
  const smallest = 'smallest number of entities, in turns'
  t.same(series, [
    ['ingest, updateContext: latency', [...percentiles, 'p99 of the other version']],
    ['ingest, updateContext: throughput', ['broker', 'bare Hono', 'the other version']],
    ['read, GET: latency', percentiles],
    ['read, GET: throughput', ['broker', 'bare Hono']],
    ['peers: throughput', ['broker', 'PostgreSQL behind Fastify']],
    ['batch: throughput, connections: 1', ['broker', 'raw lmdb', 'echo']],
    ['batch: throughput, connections: 16', ['broker', 'raw lmdb', 'echo']],
    ['query: p50 of a page, connections: 1', ['by type']],
    ['ngsi2, POST /v2/op/update: throughput', ['NGSIv2', 'NGSIv1']],
    ['waits: mean of a request', ['permit', 'read handle', 'write transaction']],
    ['waits: updates with and without -mutexTimeStat', ['with -mutexTimeStat', 'without']],
    ['waits by partition: write transaction, connections: 64', ['p50', 'p99']],
    ['notify, full speed: delay of notifications', percentiles],
    ['growth: updates', ['updates', smallest, 'the other version']],
    ['growth: p50 of the first page by type', ['first page', smallest]],
    ['start: time to the first answer', ['restart', 'restart, log of 8 MiB']],
    ['start: resident memory besides mapped files', ['at start', 'after updates']],
    ['scaling, updateContext: throughput', ['partitions: 1']],
    ['generator: throughput against bare Hono', ['rigel']],
  ])
  const [, embedded = ''] = /<script id="figures" type="application\/json">(.*?)<\/script>/s.exec(page) ?? []
  t.same(JSON.parse(embedded), drawn)
})

test('where a figure was not measured its series has nothing', async (t) => {
  const rates = chartsOf(lines).find(({ title }) => title === 'ingest, updateContext: throughput')
  t.same(rates?.x.values, [16, 64])
  t.same(rates?.series.find(({ label }) => label === 'the other version')?.values, [null, 700])
})

test('the page needs nothing from elsewhere', async (t) => {
  t.match(page, `content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'"`, 'nor may it')
  const markup = page.replace(/<!--.*?-->|(?<=<(?:script|style)\b[^>]*>).*?(?=<\/(?:script|style)>)/gs, '')
  t.notMatch(markup, /\b(?:src|href)\s*=/i)
  t.notMatch(markup, /https?:\/\//)
  t.notMatch(page, /@import|url\(/i)
  t.match(page, 'var uPlot=', 'the program that draws is in it')
  t.match(page, '.uplot', 'and so is its style')
  t.match(page, 'Permission is hereby granted', 'and its licence')
})

/** The text of what a selector finds, without the spaces between its lines. */
function texts(selector: string): readonly string[] {
  const { document } = new JSDOM(page).window
  return [...document.querySelectorAll(selector)].map(({ textContent }) => textContent.replace(/\s+/g, ' ').trim())
}

test('its first figures are cards that say whether they are met, and what was not measured is folded', async (t) => {
  const cards = texts('.card')
  t.equal(cards.length, 15)
  t.equal(cards[0], '✗ missed 0.6 × single updates, 16 connections at least 0.65 ×, median of 5 rounds')
  t.ok(cards.includes('✓ met 900 ms start to first answer with 1,000,000 entities at most 1000 ms, median of 3 rounds'))
  t.equal(texts('.card.met').length + texts('.card.missed').length, cards.length)
  t.equal(texts('section:first-of-type > details > summary')[0], '9 figures were not measured')
  t.equal(texts('section:first-of-type > details li').length, 9)
})

test('every chart is a table as well, with the rounds of each point', async (t) => {
  t.equal(texts('figure').length, chartsOf(lines).length)
  const { document } = new JSDOM(page).window
  const figures = [...document.querySelectorAll('figure')]
  t.ok(figures.every((figure) => figure.querySelector('table')))
  t.ok(drawn.length > 2 && drawn.length < figures.length)
  t.equal(figures.filter((figure) => figure.querySelector('.plot[role=img][aria-label]')).length, drawn.length)
  const rates = figures.find((figure) => figure.textContent.includes('ingest, updateContext: throughput'))
  const rows = [...(rates?.querySelectorAll('tr') ?? [])].map((row) =>
    [...row.cells].map(({ textContent }) => textContent.trim()),
  )
  t.same(rows, [
    ['connections', 'broker, requests/s', 'bare Hono, requests/s', 'the other version, requests/s'],
    ['16', '900', '1,000', ''],
    ['64', '900 (850 to 950)', '1,000', '700'],
  ])
})

test('figures have names for people', async (t) => {
  const names = [
    'rate_per_s',
    'p50_ms',
    'resident_loaded_MiB',
    'requestSemaphore_mean_us',
    'transactionSemaphoreWaitingTime_s',
    'case',
  ]
  t.same(names.map(humanName), [
    'rate per s',
    'p50 (ms)',
    'resident loaded (MiB)',
    'request semaphore mean (µs)',
    'transaction semaphore waiting time (s)',
    'case',
  ])
})

test('axe finds nothing', async (t) => {
  const { window } = new JSDOM(page, { runScripts: 'outside-only' })
  window.eval(axe.source)
  // What it looks like is not known here; colours are checked below.
  const found: unknown = await window.eval("axe.run(document, { rules: { 'color-contrast': { enabled: false } } })")
  const { violations, passes } = found as axe.AxeResults
  t.same(
    violations.map(({ id, nodes }) => [id, nodes[0]?.html]),
    [],
  )
  t.ok(passes.length > 15)
})

/** The contrast of two colours [WCAG 2.2, relative luminance]. */
function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [one, other].map(luminance).toSorted((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

test('texts and lines stand out from what they are on, in light and dark', async (t) => {
  const [light = '', dark = ''] = style.split('@media')
  for (const part of [light, dark]) {
    const colours = new Map(
      [...part.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name = '', colour = '']) => [name, colour]),
    )
    for (const name of ['text', 'quiet', 'met', 'missed', 'series-1', 'series-2', 'series-3', 'series-4', 'series-5']) {
      for (const ground of ['page', 'card']) {
        t.ok(contrast(colours.get(name) ?? '', colours.get(ground) ?? '') >= 4.5, `${name} on ${ground}`)
      }
    }
  }
})

test('nothing is wider than a phone: what may be wide scrolls by itself', async (t) => {
  for (const [, least = ''] of style.matchAll(/minmax\(([^,]+(?:\([^)]*\))?[^,]*),/g)) t.match(least, 'min(')
  t.notMatch(style, /[^-]width: *\d{3,}px/)
  const { document } = new JSDOM(page).window
  t.ok([...document.querySelectorAll('table')].every((one) => one.closest('.wide[tabindex="0"][role=region]')))
})

test('what is measured can not become markup', async (t) => {
  t.match(page, 'A &lt;processor&gt;')
  t.match(page, 'a note with &lt;/script&gt;')
  t.equal(page.split('</script>').length - 1, 2, 'a script ends where it should')
})

test('a bar is reached, missed or not measured', async (t) => {
  t.same(
    reachedBars(lines).map(({ reached, rounds, met }) => [reached, rounds, met]),
    [
      [0.6, 5, 'no'],
      [0.9, 5, 'no'],
      ['not measured', '', ''],
      ['not measured', '', ''],
      [0.5, 5, 'yes'],
      [0.9, 5, 'yes'],
      [0.9, 5, 'no'],
      ['not measured', '', ''],
      [0.7, 5, 'yes'],
      [0.4, 5, 'no'],
      [0.9, 5, 'yes'],
      [1.1, 5, 'yes'],
      [0.9, 5, 'yes'],
      [0.9, 5, 'no'],
      ['not measured', '', ''],
      ['not measured', '', ''],
      ['not measured', '', ''],
      ['not measured', '', ''],
      ['not measured', '', ''],
      ['not measured', '', ''],
      [300, 3, 'no'],
      [900, 3, 'yes'],
      [2.1, 5, 'no'],
      [2.8, 5, 'yes'],
    ],
  )
  t.ok(reachedBars([]).every(({ reached }) => reached === 'not measured'))
  const others = lines.map((line) => ({ ...line, entities: 20, reference_entities: 10, connections: 4, elements: 10 }))
  t.ok(
    reachedBars(others).every(({ reached }) => reached === 'not measured'),
    'other sizes tell nothing',
  )
})
