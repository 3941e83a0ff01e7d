import { readFileSync } from 'node:fs'
import { items, member } from './ngsi.js'
import { WrongCommandLine } from './options.js'
import { runProgram } from './program.js'

const help = `node dist/bench/cluster-tables.js FILE ...

The tables of docs/benchmarks.md, section Clusters, from files that 'rigel bench cluster cluster-pauses cluster-join --json FILE' has
written. Each column is a member of the results: see the source.`

/** A column: its heading, the member of a result, and to how many digits after the point. */
type Column = readonly [heading: string, member: string, digits?: number]

interface Table {
  readonly heading: string
  readonly bench: string
  /** The cases that are its rows; all of them without. */
  readonly cases?: readonly string[]
  readonly columns: readonly Column[]
}

const loads = ['updates', 'confirmed reads', 'local reads'] as const
const ways = ['updates at their owner', 'updates through another node'] as const

const tables: readonly Table[] = [
  {
    heading: 'Rates, and the processor time of each part for a request',
    bench: 'cluster',
    cases: loads,
    columns: [
      ['what', 'case'],
      ['nodes', 'nodes'],
      ['connections', 'connections'],
      ['per second', 'rate_per_s', 0],
      ['p50 ms', 'p50_ms', 1],
      ['p99 ms', 'p99_ms', 1],
      ['all brokers, µs', 'brokers_us', 0],
      ['all members of etcd, µs', 'etcd_us', 0],
      ['load, µs', 'load_us', 0],
    ],
  },
  {
    heading: 'What an update puts into etcd',
    bench: 'cluster',
    cases: ['updates'],
    columns: [
      ['nodes', 'nodes'],
      ['connections', 'connections'],
      ['records', 'records', 3],
      ['requests to etcd', 'append_requests', 3],
      ['bytes of log', 'logged_bytes', 0],
      ['bytes that etcd receives of brokers', 'etcd_received_bytes', 0],
      ['sends to brokers', 'etcd_sent_bytes', 0],
      ['members send each other', 'etcd_peer_bytes', 0],
      ['fsyncs', 'etcd_fsyncs', 3],
    ],
  },
  {
    heading: 'Where the processor time of an update goes',
    bench: 'cluster',
    cases: ways,
    columns: [
      ['sent', 'case'],
      ['updates/s', 'rate_per_s', 0],
      ['owner, µs', 'owner_us', 0],
      ['the other node, µs', 'other_us', 0],
      ['a copy, µs', 'copy_us', 0],
      ['all members of etcd, µs', 'etcd_us', 0],
      ['front ends busy, µs', 'front_ends_busy_us', 0],
      ['partitions busy, µs', 'partitions_busy_us', 0],
    ],
  },
  {
    heading: 'Idle',
    bench: 'cluster',
    cases: ['idle'],
    columns: [
      ['nodes', 'nodes'],
      ['all brokers, ms in a second', 'brokers_ms_in_a_s', 0],
      ['all members of etcd, ms in a second', 'etcd_ms_in_a_s', 0],
      ['records in a second', 'records_in_a_s', 1],
    ],
  },
  {
    heading: 'Pauses',
    bench: 'cluster-pauses',
    columns: [
      ['what happens', 'case'],
      ['repetitions', 'rounds'],
      ['updates, median s', 'updates_median_s', 1],
      ['worst s', 'updates_max_s', 1],
      ['reads, median s', 'reads_median_s', 1],
      ['worst s', 'reads_max_s', 1],
    ],
  },
  {
    heading: 'A node joins',
    bench: 'cluster-join',
    columns: [
      ['entities', 'entities'],
      ['nodes that joined', 'rounds'],
      ['serves all, median s', 'serves_median_s', 1],
      ['longest s', 'serves_max_s', 1],
      ['owns its share, median s', 'owns_median_s', 1],
      ['its processor time, s', 'processor_median_s', 1],
      ['memory without mapped files, MiB', 'resident_MiB', 0],
      ['at most, MiB', 'resident_max_MiB', 0],
      ['folder, MiB', 'folder_MiB', 0],
    ],
  },
]

await runProgram(async (files) => {
  if (files.includes('--help') || files.includes('-h')) {
    console.log(help)
    return true
  }
  if (files.length === 0) throw new WrongCommandLine('a file of results is needed')
  const results = files.flatMap((file) => items(member(JSON.parse(readFileSync(file, 'utf8')), 'results')))
  for (const { heading, bench, cases, columns } of tables) {
    const lines = results.filter((line) => member(line, 'bench') === bench)
    const rows = (cases ?? ['']).flatMap((name) => lines.filter((line) => name === '' || member(line, 'case') === name))
    if (rows.length === 0) continue
    const written = rows.map((line) => columns.map((column) => cellOf(line, column)))
    const head = [columns.map(([name]) => name), columns.map(() => '---')]
    console.log([`### ${heading}\n`, ...[...head, ...written].map((row) => `| ${row.join(' | ')} |`), ''].join('\n'))
  }
  return true
})

function cellOf(line: unknown, [, name, digits = 0]: Column): string {
  const value = member(line, name)
  if (typeof value !== 'number') return String(value ?? '')
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
