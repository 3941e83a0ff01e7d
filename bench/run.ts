import { readOptions } from '../src/flags/command-line.js'
import { halfTheProcessors } from '../src/machine.js'
import { batch } from './batch.js'
import { ownBroker } from './broker-process.js'
import { clusterJoin } from './cluster/join.js'
import { clusterPauses } from './cluster/pauses.js'
import { cluster } from './cluster/rates.js'
import { consoleBench } from './console.js'
import { costs } from './costs.js'
import { growth } from './growth.js'
import { type Bench, Harness } from './harness.js'
import { ingest } from './ingest.js'
import { log } from './log.js'
import { machines } from './machines.js'
import { ngsi2 } from './ngsi2.js'
import { notify } from './notify.js'
import { type BenchOptions, benchOptions, helpOf, parseBenchOptions } from './options.js'
import { overload } from './overload.js'
import { peers } from './peers.js'
import { runProgram } from './program.js'
import { query } from './query.js'
import { read } from './read.js'
import { environment, Report } from './report.js'
import { scaling } from './scaling.js'
import { start } from './start.js'
import { streams } from './streams.js'
import type { Line } from './table.js'
import { viewers } from './viewers.js'
import { waits } from './waits.js'

/** Every benchmark there is; a new one is a file of its own and a word here. */
const benches: readonly Bench[] = [
  ingest,
  batch,
  peers,
  read,
  query,
  ngsi2,
  costs,
  notify,
  streams,
  growth,
  start,
  log,
  waits,
  scaling,
  machines,
  overload,
  viewers,
  consoleBench,
  cluster,
  clusterPauses,
  clusterJoin,
]

const help = `Usage: rigel bench [benchmark ...] [option ...]         (in the sources: npm run bench -- ...)

Benchmarks (all of them when none is named)
${benches.map(({ name, question }) => `  ${name.padEnd(18)}${question}`).join('\n')}

Options
${helpOf(benchOptions)}

JSON lines go to the standard output, tables for people to the standard error. The broker and a reference are measured in turns on
this machine. The reference is a bare Hono server on one thread, for batches lmdb alone. If the broker is on another machine, the
comparison has no meaning. With --url, benchmarks that start their own brokers are left out. The last table shows which bars were
reached; a bar that is missed does not change the exit code.
The exit code is 0 if every request had the right response, 1 if not, and 2 for a wrong command line.
'rigel feed' proves durability: see rigel help feed.
`

/** What was run, and with how many threads the brokers of our own serve; of others that is not known. */
function runFacts({ url, main, flags, duration_s, rounds }: BenchOptions, words: readonly string[]): Line {
  const own = url === undefined && main === ownBroker ? readOptions(flags, process.env) : undefined
  const { httpThreads, partitions = halfTheProcessors, queryThreads } = own?.kind === 'run' ? own.options : {}
  const threads =
    httpThreads === undefined
      ? {}
      : { 'HTTP threads': httpThreads, partitions, 'query threads': httpThreads * (queryThreads ?? 1) }
  const command = ['rigel bench', ...words].join(' ')
  return { command, 'flags of the broker': flags.join(' ') || 'none', duration_s, rounds, ...threads }
}

async function runAll(options: BenchOptions): Promise<boolean> {
  const harness = new Harness(options, new Report())
  try {
    harness.report.begin(environment(await harness.versions(), runFacts(options, process.argv.slice(2))))
    for (const bench of benches.filter(({ name }) => options.names.includes(name))) await bench.run(harness)
    harness.report.end()
    harness.report.endWithBars()
    if (options.json !== undefined) harness.report.writeTo(options.json)
    if (options.report !== undefined) harness.report.writePageTo(options.report)
    return !harness.report.failed
  } finally {
    await harness.end()
  }
}

await runProgram({
  help,
  command: 'bench',
  parse: (argv) =>
    parseBenchOptions(
      argv,
      benches.map(({ name }) => name),
    ),
  run: runAll,
})
