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
  least(0.65, { ...updates, connections: 16 }, 'single updates, 16 connections'),
  least(0.95, { ...updates, connections: 64 }, 'single updates, 64 connections'),
  least(1, { ...updates, connections: 256 }, 'single updates, 256 connections'),
  most(0.45, 'p50_ms', { ...updates, connections: 1 }, 'p50 of a single update, one connection', ' ms'),
  most(
    0.6,
    'against_p99_ratio',
    { ...updates, connections: 64 },
    'p99 of single updates, 64 connections, of that of the other version',
  ),
  least(0.85, { bench: 'read', connections: 64 }, 'GET of one entity, 64 connections'),
  least(
    0.95,
    { bench: 'ngsi2', case: 'POST /v2/op/update', connections: 64 },
    'POST /v2/op/update of one entity, 64 connections, of single updates through NGSIv1',
  ),
  least(
    0.95,
    { bench: 'ngsi2', case: 'PATCH /v2/entities/{id}/attrs', connections: 64 },
    'PATCH of attributes through NGSIv2, 64 connections, of single updates through NGSIv1',
  ),
  least(0.5, { bench: 'batch', elements: 100 }, 'batch of 100 elements, of raw lmdb'),
  least(0.5, { bench: 'batch', elements: 100 }, 'batch of 100 elements, of an echo', 'echo_ratio'),
  least(0.85, { ...grown, case: 'updateContext' }, 'update rate with 1,000,000 entities, of that with 10,000'),
  most(
    1.2,
    'time_ratio',
    { ...grown, case: 'first page by type' },
    'first page by type with 1,000,000 entities, time of that with 10,000',
  ),
  least(0.75, { bench: 'scans', entities: 100_000 }, 'update rate beside four pattern scans of 100,000 entities'),
  least(0.98, { bench: 'waits', connections: 64 }, 'update rate with -mutexTimeStat, 64 connections'),
  least(0.98, { bench: 'viewers', case: 'ten viewers' }, 'update rate while ten look at /admin/live, 64 connections'),
  least(
    0.9,
    { bench: 'viewers', case: 'tail of all traces' },
    'update rate with all traces while one reads them, of that while nobody does',
  ),
  most(300, 'median_ms', { bench: 'console', case: 'first view' }, 'first view of the console', ' ms'),
  most(100, 'median_ms', { bench: 'console', case: 'map drawn' }, 'map of 10,000 points drawn', ' ms'),
  most(
    2_000,
    'max_ms',
    { bench: 'console', case: 'a receiver that fails is named' },
    'a receiver that fails is named in the console',
    ' ms',
  ),
  most(
    2_000,
    'max_ms',
    { bench: 'console', case: 'back after a SIGKILL and 0 s' },
    'the console is back after a SIGKILL',
    ' ms',
  ),
  most(
    250,
    'resident_loaded_MiB',
    { bench: 'start', case: 'restart', ...million },
    'resident memory with 1,000,000 entities, after updates',
    ' MiB',
  ),
  most(
    1_000,
    'start_to_answer_ms',
    { bench: 'start', case: 'restart', ...million },
    'start to first answer with 1,000,000 entities',
    ' ms',
  ),
  least(2.2, { bench: 'peers', connections: 16 }, 'single updates, 16 connections, of PostgreSQL behind Fastify'),
  least(2.8, { bench: 'peers', connections: 64 }, 'single updates, 64 connections, of PostgreSQL behind Fastify'),
]

/** A figure that should not be lower, mostly a ratio. */
function least(least: number, line: Line, what: string, figure = 'ratio'): Bar {
  return { what, line, figure, least }
}

/** A figure that should not be higher. */
function most(most: number, figure: string, line: Line, what: string, unit = ''): Bar {
  return { what, line, figure, most, unit }
}

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
