import { parseArgs } from 'node:util'
import { err, ok, type Result } from '../result.js'
import { nearest } from './command-words.js'
import type { Flag, Printing } from './flag.js'
import { flagsByName, takesValue } from './flags.js'

interface GivenValue {
  readonly flag: Flag
  /** The value; `true` or `false` for switches. */
  readonly text: string
  /** The variable that set it; absent for the command line. */
  readonly variable?: string
  /** The source in messages: `'-port'` or `ORION_PORT`. */
  readonly source: string
}

/**
 * The settings in rising precedence: the environment, then the command line from left to right. Of two flags with the same
 * meaning the later one in the map counts [management 9.1].
 */
export type Settings = ReadonlyMap<Flag, GivenValue>

/** A mistake in a command line [management 9.1]. */
export interface Mistake {
  readonly line: string
  /** A line with advice, where there is some. */
  readonly advice?: string
}

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/** The settings of a start, or a text to print. Refuses with the one line that names a mistake. */
export function readWords(
  argv: readonly string[],
  env: EnvironmentVariables,
): Result<Settings | Printing['what'], Mistake> {
  const words = fromWords(argv)
  if (!words.ok || typeof words.value === 'string') return words
  const variables = fromVariables(env, words.value)
  return variables.ok ? ok(new Map([...variables.value, ...words.value])) : variables
}

/** Variables that look like misspelt ones of settings, a sentence for each. */
export function misspeltVariables(env: EnvironmentVariables): readonly string[] {
  const known = [...flagsByName.values()].flatMap(({ variable }) => (variable?.startsWith(prefix) ? [variable] : []))
  return Object.entries(env).flatMap(([name, text = '']) => {
    if (!name.startsWith(prefix) || text === '' || known.includes(name) || isOfOthers(name, text)) return []
    const near = known.find((variable) => variable.startsWith(`${name}_`)) ?? nearestVariable(name, known)
    return near === undefined ? [] : [`${name} is no setting: did you mean ${near}?`]
  })
}

/** The variables of our own flags begin with it. */
const prefix = 'RIGEL_'

/** Compares what is behind the prefix, which all of them have. */
function nearestVariable(name: string, known: readonly string[]): string | undefined {
  const ends = known.map((variable) => variable.slice(prefix.length))
  const near = nearest(name.slice(prefix.length), ends)
  return near && `${prefix}${near}`
}

/** Variables for tests of this program that resemble settings. */
const ofTests: ReadonlySet<string> = new Set(['RIGEL_CLUSTER_LINK', 'RIGEL_CLUSTER_ROUNDS'])

/** Whether the variable is for tests, or Kubernetes has made it for a service whose name begins with `rigel`. */
function isOfOthers(name: string, text: string): boolean {
  if (ofTests.has(name)) return true
  return /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/.test(name) || /^(tcp|udp|sctp):\/\//.test(text)
}

function fromWords(argv: readonly string[]): Result<Map<Flag, GivenValue> | Printing['what'], Mistake> {
  const settings = new Map<Flag, GivenValue>()
  for (const token of tokensOf(argv)) {
    const word = argv[token.index] ?? ''
    const name = /^--?([^=]*)/.exec(word)?.[1]
    const flag = token.kind === 'option' && name !== undefined ? flagsByName.get(name) : undefined
    if (flag === undefined || token.kind !== 'option') return err(notRecognized(word.replace(/=.*/s, '')))
    if (flag.kind === 'refused') return err({ line: `'-${name}' is not supported: ${flag.meaning}` })
    // The next word as it was written: tokens show it with two dashes.
    const text = token.inlineValue === false ? (argv[token.index + 1] ?? '') : (token.value ?? '')
    const source = `'-${name}'`
    const mistake = takesValue(flag)
      ? token.value === undefined || (!token.inlineValue && namesFlag(text))
        ? `${source}: value missing`
        : mistakeInValue(flag, source, text)
      : mistakeInSwitch(flag, source, token.value)
    if (mistake !== undefined) return err({ line: mistake })
    if (flag.kind === 'prints') {
      if (token.value !== 'false') return ok(flag.what)
      continue
    }
    settings.delete(flag)
    settings.set(flag, { flag, text: takesValue(flag) ? text : (token.value ?? 'true'), source })
  }
  return ok(settings)
}

/** Names a word that is not a flag, and the flag that it resembles. */
function notRecognized(word: string): Mistake {
  const near = nearest(word.replace(/^--?/, ''), [...flagsByName.keys()])
  return { line: `'${word}' not recognized`, ...(near === undefined ? {} : { advice: `did you mean '-${near}'?` }) }
}

/** Splits the words by the library, which knows only two dashes and takes unknown flags for switches. */
function tokensOf(argv: readonly string[]) {
  const options = Object.fromEntries(
    [...flagsByName].map(([name, flag]) => [name, { type: takesValue(flag) ? 'string' : 'boolean' } as const]),
  )
  const args = argv.map((word) => (/^-[^-]/.test(word) ? `-${word}` : word))
  return parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true }).tokens
}

function fromVariables(env: EnvironmentVariables, words: Settings): Result<Map<Flag, GivenValue>, Mistake> {
  const settings = new Map<Flag, GivenValue>()
  for (const flag of flagsByName.values()) {
    const { variable } = flag
    const text = variable === undefined ? undefined : env[variable]
    if (variable === undefined || text === undefined || text === '' || words.has(flag)) continue
    const isSwitch = flag.kind === 'switch'
    const mistake =
      isSwitch && !/^(true|TRUE|false|FALSE)$/.test(text)
        ? `${variable}: '${text}' is neither true nor false`
        : mistakeInValue(flag, variable, text)
    if (mistake !== undefined) return err({ line: mistake })
    settings.set(flag, { flag, text: isSwitch ? text.toLowerCase() : text, variable, source: variable })
  }
  return ok(settings)
}

function mistakeInValue(flag: Flag, source: string, text: string): string | undefined {
  if (flag.kind !== 'value') return undefined
  if (text === '') return `${source}: value missing`
  const value = flag.takes.parse(text)
  return value.ok ? undefined : `${source}: '${text}' ${value.error}`
}

function mistakeInSwitch(flag: Flag, source: string, value: string | undefined): string | undefined {
  const right = value === undefined || value === 'true' || value === 'false' || flag.kind === 'ignored'
  return right ? undefined : `${source}: no value allowed ('${value}')`
}

function namesFlag(word: string): boolean {
  const name = /^--?([^=]+)/.exec(word)?.[1]
  return name !== undefined && flagsByName.has(name)
}
