import { parseArgs } from 'node:util'
import { nearest } from '../command-line/nearest.js'
import { err, ok, type Result } from '../result.js'

/** What a command of `rigel` takes beside its name. */
export interface CommandShape {
  readonly name: string
  /** Its whole help. */
  readonly help: string
  /** Options with a value. */
  readonly values: readonly string[]
  readonly switches: readonly string[]
  /** What stands without an option, as the help names it. */
  readonly positionals: readonly string[]
}

/** The words of a command, told apart. */
export interface CommandArguments {
  value(name: string): string | undefined
  isOn(name: string): boolean
  readonly positionals: readonly string[]
}

/**
 * Reads the words behind a command. An option takes one dash or two, as the flags of the broker, and its value after a space
 * or an equals sign. Gives the help where it is asked for; refuses in words, with the option that was likely meant.
 */
export function readArguments(
  words: readonly string[],
  shape: CommandShape,
): Result<CommandArguments | 'help', string> {
  if (words.some((word) => /^--?(h|help)$/.test(word))) return ok('help')
  const names = [...shape.values, ...shape.switches]
  const doubled = words.map((word) => (/^-[a-zA-Z]/.test(word) ? `-${word}` : word))
  const unknown = doubled.find((word) => word.startsWith('--') && !names.includes(nameOf(word)))
  if (unknown !== undefined) return err(adviceOn(nameOf(unknown), names, shape))
  const option = (type: 'string' | 'boolean') => (name: string) => [name, { type }] as const
  try {
    const { values, positionals } = parseArgs({
      args: doubled,
      options: Object.fromEntries([...shape.values.map(option('string')), ...shape.switches.map(option('boolean'))]),
      allowPositionals: true,
    })
    if (positionals.length > shape.positionals.length) {
      return err(`'${positionals[shape.positionals.length]}' is one word too many${seeHelp(shape)}`)
    }
    return ok({
      positionals,
      value: (name) => {
        const text = values[name]
        return typeof text === 'string' ? text : undefined
      },
      isOn: (name) => values[name] === true,
    })
  } catch (fault) {
    return err(`${fault instanceof Error ? fault.message : fault}${seeHelp(shape)}`)
  }
}

function nameOf(word: string): string {
  return word.slice(2).split('=', 1)[0] ?? ''
}

function adviceOn(name: string, names: readonly string[], shape: CommandShape): string {
  const near = nearest(name, names)
  const advice = near === undefined ? '' : `, did you mean '--${near}'?`
  return `rigel ${shape.name} has no option '--${name}'${advice}${seeHelp(shape)}`
}

function seeHelp({ name }: CommandShape): string {
  return `\n'rigel help ${name}' lists what it takes`
}
