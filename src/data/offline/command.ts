import { parseArgs } from 'node:util'
import { failureText, faultText } from '../../faults.js'
import { asksForHelp } from '../../flags/asks-for-help.js'
import { nearest } from '../../flags/command-words.js'
import type { ProgressOutput } from './progress.js'

/** The surroundings of a command of `rigel`. */
export interface CommandSurroundings {
  /** The words behind its name. */
  readonly words: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** For results; `errors` is for progress and errors. */
  readonly output: ProgressOutput
  readonly errors: ProgressOutput
}

/** A command that ends with an exit code. */
export type OfflineCommand = (surroundings: CommandSurroundings) => Promise<number>

/** Exit codes of commands. */
export const commandCodes = { done: 0, failed: 1, notTried: 2 } as const

/** A command of `rigel`: its words and its work. */
export interface CommandShape {
  readonly name: string
  readonly help: string
  /** Options with a value. */
  readonly values: readonly string[]
  readonly switches: readonly string[]
  /** Words without an option, as the help names them. */
  readonly positionals: readonly string[]
  /** Precedes the reason of a failure, for example `no backup was made`. */
  readonly failed: string
  /** The exit code after a failure, if it is not `failed`. */
  readonly failureCode?: number
  /** Returns the exit code. Throws `WrongCommandLine` before anything is done, and any other error for a failure. */
  readonly run: (given: CommandArguments, surroundings: CommandSurroundings) => Promise<number>
}

/** The options and words of a command line. */
export interface CommandArguments {
  value(name: string): string | undefined
  isOn(name: string): boolean
  readonly positionals: readonly string[]
}

/** Why a command failed, for the operator. */
export class CommandFailure extends Error {
  override readonly name: string = 'CommandFailure'
}

/** The work is decided but not finished; the next command or start finishes it. */
export class Unfinished extends CommandFailure {
  override readonly name = 'Unfinished'
}

/** The words of a command cannot be understood, or contradict each other. */
export class WrongCommandLine extends Error {
  override readonly name = 'WrongCommandLine'
}

/** Runs a command: prints its help, or does its work, and turns each error into text and exit code. */
export function command(shape: CommandShape): OfflineCommand {
  return async (surroundings) => {
    const { words, output, errors } = surroundings
    try {
      const given = readArguments(words, shape)
      if (given !== undefined) return await shape.run(given, surroundings)
      output.write(shape.help)
      return commandCodes.done
    } catch (fault) {
      if (fault instanceof WrongCommandLine) {
        errors.write(`${fault.message}\n`)
        return commandCodes.notTried
      }
      errors.write(`${fault instanceof Unfinished ? '' : `${shape.failed}: `}${failureText(fault)}\n`)
      return shape.failureCode ?? commandCodes.failed
    }
  }
}

/** The URL of the option `--url`, without a slash at its end; undefined without it. Throws `WrongCommandLine`. */
export function urlOf(given: CommandArguments): string | undefined {
  const text = given.value('url')
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new WrongCommandLine(`--url: '${text}' is no URL of http or https`)
  }
  url.search = ''
  url.hash = ''
  return url.href.endsWith('/') ? url.href.slice(0, -1) : url.href
}

/**
 * Reads the words of a command; undefined when they ask for its help. An option takes one dash or two, like the flags of the
 * broker, and its value after a space or an equals sign. Throws `WrongCommandLine`, with the option that was probably meant.
 */
function readArguments(words: readonly string[], shape: CommandShape): CommandArguments | undefined {
  if (asksForHelp(words)) return undefined
  const names = [...shape.values, ...shape.switches]
  const doubled = words.map((word) => (/^-[a-zA-Z]/.test(word) ? `-${word}` : word))
  const unknown = doubled.find((word) => word.startsWith('--') && !names.includes(nameOf(word)))
  if (unknown !== undefined) throw wrong(shape, adviceOn(nameOf(unknown), names, shape))
  const { values, positionals } = parsed(doubled, shape)
  const tooMany = positionals[shape.positionals.length]
  if (tooMany !== undefined) throw wrong(shape, `'${tooMany}' is one word too many`)
  return {
    positionals,
    value: (name) => {
      const text = values[name]
      return typeof text === 'string' ? text : undefined
    },
    isOn: (name) => values[name] === true,
  }
}

function parsed(args: string[], shape: CommandShape) {
  const option = (type: 'string' | 'boolean') => (name: string) => [name, { type }] as const
  const options = [...shape.values.map(option('string')), ...shape.switches.map(option('boolean'))]
  try {
    return parseArgs({ args, options: Object.fromEntries(options), allowPositionals: true })
  } catch (fault) {
    throw wrong(shape, faultText(fault))
  }
}

function nameOf(word: string): string {
  return word.slice(2).split('=', 1)[0] ?? ''
}

function adviceOn(name: string, names: readonly string[], shape: CommandShape): string {
  const near = nearest(name, names)
  const advice = near === undefined ? '' : `, did you mean '--${near}'?`
  return `rigel ${shape.name} has no option '--${name}'${advice}`
}

function wrong({ name }: CommandShape, reason: string): WrongCommandLine {
  return new WrongCommandLine(`${reason}\n'rigel help ${name}' lists what it takes`)
}
