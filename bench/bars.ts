import type { Line } from './table.js'

/** What a broker should reach, and in which line of the results it is to be found. */
interface Bar {
  readonly what: string
  readonly line: Line
  readonly figure: string
  readonly least?: number
  readonly most?: number
  readonly unit?: string
}

const million = { entities: 1_000_000 }
const grown = { bench: 'growth', ...million, reference_entities: 10_000 }
const updates = { bench: 'ingest', case: 'updateContext' }

const bars: readonly Bar[] = [
  { what: 'single updates, 16 connections', line: { ...updates, connections: 16 }, figure: 'ratio', least: 0.65 },
  { what: 'single updates, 64 connections', line: { ...updates, connections: 64 }, figure: 'ratio', least: 0.95 },
  { what: 'single updates, 256 connections', line: { ...updates, connections: 256 }, figure: 'ratio', least: 1 },
  {
    what: 'p50 of a single update, one connection',
    line: { ...updates, connections: 1 },
    figure: 'p50_ms',
    most: 0.45,
    unit: ' ms',
  },
  {
    what: 'p99 of single updates, 64 connections, of that of the other version',
    line: { ...updates, connections: 64 },
    figure: 'against_p99_ratio',
    most: 0.6,
  },
  { what: 'GET of one entity, 64 connections', line: { bench: 'read', connections: 64 }, figure: 'ratio', least: 0.85 },
  {
    what: 'POST /v2/op/update of one entity, 64 connections, of single updates through NGSIv1',
    line: { bench: 'ngsi2', case: 'POST /v2/op/update', connections: 64 },
    figure: 'ratio',
    least: 0.95,
  },
  {
    what: 'PATCH of attributes through NGSIv2, 64 connections, of single updates through NGSIv1',
    line: { bench: 'ngsi2', case: 'PATCH /v2/entities/{id}/attrs', connections: 64 },
    figure: 'ratio',
    least: 0.95,
  },
  {
    what: 'batch of 100 elements, of raw lmdb',
    line: { bench: 'batch', elements: 100 },
    figure: 'ratio',
    least: 0.5,
  },
  {
    what: 'batch of 100 elements, of an echo',
    line: { bench: 'batch', elements: 100 },
    figure: 'echo_ratio',
    least: 0.5,
  },
  {
    what: 'update rate with 1,000,000 entities, of that with 10,000',
    line: { ...grown, case: 'updateContext' },
    figure: 'ratio',
    least: 0.85,
  },
  {
    what: 'first page by type with 1,000,000 entities, time of that with 10,000',
    line: { ...grown, case: 'first page by type' },
    figure: 'time_ratio',
    most: 1.2,
  },
  {
    what: 'update rate beside four pattern scans of 100,000 entities',
    line: { bench: 'scans', entities: 100_000 },
    figure: 'ratio',
    least: 0.75,
  },
  {
    what: 'update rate with -mutexTimeStat, 64 connections',
    line: { bench: 'waits', connections: 64 },
    figure: 'ratio',
    least: 0.98,
  },
  {
    what: 'update rate while ten look at /admin/live, 64 connections',
    line: { bench: 'viewers', case: 'ten viewers' },
    figure: 'ratio',
    least: 0.98,
  },
  {
    what: 'update rate with all traces while one reads them, of that while nobody does',
    line: { bench: 'viewers', case: 'tail of all traces' },
    figure: 'ratio',
    least: 0.9,
  },
  {
    what: 'first view of the console',
    line: { bench: 'console', case: 'first view' },
    figure: 'median_ms',
    most: 300,
    unit: ' ms',
  },
  {
    what: 'map of 10,000 points drawn',
    line: { bench: 'console', case: 'map drawn' },
    figure: 'median_ms',
    most: 100,
    unit: ' ms',
  },
  {
    what: 'a receiver that fails is named in the console',
    line: { bench: 'console', case: 'a receiver that fails is named' },
    figure: 'max_ms',
    most: 2_000,
    unit: ' ms',
  },
  {
    what: 'the console is back after a SIGKILL',
    line: { bench: 'console', case: 'back after a SIGKILL and 0 s' },
    figure: 'max_ms',
    most: 2_000,
    unit: ' ms',
  },
  {
    what: 'resident memory with 1,000,000 entities, after updates',
    line: { bench: 'start', case: 'restart', ...million },
    figure: 'resident_loaded_MiB',
    most: 250,
    unit: ' MiB',
  },
  {
    what: 'start to first answer with 1,000,000 entities',
    line: { bench: 'start', case: 'restart', ...million },
    figure: 'start_to_answer_ms',
    most: 1_000,
    unit: ' ms',
  },
  {
    what: 'single updates, 16 connections, of PostgreSQL behind Fastify',
    line: { bench: 'peers', connections: 16 },
    figure: 'ratio',
    least: 2.2,
  },
  {
    what: 'single updates, 64 connections, of PostgreSQL behind Fastify',
    line: { bench: 'peers', connections: 64 },
    figure: 'ratio',
    least: 2.8,
  },
]

/** A row of the table of bars. */
export interface Reached {
  readonly what: string
  readonly bar: string
  readonly reached: number | 'not measured'
  /** How many rounds it is the median of. */
  readonly rounds: number | ''
  readonly met: 'yes' | 'no' | ''
  /** Of the figure, with its space; a ratio has none. */
  readonly unit: string
}

/** How the results stand to the bars. Of several lines that a bar is about, the one with the most connections counts. */
export function reachedBars(lines: readonly Line[]): readonly Reached[] {
  return bars.map(({ what, line, figure, least, most, unit = '' }) => {
    const bar = least === undefined ? `<= ${most}${unit}` : `>= ${least}${unit}`
    const wanted = Object.entries(line)
    const found = lines.filter((candidate) => wanted.every(([name, value]) => candidate[name] === value))
    const counts = found.toSorted((a, b) => Number(a['connections']) - Number(b['connections'])).at(-1)
    const reached = counts?.[figure]
    if (typeof reached !== 'number') return { what, bar, reached: 'not measured', rounds: '', met: '', unit }
    const met = reached >= (least ?? Number.NEGATIVE_INFINITY) && reached <= (most ?? Number.POSITIVE_INFINITY)
    return { what, bar, reached, rounds: Number(counts?.['rounds']), met: met ? 'yes' : 'no', unit }
  })
}
