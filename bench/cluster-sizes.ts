import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import {
  clusterSize,
  type Input,
  inputsIn,
  type Machines,
  type PartCosts,
  updateTime_us,
} from './cluster/size-model.js'
import { items, member } from './ngsi.js'
import { orWrong, parseAmount, parseCount, parseCounts, WrongCommandLine } from './options.js'
import { runProgram } from './program.js'
import { rounded } from './rounds.js'
import { type Line, table } from './table.js'

const help = `node dist/bench/cluster-sizes.js FILE [option ...]

What clusters of other sizes would do, computed from what 'rigel bench cluster --json FILE' has measured. Nothing is started.

Options
  --nodes L      numbers of nodes (3,9,16)
  --cores N      processors of each node, and of each member of etcd (8)
  --use S        the part of their time that may be used (0.7)
  --records N    records that etcd takes in a second (the most that it took in the file, which had no machines of its own)
  --updates N    updates in a record at most (100)

The formulas are in bench/cluster/size-model.ts. JSON lines go to standard output, tables to standard error. The first table has
the inputs and where each comes from; the second compares what was measured with what the same formulas give for it.`

const known = {
  nodes: { type: 'string', default: '3,9,16' },
  cores: { type: 'string', default: '8' },
  use: { type: 'string', default: '0.7' },
  records: { type: 'string' },
  updates: { type: 'string', default: '100' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

/** An etcd of three members. */
const etcdMembers = 3

await runProgram(async (argv) => {
  const { values, positionals } = orWrong(() =>
    parseArgs({ args: [...argv], options: known, allowPositionals: true, strict: true }),
  )
  const [file, ...more] = positionals
  if (values.help) {
    console.log(help)
    return true
  }
  if (file === undefined || more.length > 0) throw new WrongCommandLine('one file of results is needed')
  const results = orWrong(() => items(member(JSON.parse(readFileSync(file, 'utf8')), 'results')))
  const measured = orWrong(() => inputsIn(results))
  const inputs =
    values.records === undefined ? measured : withRecords(measured, parseCount('--records', values.records))
  const costs = costsOf(inputs)
  const machines: Machines = {
    cores: parseCount('--cores', values.cores),
    use: parseAmount('--use', values.use),
    updatesPerRecord: parseCount('--updates', values.updates),
    etcdMembers,
  }
  const sizes = parseCounts('--nodes', values.nodes).map((nodes) => clusterSize(costs, machines, nodes))
  show(
    'inputs',
    inputs.map((input) => ({ ...input, value: rounded(input.value) })),
  )
  show('measured and computed', comparisons(results, costs))
  show(
    `of ${machines.cores} processors each, ${machines.use} of their time`,
    sizes.map((size) => Object.fromEntries(Object.entries(size).map(([name, value]) => [name, shown(value)]))),
  )
  return true
})

function withRecords(inputs: readonly Input[], records_per_s: number): readonly Input[] {
  return inputs.map((input) =>
    input.name === 'records_per_s' ? { ...input, value: records_per_s, from: 'the command line' } : input,
  )
}

function costsOf(inputs: readonly Input[]): PartCosts {
  const cost = (name: keyof PartCosts): number => inputs.find((input) => input.name === name)?.value ?? Number.NaN
  return {
    idle_ms: cost('idle_ms'),
    ...{ owner_us: cost('owner_us'), through_us: cost('through_us'), copy_us: cost('copy_us') },
    ...{ record_us: cost('record_us'), follower_us: cost('follower_us') },
    ...{ confirmed_us: cost('confirmed_us'), local_us: cost('local_us') },
    ...{ logged_bytes: cost('logged_bytes'), records_per_s: cost('records_per_s') },
  }
}

/** What all brokers took for an update, by number of nodes, and what the formula says. */
function comparisons(results: readonly unknown[], costs: PartCosts): readonly Line[] {
  const updates = results.filter((line) => member(line, 'bench') === 'cluster' && member(line, 'case') === 'updates')
  return updates.map((line) => {
    const nodes = Number(member(line, 'nodes'))
    const idle_us = (nodes * costs.idle_ms * 1000) / Number(member(line, 'rate_per_s'))
    const computed_us = updateTime_us(costs, nodes) + idle_us
    const measured_us = Number(member(line, 'brokers_us'))
    return {
      nodes,
      connections: member(line, 'connections'),
      measured_us,
      computed_us: rounded(computed_us),
      ratio: rounded(computed_us / measured_us),
    }
  })
}

function shown(value: number | string): number | string {
  return typeof value === 'number' ? Number(value.toPrecision(3)) : value
}

function show(name: string, lines: readonly Line[]): void {
  for (const line of lines) console.log(JSON.stringify({ table: name, ...line }))
  console.error(`\n${name}\n${table(lines)}`)
}
