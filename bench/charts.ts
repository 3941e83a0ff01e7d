import { member } from './ngsi.js'
import type { Line } from './table.js'

/** A chart as the page draws it. */
export interface Chart {
  readonly title: string
  /** What is varied, from left to right: one place for each value, whatever lies between them. */
  readonly x: { readonly name: string; readonly values: readonly number[] }
  /** The unit of the vertical axis. */
  readonly unit: string
  readonly series: readonly Series[]
}

export interface Series {
  readonly label: string
  /** One for each value of x; null where nothing was measured. */
  readonly values: readonly (number | null)[]
  /** The least and the most of the rounds, for each value of x. */
  readonly spread?: readonly (readonly [least: number, most: number] | null)[]
}

/** A curve: one figure of the lines that these are about. */
interface Curve {
  readonly label: string
  readonly figure: string
  readonly of: Line
}

interface Plan {
  readonly title: string
  readonly x: string
  readonly unit: string
  readonly curves: readonly Curve[]
}

/** All charts that these results have figures for. */
export function chartsOf(measured: readonly Line[]): readonly Chart[] {
  const lines = [...measured, ...partitionLines(measured)]
  return plansFor(lines).flatMap(({ title, x, unit, curves }) => {
    const measured = curves.flatMap(({ of }) => about(lines, of))
    const values = [...new Set(measured.map((line) => Number(line[x])))].sort((a, b) => a - b)
    const series = curves.map((curve) => seriesOf(curve, lines, x, values))
    const drawn = series.filter(({ values }) => values.some((value) => value !== null))
    return drawn.length > 0 ? [{ title, x: { name: x, values }, unit, series: drawn }] : []
  })
}

function seriesOf({ label, figure, of }: Curve, lines: readonly Line[], x: string, values: readonly number[]): Series {
  const found = values.map((value) => about(lines, of).find((line) => line[x] === value))
  const spread = found.map((line) => spreadOf(line, figure))
  return {
    label,
    values: found.map((line) => numberOf(line?.[figure])),
    ...(spread.some((range) => range !== null) && { spread }),
  }
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

function spreadOf(line: Line = {}, figure: string): readonly [number, number] | null {
  for (const name of ['spread', 'reference_spread', 'against_spread']) {
    const range = member(line[name], figure)
    if (!Array.isArray(range)) continue
    const [least, most] = [numberOf(range[0]), numberOf(range[1])]
    if (least !== null && most !== null) return [least, most]
  }
  return null
}

/** What the partitions of a broker waited for, a line for each of them. */
function partitionLines(lines: readonly Line[]): readonly Line[] {
  return about(lines, { bench: 'waits' }).flatMap(({ connections, by_partition: rows }) => {
    if (!Array.isArray(rows)) return []
    return rows.map((row: Line) => ({ bench: partitionWaits, connections, ...row }))
  })
}

const partitionWaits = 'waits by partition'

function about(lines: readonly Line[], of: Line): readonly Line[] {
  return lines.filter((line) => Object.entries(of).every(([name, value]) => line[name] === value))
}

const percentiles = ['p50', 'p90', 'p99'] as const

function plansFor(lines: readonly Line[]): readonly Plan[] {
  return [
    ...serving('ingest', lines),
    ...serving('read', lines),
    beside(),
    ...casesOf('batch', lines, 'connections').map((connections) => batches(connections)),
    ...casesOf('query', lines, 'connections').map((connections) => pages(lines, connections)),
    ...casesOf('ngsi2', lines, 'case').map((name) => interfaces(name)),
    ...waiting(),
    ...casesOf(partitionWaits, lines, 'connections')
      .slice(-1)
      .flatMap((connections) => partitionsWaiting(connections)),
    ...casesOf('notify', lines, 'case').map((name) => delays(name)),
    ...growing(lines),
    ...casesOf('scaling', lines, 'case').map((name) => scaled(lines, name)),
    generators(lines),
  ]
}

/** Every value of a member that the lines of a benchmark have. */
function casesOf(bench: string, lines: readonly Line[], name: string): readonly unknown[] {
  return [...new Set(about(lines, { bench }).map((line) => line[name]))]
}

function serving(bench: string, lines: readonly Line[]): readonly Plan[] {
  return casesOf(bench, lines, 'case').flatMap((name) => {
    const of = { bench, case: name }
    const x = 'connections'
    const latency = [
      ...percentiles.map((part) => ({ label: part, figure: `${part}_ms`, of })),
      { label: 'p99 of the other version', figure: 'against_p99_ms', of },
    ]
    const rates = [
      { label: 'broker', figure: 'rate_per_s', of },
      { label: 'bare Hono', figure: 'reference_per_s', of },
      { label: 'the other version', figure: 'against_per_s', of },
    ]
    return [
      { title: `${bench}, ${name}: latency`, x, unit: 'ms', curves: latency },
      { title: `${bench}, ${name}: throughput`, x, unit: 'requests/s', curves: rates },
    ]
  })
}

function beside(): Plan {
  const of = { bench: 'peers' }
  return {
    title: 'peers: throughput',
    x: 'connections',
    unit: 'requests/s',
    curves: [
      { label: 'broker', figure: 'rate_per_s', of },
      { label: 'PostgreSQL behind Fastify', figure: 'reference_per_s', of },
    ],
  }
}

function batches(connections: unknown): Plan {
  const of = { bench: 'batch', connections }
  return {
    title: `batch: throughput, connections: ${connections}`,
    x: 'elements',
    unit: 'elements/s',
    curves: [
      { label: 'broker', figure: 'elements_per_s', of },
      { label: 'raw lmdb', figure: 'raw_lmdb_per_s', of },
      { label: 'echo', figure: 'echo_per_s', of },
    ],
  }
}

function pages(lines: readonly Line[], connections: unknown): Plan {
  const curves = casesOf('query', lines, 'case').map((name) => {
    return { label: String(name), figure: 'p50_ms', of: { bench: 'query', case: name, connections } }
  })
  return { title: `query: p50 of a page, connections: ${connections}`, x: 'offset', unit: 'ms', curves }
}

function interfaces(name: unknown): Plan {
  const of = { bench: 'ngsi2', case: name }
  return {
    title: `ngsi2, ${name}: throughput`,
    x: 'connections',
    unit: 'requests/s',
    curves: [
      { label: 'NGSIv2', figure: 'rate_per_s', of },
      { label: 'NGSIv1', figure: 'ngsi1_per_s', of },
    ],
  }
}

function waiting(): readonly Plan[] {
  const of = { bench: 'waits' }
  const x = 'connections'
  const kinds = {
    requestSemaphore: 'permit',
    dbConnectionPool: 'read handle',
    transactionSemaphore: 'write transaction',
  }
  const means = Object.entries(kinds).map(([kind, label]) => ({ label, figure: `${kind}_mean_us`, of }))
  const rates = [
    { label: 'with -mutexTimeStat', figure: 'rate_per_s', of },
    { label: 'without', figure: 'without_per_s', of },
  ]
  return [
    { title: 'waits: mean of a request', x, unit: 'µs', curves: means },
    { title: 'waits: updates with and without -mutexTimeStat', x, unit: 'requests/s', curves: rates },
  ]
}

function partitionsWaiting(connections: unknown): readonly Plan[] {
  const of = { bench: partitionWaits, connections }
  const kinds = { mailbox: 'mailbox', dbConnectionPool: 'read handle', transaction: 'write transaction' }
  return Object.entries(kinds).map(([kind, label]) => ({
    title: `waits by partition: ${label}, connections: ${connections}`,
    x: 'partition',
    unit: 'µs',
    curves: ['p50', 'p99'].map((part) => ({ label: part, figure: `${kind}_${part}_us`, of })),
  }))
}

function delays(name: unknown): Plan {
  const of = { bench: 'notify', case: name }
  const curves = percentiles.map((part) => ({ label: part, figure: `delay_${part}_ms`, of }))
  return { title: `notify, ${name}: delay of notifications`, x: 'subscriptions', unit: 'ms', curves }
}

function growing(lines: readonly Line[]): readonly Plan[] {
  const x = 'entities'
  const updates = { bench: 'growth', case: 'updateContext' }
  const first = { bench: 'growth', case: 'first page by type' }
  const start = { bench: 'start', case: 'restart' }
  const smallest = 'smallest number of entities, in turns'
  return [
    {
      title: 'growth: updates',
      x,
      unit: 'requests/s',
      curves: [
        { label: 'updates', figure: 'rate_per_s', of: updates },
        { label: smallest, figure: 'reference_per_s', of: updates },
        { label: 'the other version', figure: 'against_per_s', of: updates },
      ],
    },
    {
      title: 'growth: p50 of the first page by type',
      x,
      unit: 'ms',
      curves: [
        { label: 'first page', figure: 'p50_ms', of: first },
        { label: smallest, figure: 'reference_p50_ms', of: first },
      ],
    },
    {
      title: 'start: time to the first answer',
      x,
      unit: 'ms',
      curves: casesOf('start', lines, 'case').map((name) => {
        return { label: String(name), figure: 'start_to_answer_ms', of: { bench: 'start', case: name } }
      }),
    },
    {
      title: 'start: resident memory besides mapped files',
      x,
      unit: 'MiB',
      curves: [
        { label: 'at start', figure: 'resident_MiB', of: start },
        { label: 'after updates', figure: 'resident_loaded_MiB', of: start },
      ],
    },
  ]
}

function scaled(lines: readonly Line[], name: unknown): Plan {
  const curves = casesOf('scaling', lines, 'partitions').map((partitions) => {
    const of = { bench: 'scaling', case: name, partitions }
    return { label: `partitions: ${partitions}`, figure: 'rate_per_s', of }
  })
  return { title: `scaling, ${name}: throughput`, x: 'http_threads', unit: 'requests/s', curves }
}

function generators(lines: readonly Line[]): Plan {
  const curves = casesOf('generator', lines, 'case').map((name) => {
    return { label: String(name), figure: 'rate_per_s', of: { bench: 'generator', case: name } }
  })
  return { title: 'generator: throughput against bare Hono', x: 'connections', unit: 'requests/s', curves }
}
