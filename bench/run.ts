import { ownBroker } from './broker-process.js'
import { generator } from './generator.js'
import { type Bench, Harness } from './harness.js'
import { ingest } from './ingest.js'
import { notify } from './notify.js'
import { type BenchOptions, parseBenchOptions } from './options.js'
import { runProgram } from './program.js'
import { read } from './read.js'
import { environment } from './report.js'

/** Every benchmark there is; a new one is a file of its own and a word here. */
const benches: readonly Bench[] = [ingest, read, notify, generator]

const help = `npm run bench -- [benchmark ...] [option ...]

Benchmarks (all of them when none is named)
${benches.map(({ name, question }) => `  ${name.padEnd(18)}${question}`).join('\n')}

Options
  --url URL         a broker that runs already; without it one is started on a new folder and ended afterwards
  --broker FILE     the script of the broker to start (the one built with this program)
  --flags="FLAGS"   further flags for the broker to start, for example --flags="-httpThreads 2"
  --duration S      seconds of load for each case, for the broker and the reference each (5)
  --rounds N        rounds that share the duration; the medians count (3)
  --connections L   numbers of connections, separated by commas (1,16,64,256)
  --devices N       entities that are written and read (1000)
  --json FILE       write everything to this file as well

JSON lines go to standard output, a table for people to standard error. The reference is a bare Hono server on this
machine, measured in turns with the broker; with a broker on another machine its rate says nothing.
The exit code is 0 when every request had the answer it should have, otherwise 1, and 2 for a wrong command line.
The feed, which proves durability, is a program of its own: node dist/bench/feed.js --help`

async function runAll(options: BenchOptions): Promise<boolean> {
  const harness = new Harness(options)
  try {
    harness.report.begin(environment(await harness.version()))
    for (const bench of benches.filter(({ name }) => options.names.includes(name))) await bench.run(harness)
    harness.report.end()
    if (options.json !== undefined) harness.report.writeTo(options.json)
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
