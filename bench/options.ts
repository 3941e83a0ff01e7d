import { parseArgs } from 'node:util'
import { addressOf } from './connection.js'
import { mostDevices } from './request.js'

/** A command line that can not be followed; its message says what is wrong with it. */
export class WrongCommandLine extends Error {}

/** What every benchmark is told from outside. */
export interface BenchOptions {
  /** Which benchmarks to run. */
  readonly names: readonly string[]
  /** Whether they were named: what is named and cannot be run is a wrong command line. */
  readonly areNamed: boolean
  readonly url: string | undefined
  readonly main: string
  /** The script of another version of the broker, which is measured in turns with it. */
  readonly against: string | undefined
  readonly flags: readonly string[]
  /** Of each case, for the broker and the reference each; its rounds share it. */
  readonly duration_s: number
  readonly rounds: number
  readonly connections: readonly number[]
  readonly devices: number
  /** How many of them there are for queries and for requests with many elements. */
  readonly entities: number
  /** Numbers of entities whose growth is measured, ascending. */
  readonly sizes: readonly number[]
  /** Lengths of logs that a start replays. */
  readonly logs_MiB: readonly number[]
  /** Numbers of subscriptions that updates are notified to. */
  readonly subscriptions: readonly number[]
  /** Numbers of nodes that clusters have. */
  readonly nodes: readonly number[]
  /** Of those clusters. */
  readonly partitions: number
  /** The share of a processor that each broker of a cluster is held to; nothing when it gets all that it can. */
  readonly share: number | undefined
  /** Where the page with the charts goes. */
  readonly report: string | undefined
  readonly json: string | undefined
}

/** Options of `npm run bench`, as `parseArgs` takes them. */
const known = {
  url: { type: 'string' },
  broker: { type: 'string' },
  against: { type: 'string' },
  flags: { type: 'string', default: '' },
  duration: { type: 'string', default: '5' },
  rounds: { type: 'string', default: '5' },
  connections: { type: 'string', default: '1,16,64,256' },
  devices: { type: 'string', default: '1000' },
  entities: { type: 'string', default: '10000' },
  sizes: { type: 'string', default: '10000,100000,1000000' },
  logs: { type: 'string', default: '8,64' },
  subscriptions: { type: 'string', default: '1,100,10000' },
  nodes: { type: 'string', default: '1,3,6' },
  partitions: { type: 'string', default: '12' },
  share: { type: 'string', default: '0.2' },
  'no-share': { type: 'boolean', default: false },
  json: { type: 'string' },
  report: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

/** The options of a command line, or nothing when help was asked for. `names` are the benchmarks there are. */
export function parseBenchOptions(
  argv: readonly string[],
  names: readonly string[],
  ownBroker: string,
): BenchOptions | undefined {
  const { values, positionals } = orWrong(() =>
    parseArgs({ args: [...argv], options: known, allowPositionals: true, strict: true }),
  )
  if (values.help) return undefined
  const unknown = positionals.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new WrongCommandLine(`no benchmark '${unknown}', only ${names.join(', ')}`)
  return {
    names: positionals.length === 0 ? names : positionals,
    areNamed: positionals.length > 0,
    url: values.url === undefined ? undefined : parseUrl(values.url),
    main: values.broker ?? ownBroker,
    against: values.against,
    flags: parseFlags(values.flags),
    duration_s: parseAmount('--duration', values.duration),
    rounds: parseCount('--rounds', values.rounds),
    connections: parseCounts('--connections', values.connections),
    devices: parseCount('--devices', values.devices),
    entities: parseCount('--entities', values.entities),
    sizes: parseSizes(values.sizes),
    logs_MiB: parseCounts('--logs', values.logs),
    subscriptions: parseCounts('--subscriptions', values.subscriptions),
    nodes: parseNodes(values.nodes),
    partitions: parseCount('--partitions', values.partitions),
    share: values['no-share'] ? undefined : parseAmount('--share', values.share),
    json: values.json,
    report: values.report,
  }
}

/** The numbers of connections for requests that ask for much at a time: up to 16, or the least there is. */
export function fewConnections({ connections }: Pick<BenchOptions, 'connections'>): readonly number[] {
  const few = connections.filter((number) => number <= 16)
  return few.length > 0 ? few : [Math.min(...connections)]
}

/** Runs what throws on a wrong command line, and throws what the entries of programs know. */
export function orWrong<T>(parse: () => T): T {
  try {
    return parse()
  } catch (fault) {
    throw new WrongCommandLine(fault instanceof Error ? fault.message : String(fault))
  }
}

/** An http URL without what follows the port. */
export function parseUrl(text: string): string {
  orWrong(() => addressOf(text))
  return new URL(text).origin
}

/** Flags for a broker, separated by blanks. */
export function parseFlags(text: string): readonly string[] {
  return text.split(' ').filter((flag) => flag !== '')
}

/** A whole number of at least 1; underscores may group its digits. */
export function parseCount(option: string, text: string): number {
  const count = Number(text.replaceAll('_', ''))
  if (Number.isSafeInteger(count) && count > 0) return count
  throw new WrongCommandLine(`${option}: '${text}' is not a whole number above 0`)
}

export function parseCounts(option: string, text: string): readonly number[] {
  return text.split(',').map((count) => parseCount(option, count))
}

/** As many as a cluster may have at most. */
const mostNodes = 16

function parseNodes(text: string): readonly number[] {
  const nodes = [...new Set(parseCounts('--nodes', text))].sort((a, b) => a - b)
  if (nodes.every((number) => number <= mostNodes)) return nodes
  throw new WrongCommandLine(`--nodes: a cluster has at most ${mostNodes} nodes`)
}

function parseSizes(text: string): readonly number[] {
  const sizes = [...new Set(parseCounts('--sizes', text))].sort((a, b) => a - b)
  if (sizes.every((size) => size <= mostDevices)) return sizes
  throw new WrongCommandLine(`--sizes: there are at most ${mostDevices} devices`)
}

/** An amount above 0. */
export function parseAmount(option: string, text: string): number {
  const amount = Number(text)
  if (Number.isFinite(amount) && amount > 0) return amount
  throw new WrongCommandLine(`${option}: '${text}' is not a number above 0`)
}
