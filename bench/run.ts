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
import { ngsi2 } from './ngsi2.js'
import { notify } from './notify.js'
import { type BenchOptions, parseBenchOptions } from './options.js'
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
  overload,
  viewers,
  consoleBench,
  cluster,
  clusterPauses,
  clusterJoin,
]

const help = `rigel bench [benchmark ...] [option ...]         (in the sources: npm run bench -- ...)

Benchmarks (all of them when none is named)
${benches.map(({ name, question }) => `  ${name.padEnd(18)}${question}`).join('\n')}

Options
  --url URL         a broker that runs already; without it one is started on a new folder and ended afterwards
  --broker FILE     the script of the broker to start (the one built with this program)
  --against FILE    the script of another version, for example of a checkout of the last one: ingest, batch, read, growth
                    and notify measure it in turns with the broker
  --flags="FLAGS"   further flags for the brokers to start, for example --flags="-httpThreads 2"
  --duration S      seconds of load for each case, for the broker and the reference each (5)
  --rounds N        rounds that share the duration, in turns; the medians count (5)
  --connections L   numbers of connections, separated by commas (1,16,64,256)
  --devices N       entities that are written and read one by one (1000)
  --entities N      entities that are queried, or written many at a time (10000)
  --sizes L         numbers of entities for growth and start (10000,100000,1000000), the largest for console as well, which takes
                    a minute to prepare
  --logs L          MiB of log that start has replayed, beside what a SIGKILL leaves (8,64)
  --subscriptions L numbers of subscriptions for notify and streams, each update matching one (1,100,10000); for console
                    the largest
  --nodes L         numbers of nodes for cluster (1,3,6)
  --partitions N    partitions of clusters (12)
  --share S         the share of a processor that each broker of cluster is held to (0.2), which needs cgroups that may be
                    written; --no-share goes without
  --json FILE       write everything to this file as well
  --report FILE     write a page with charts and tables to this file: HTML that needs nothing but itself

JSON lines go to standard output, tables for people to standard error. References are measured in turns with the broker, on
this machine: a bare Hono server on one thread, for batches lmdb alone; with a broker on another machine they say nothing.
What needs brokers of our own is left out with --url. The last table says which bars were reached; it is no failure to
reach none.
The exit code is 0 when every request had the answer it should have, otherwise 1, and 2 for a wrong command line.
The feed, which proves durability, is a command of its own: rigel feed --help`

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

await runProgram(async (argv) => {
  const names = benches.map(({ name }) => name)
  const options = parseBenchOptions(argv, names, ownBroker)
  if (options !== undefined) return runAll(options)
  console.log(help)
  return true
})
