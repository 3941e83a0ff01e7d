import { closest, distance } from 'fastest-levenshtein'
import { builtFile } from '../version.js'

/** A command that is a program of its own beside the broker. */
interface ProgramCommand {
  readonly summary: string
  /** The script that takes the words behind the command. */
  readonly script: string
}

/** The first words of a command line that start another program. Without such a word the broker serves. */
const programs: ReadonlyMap<string, ProgramCommand> = new Map([
  ['bench', { summary: 'measures brokers and writes reports', script: builtFile('bench/run.js') }],
  [
    'feed',
    {
      summary: 'updates a broker, kills it, starts it again, and checks what it kept',
      script: builtFile('bench/feed.js'),
    },
  ],
  [
    'cluster',
    {
      summary: 'shows a cluster, removes nodes that will not return, and recovers it if etcd has lost its data',
      script: builtFile('src/runtime/commands/cluster-program.js'),
    },
  ],
  [
    'health',
    { summary: 'asks a broker whether it is ready', script: builtFile('src/runtime/commands/health-program.js') },
  ],
  [
    'key',
    {
      summary: 'makes a key for a client, for the file of -apiKeys',
      script: builtFile('src/runtime/commands/key-program.js'),
    },
  ],
])

/** Commands on the data of a broker, which are part of this program, with their descriptions. */
const dataCommands = {
  backup: 'writes a backup of a running or a stopped broker to a folder',
  restore: 'restores a backup to a data folder, or puts back what was replaced',
  check: 'checks whether a data folder or a backup is sound',
  reshard: 'changes the number of partitions of a data folder',
  export: 'writes the data of a broker as JSON lines',
  import: 'imports such lines, or a dump of an Orion, into a data folder',
} as const

export type DataCommand = keyof typeof dataCommands

function isDataCommand(word: string): word is DataCommand {
  return Object.hasOwn(dataCommands, word)
}

const others = new Map([
  ['version', 'shows the versions of the program and of what it runs on'],
  ['help', 'shows this text, or the help of a command: rigel help bench'],
])

/** The first words that are commands, in the order of the help. */
export const commandNames: readonly string[] = [...Object.keys(dataCommands), ...programs.keys(), ...others.keys()]

/** The meaning of a command line that begins with a word instead of a flag. */
export type ReadCommand =
  | { readonly kind: 'program'; readonly script: string; readonly words: readonly string[] }
  | { readonly kind: 'data'; readonly command: DataCommand; readonly words: readonly string[] }
  | { readonly kind: 'flags'; readonly words: readonly string[] }
  | { readonly kind: 'print'; readonly text: string }
  | { readonly kind: 'wrong'; readonly text: string }

/** Reads the command of a command line; without one, the words are flags of the broker. */
export function readCommand(words: readonly string[]): ReadCommand {
  const [first, ...rest] = words
  if (rest.length === 1 && isHelpFlag(first) && isCommand(rest[0])) return helpOf(rest[0])
  if (first === undefined || first.startsWith('-')) return { kind: 'flags', words }
  const program = programs.get(first)
  if (program !== undefined) return { kind: 'program', script: program.script, words: rest }
  if (isDataCommand(first)) return { kind: 'data', command: first, words: rest }
  if (!others.has(first)) return unknown(first)
  const [tooMany] = rest.slice(first === 'help' ? 1 : 0)
  if (tooMany !== undefined) return { kind: 'wrong', text: `'${tooMany}' is one word too many\n${advice}` }
  return first === 'help' ? helpOf(rest[0]) : { kind: 'flags', words: ['--version'] }
}

function isHelpFlag(word: string | undefined): boolean {
  return word === '-h' || word === '-help' || word === '--help'
}

function isCommand(word: string | undefined): boolean {
  return word !== undefined && (isDataCommand(word) || programs.has(word) || others.has(word))
}

function helpOf(name: string | undefined): ReadCommand {
  if (name === undefined) return { kind: 'print', text: commandsText() }
  const program = programs.get(name)
  if (program !== undefined) return { kind: 'program', script: program.script, words: ['--help'] }
  if (isDataCommand(name)) return { kind: 'data', command: name, words: ['--help'] }
  return others.has(name) ? { kind: 'print', text: `rigel ${name}: ${others.get(name)}\n` } : unknown(name)
}

function unknown(word: string): ReadCommand {
  const near = nearest(word, commandNames)
  const meant = near === undefined ? '' : `did you mean 'rigel ${near}'?\n`
  return { kind: 'wrong', text: `'${word}' not recognized\n${meant}${advice}` }
}

const advice = "'rigel help' lists the commands, 'rigel -h' the flags\n"

function commandsText(): string {
  const summaries = [
    ...Object.entries(dataCommands),
    ...[...programs].map(([name, { summary }]) => [name, summary] as const),
    ...others,
  ]
  return `Usage: rigel [flags]           starts the broker; rigel -h explains the flags
       rigel <command> [options]

Commands
${summaries.map(([name, summary]) => `  ${name.padEnd(10)}${summary}`).join('\n')}
`
}

/** The name that a mistyped word most likely means, case ignored; undefined when none is similar. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const lower = word.toLowerCase()
  const alike = closest(
    lower,
    names.map((name) => name.toLowerCase()),
  )
  return distance(lower, alike) <= mistakesIn(lower) ? names.find((name) => name.toLowerCase() === alike) : undefined
}

/** How many letters may be wrong, a swapped pair counting as two: beyond that the suggestion would confuse. */
function mistakesIn(word: string): number {
  if (word.length < 3) return 0
  return word.length === 3 ? 1 : Math.max(2, Math.floor(word.length / 3))
}
