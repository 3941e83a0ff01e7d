import { parseArgs } from 'node:util'
import { faultText } from '../src/faults.js'
import { asksForHelp } from '../src/flags/asks-for-help.js'
import { ownBroker } from './broker-process.js'
import { addressOf } from './connection.js'
import { mostDevices } from './request.js'

/** A command line that can not be followed; its message says what is wrong with it. */
export class WrongCommandLine extends Error {}

/** An option of a program, as its command line, its help and its values have it. */
interface Option<Value> {
  /** Its name, and what stands for its value in the help, which a switch has not: `duration S`, `flags="FLAGS"`. */
  readonly usage: string
  /** What it is for; its lines are those of the help. */
  readonly meaning: string
  /** The text that stands for one that is not given. */
  readonly usual?: string
  parse(option: string, text: string): Value
}

/** An option that has the usual text if it is not given. */
export function option<Value>(
  usage: string,
  meaning: string,
  parse: Option<Value>['parse'],
  usual: string,
): Option<Value> {
  return { usage, meaning, parse, usual }
}

/** An option that has no value if it is not given. */
export function optional<Value>(
  usage: string,
  meaning: string,
  parse: Option<Value>['parse'],
): Option<Value | undefined> {
  return { usage, meaning, parse }
}

interface Declared {
  readonly [name: string]: Option<unknown>
}

/** What a command line says, by the names that the options are declared with. */
export type ValuesOf<Options extends Declared> = {
  readonly [Name in keyof Options]: Options[Name] extends Option<infer Value> ? Value : never
}

/** Reads a command line: these options, and words if they are allowed. Gives nothing when it asks for help. */
export function parseOptions<Options extends Declared>(
  declared: Options,
  argv: readonly string[],
  allowPositionals = false,
): { readonly values: ValuesOf<Options>; readonly words: readonly string[] } | undefined {
  const rows = Object.entries(declared).map(([name, option]) => {
    const [word = '', placeholder] = option.usage.split(/[ =]/)
    return { name, word, isSwitch: placeholder === undefined, option }
  })
  const known = rows.map(({ word, isSwitch }) => [word, { type: isSwitch ? 'boolean' : 'string' }] as const)
  if (asksForHelp(argv)) return undefined
  const options = Object.fromEntries(known)
  const { values, positionals } = orWrong(() => parseArgs({ args: [...argv], options, allowPositionals }))
  const given: { readonly [word: string]: unknown } = values
  const read = rows.map(({ name, word, option }) => {
    const text = given[word] ?? option.usual
    return [name, text === undefined ? undefined : option.parse(`--${word}`, String(text))]
  })
  return { values: Object.fromEntries(read), words: positionals }
}

/** What the help says of these options. */
export function helpOf(declared: Declared): string {
  const lines = Object.values(declared).map(({ usage, meaning, usual = '' }) => {
    const text = usual === '' ? meaning : `${meaning} (${usual})`
    return `  --${usage.padEnd(15)} ${text.replaceAll('\n', `\n${' '.repeat(20)}`)}`
  })
  return lines.join('\n')
}

export const text = (_: string, given: string): string => given

/** Which broker a program starts. */
export const brokerOptions = {
  main: option(
    'broker FILE',
    'the script of the broker to start (the one built with this program)',
    (_, file) => file || ownBroker,
    '',
  ),
  flags: option(
    'flags="FLAGS"',
    'further flags for it, for example --flags="-partitions 2"',
    (_, flags) => parseFlags(flags),
    '',
  ),
} as const

/** What the benchmarks are told from outside. */
export const benchOptions = {
  url: optional(
    'url URL',
    'a broker that runs already; without it one is started on a new folder and ended afterwards',
    parseUrl,
  ),
  ...brokerOptions,
  against: optional(
    'against FILE',
    `the script of another version, for example of a checkout of the last one: ingest, batch, read, growth
and notify measure it in turns with the broker`,
    text,
  ),
  duration_s: option(
    'duration S',
    'seconds of load for each case, for the broker and the reference each',
    parseAmount,
    '5',
  ),
  rounds: option('rounds N', 'rounds that share the duration, in turns; the medians count', parseCount, '5'),
  connections: option('connections L', 'numbers of connections, separated by commas', parseCounts, '1,16,64,256'),
  devices: option('devices N', 'entities that are written and read one by one', parseCount, '1000'),
  entities: option('entities N', 'entities that are queried, or written many at a time', parseCount, '10000'),
  /** Ascending. */
  sizes: option(
    'sizes L',
    `numbers of entities for growth and start, the largest for console as well, which takes a minute to
prepare`,
    parseSizes,
    '10000,100000,1000000',
  ),
  logs_MiB: option('logs L', 'MiB of log that start has replayed, beside what a SIGKILL leaves', parseCounts, '8,64'),
  subscriptions: option(
    'subscriptions L',
    `numbers of subscriptions for notify and streams, each update matching one; for console the
largest`,
    parseCounts,
    '1,100,10000',
  ),
  nodes: option('nodes L', 'numbers of nodes for cluster', parseNodes, '1,3,6'),
  partitions: option('partitions N', 'partitions of clusters', parseCount, '12'),
  share: option(
    'share S',
    'the share of a processor that each broker of cluster is held to, which needs cgroups that may be written',
    parseAmount,
    '0.2',
  ),
  noShare: optional('no-share', 'brokers of cluster get all that they can', () => true),
  json: optional('json FILE', 'write everything to this file as well', text),
  report: optional(
    'report FILE',
    'write a page with charts and tables to this file: HTML that needs nothing but itself',
    text,
  ),
} as const

export interface BenchOptions extends Omit<ValuesOf<typeof benchOptions>, 'share' | 'noShare'> {
  /** Which benchmarks to run. */
  readonly names: readonly string[]
  /** Whether they were named: what is named and cannot be run is a wrong command line. */
  readonly areNamed: boolean
  /** Nothing when the brokers of a cluster get all of the processor that they can. */
  readonly share: number | undefined
}

/** The options of a command line, or nothing when help was asked for. `names` are the benchmarks there are. */
export function parseBenchOptions(argv: readonly string[], names: readonly string[]): BenchOptions | undefined {
  const given = parseOptions(benchOptions, argv, true)
  if (given === undefined) return undefined
  const { noShare, share, ...values } = given.values
  const unknown = given.words.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new WrongCommandLine(`no benchmark '${unknown}', only ${names.join(', ')}`)
  const areNamed = given.words.length > 0
  return { ...values, names: areNamed ? given.words : names, areNamed, share: noShare ? undefined : share }
}

/** The numbers of connections for requests that ask for much at a time: up to 16, or the least there is. */
export function fewConnections({ connections }: Pick<BenchOptions, 'connections'>): readonly number[] {
  const few = connections.filter((number) => number <= 16)
  return few.length > 0 ? few : [Math.min(...connections)]
}

/** Runs what throws on a wrong command line, and throws what the entries of programs know. */
function orWrong<T>(parse: () => T): T {
  try {
    return parse()
  } catch (fault) {
    throw new WrongCommandLine(faultText(fault))
  }
}

/** An http URL without what follows the port. */
export function parseUrl(_: string, text: string): string {
  orWrong(() => addressOf(text))
  return new URL(text).origin
}

/** Flags for a broker, separated by spaces. */
function parseFlags(text: string): readonly string[] {
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

function parseNodes(option: string, text: string): readonly number[] {
  const nodes = [...new Set(parseCounts(option, text))].sort((a, b) => a - b)
  if (nodes.every((number) => number <= mostNodes)) return nodes
  throw new WrongCommandLine(`${option}: a cluster has at most ${mostNodes} nodes`)
}

function parseSizes(option: string, text: string): readonly number[] {
  const sizes = [...new Set(parseCounts(option, text))].sort((a, b) => a - b)
  if (sizes.every((size) => size <= mostDevices)) return sizes
  throw new WrongCommandLine(`${option}: there are at most ${mostDevices} devices`)
}

/** An amount above 0. */
export function parseAmount(option: string, text: string): number {
  const amount = Number(text)
  if (Number.isFinite(amount) && amount > 0) return amount
  throw new WrongCommandLine(`${option}: '${text}' is not a number above 0`)
}
