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

const rate = 'requests/s'
const other = 'the other version'

function plansFor(lines: readonly Line[]): readonly Plan[] {
  const each = (bench: string, name: string) => casesOf(bench, lines, name)
  return [
    ...serving('ingest', lines),
    ...serving('read', lines),
    plan('peers: throughput', 'connections', rate, { bench: 'peers' }, beside('PostgreSQL behind Fastify')),
    ...each('batch', 'connections').map((connections) => {
      const title = `batch: throughput, connections: ${connections}`
      const figures = { broker: 'elements_per_s', 'raw lmdb': 'raw_lmdb_per_s', echo: 'echo_per_s' }
      return plan(title, 'elements', 'elements/s', { bench: 'batch', connections }, figures)
    }),
    ...each('query', 'connections').map((connections) => {
      const title = `query: p50 of a page, connections: ${connections}`
      return byCase(title, 'offset', 'ms', { bench: 'query', connections }, 'p50_ms', lines)
    }),
    ...each('ngsi2', 'case').map((name) => {
      const figures = { NGSIv2: 'rate_per_s', NGSIv1: 'ngsi1_per_s' }
      return plan(`ngsi2, ${name}: throughput`, 'connections', rate, { bench: 'ngsi2', case: name }, figures)
    }),
    ...waiting(),
    ...casesOf(partitionWaits, lines, 'connections').slice(-1).flatMap(partitionsWaiting),
    ...each('notify', 'case').map((name) => {
      const figures = { p50: 'delay_p50_ms', p90: 'delay_p90_ms', p99: 'delay_p99_ms' }
      const title = `notify, ${name}: delay of notifications`
      return plan(title, 'subscriptions', 'ms', { bench: 'notify', case: name }, figures)
    }),
    ...growing(lines),
    ...each('scaling', 'case').map((name) => {
      const of = { bench: 'scaling', case: name }
      const curves = each('scaling', 'partitions').map((partitions) => {
        return { label: `partitions: ${partitions}`, figure: 'rate_per_s', of: { ...of, partitions } }
      })
      return { title: `scaling, ${name}: throughput`, x: 'http_threads', unit: rate, curves }
    }),
    byCase('generator: throughput against bare Hono', 'connections', rate, { bench: 'generator' }, 'rate_per_s', lines),
  ]
}

/** A plan whose curves are figures of the same lines, by their labels. */
function plan(title: string, x: string, unit: string, of: Line, figures: Readonly<Record<string, string>>): Plan {
  return { title, x, unit, curves: Object.entries(figures).map(([label, figure]) => ({ label, figure, of })) }
}

/** A plan with one figure for each case of a benchmark. */
function byCase(
  title: string,
  x: string,
  unit: string,
  of: Line & { readonly bench: string },
  figure: string,
  lines: readonly Line[],
): Plan {
  const curves = casesOf(of.bench, lines, 'case').map((name) => {
    return { label: String(name), figure, of: { ...of, case: name } }
  })
  return { title, x, unit, curves }
}

/** Every value of a member that the lines of a benchmark have. */
function casesOf(bench: string, lines: readonly Line[], name: string): readonly unknown[] {
  return [...new Set(about(lines, { bench }).map((line) => line[name]))]
}

function serving(bench: string, lines: readonly Line[]): readonly Plan[] {
  return casesOf(bench, lines, 'case').flatMap((name) => {
    const of = { bench, case: name }
    const latency = { p50: 'p50_ms', p90: 'p90_ms', p99: 'p99_ms', [`p99 of ${other}`]: 'against_p99_ms' }
    const rates = { ...beside('bare Hono'), [other]: 'against_per_s' }
    return [
      plan(`${bench}, ${name}: latency`, 'connections', 'ms', of, latency),
      plan(`${bench}, ${name}: throughput`, 'connections', rate, of, rates),
    ]
  })
}

function beside(reference: string): Readonly<Record<string, string>> {
  return { broker: 'rate_per_s', [reference]: 'reference_per_s' }
}

function waiting(): readonly Plan[] {
  const of = { bench: 'waits' }
  const means = {
    permit: 'requestSemaphore_mean_us',
    'read handle': 'dbConnectionPool_mean_us',
    'write transaction': 'transactionSemaphore_mean_us',
  }
  const rates = { 'with -mutexTimeStat': 'rate_per_s', without: 'without_per_s' }
  return [
    plan('waits: mean of a request', 'connections', 'µs', of, means),
    plan('waits: updates with and without -mutexTimeStat', 'connections', rate, of, rates),
  ]
}

function partitionsWaiting(connections: unknown): readonly Plan[] {
  const of = { bench: partitionWaits, connections }
  const kinds = { mailbox: 'mailbox', dbConnectionPool: 'read handle', transaction: 'write transaction' }
  return Object.entries(kinds).map(([kind, label]) => {
    const title = `waits by partition: ${label}, connections: ${connections}`
    return plan(title, 'partition', 'µs', of, { p50: `${kind}_p50_us`, p99: `${kind}_p99_us` })
  })
}

function growing(lines: readonly Line[]): readonly Plan[] {
  const x = 'entities'
  const updates = { bench: 'growth', case: 'updateContext' }
  const first = { bench: 'growth', case: 'first page by type' }
  const smallest = 'smallest number of entities, in turns'
  const rates = { updates: 'rate_per_s', [smallest]: 'reference_per_s', [other]: 'against_per_s' }
  const pages = { 'first page': 'p50_ms', [smallest]: 'reference_p50_ms' }
  const memory = { 'at start': 'resident_MiB', 'after updates': 'resident_loaded_MiB' }
  return [
    plan('growth: updates', x, rate, updates, rates),
    plan('growth: p50 of the first page by type', x, 'ms', first, pages),
    byCase('start: time to the first answer', x, 'ms', { bench: 'start' }, 'start_to_answer_ms', lines),
    plan('start: resident memory besides mapped files', x, 'MiB', { bench: 'start', case: 'restart' }, memory),
  ]
}
