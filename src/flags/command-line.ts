import { isLoopback } from '../hosts.js'
import { oneLine } from '../observe/log/form.js'
import { logLevels, Switches } from '../threads/shared-memory/switches.js'
import { versionText } from '../version.js'
import { helpText, usageText } from './flag-help.js'
import { flagsByName } from './flags.js'
import type { Options } from './settings.js'
import { contradiction, optionsFrom, tokenFrom } from './settings.js'
import { type EnvironmentVariables, type Mistake, misspeltVariables, readWords, type Settings } from './words.js'

/** The outcome of the command line [management 9.1, 9.2]. */
export type CommandLine =
  | { readonly kind: 'run'; readonly options: Options; readonly settings: readonly Setting[] }
  | { readonly kind: 'print'; readonly text: string; readonly exitCode: 0 }
  | { readonly kind: 'wrong'; readonly text: string; readonly exitCode: 1 }

/** A setting for the log, and its source [management 2.5, area 244]. */
export interface Setting {
  /** With its dash. */
  readonly flag: string
  /** `***` for secrets. */
  readonly value: string
  /** `command line`, `default` or the name of a variable. */
  readonly source: string
  readonly byDefault: string
  /** The values that it takes, as the help shows them. */
  readonly takes: string
  readonly meaning: string
  /** Its environment variable, if there is one. */
  readonly variable: string | undefined
  readonly group: string
}

/**
 * Reads the command line and the environment into complete options. Reads no file but that of `-adminTokenFile`. A mistake is one
 * line that names it, followed by the short usage. `isNode` is false for a command that only asks about a cluster.
 */
export function readOptions(argv: readonly string[], env: EnvironmentVariables, isNode = true): CommandLine {
  const read = readWords(argv, env)
  if (!read.ok) return wrong(read.error)
  if (read.value === 'help') return { kind: 'print', text: helpText(), exitCode: 0 }
  if (read.value === 'usage') return { kind: 'print', text: usageText(), exitCode: 0 }
  if (read.value === 'version') return { kind: 'print', text: versionText(), exitCode: 0 }
  const settings = read.value
  const against = contradiction(settings, isNode)
  if (against !== undefined) return wrong({ line: against })
  const token = tokenFrom(settings)
  if (!token.ok) return wrong({ line: token.error })
  const options = optionsFrom(settings, token.value, misspeltVariables(env))
  return { kind: 'run', options, settings: shownSettings(settings) }
}

/** The switches as the options set them at the start [management 2.1, 3, 4.7]. */
export function switchesOf(options: Options): Switches {
  const switches = new Switches()
  for (const level of options.traceLevels) switches.traces[level] = 1
  switches.set('logLevel', logLevels.indexOf(options.logLevel))
  switches.set('verbosity', options.verbose)
  switches.set('infoPayloadMaxSize', options.logInfoPayloadMaxSize)
  switches.set('lineMaxSize', options.logLineMaxSize)
  switches.set('stepWarning_ms', options.stepWarning_ms)
  switches.set('deprecate', Number(options.logDeprecate))
  switches.set('statCounters', Number(options.statCounters))
  switches.set('statSemWait', Number(options.statSemWait))
  switches.set('statTiming', Number(options.statTiming))
  switches.set('statNotifQueue', Number(options.statNotifQueue))
  switches.set('disableMetrics', Number(options.disableMetrics))
  return switches
}

/** Warnings about the options, for one WARN line each at every start [management 9.1, 13]. */
export function warningsOf({ ignored, misspelt, adminToken, dbPath }: Options): readonly string[] {
  return [
    ...(ignored.length === 0 ? [] : [`ignored command line options: ${ignored.join(', ')}`]),
    ...(ignored.some(isOfDatabase)
      ? [
          `there is no MongoDB: the data is this broker's own, in ${dbPath}; rigel import --orion reads a dump of Orion's`,
        ]
      : []),
    ...misspelt,
    ...(adminToken !== undefined && adminToken.length < 16
      ? ['the management token is shorter than 16 characters']
      : []),
  ]
}

function isOfDatabase(ignored: string): boolean {
  return /^(-db|-rplSet$|ORION_MONGO_)/.test(ignored)
}

/**
 * The port on which other machines reach the management interface without a token; undefined when there is none. On this machine
 * everybody may use it.
 */
export function openManagementPort(options: Options): number | undefined {
  const { adminToken, adminPort, adminIp, port, localIp } = options
  if (adminToken !== undefined) return undefined
  const [reached, address] = adminPort === undefined ? [port, localIp] : [adminPort, adminIp]
  return address !== undefined && isLoopback(address) ? undefined : reached
}

function wrong({ line, advice }: Mistake): CommandLine {
  const lines = [line, ...(advice === undefined ? [] : [advice])].map(oneLine)
  return { kind: 'wrong', text: `${lines.join('\n')}\n${usageText()}`, exitCode: 1 }
}

function shownSettings(settings: Settings): readonly Setting[] {
  return [...flagsByName].flatMap(([name, flag]) => {
    const given = settings.get(flag)
    const byDefault = flag.kind === 'value' ? flag.shownDefault : flag.kind === 'switch' ? 'false' : undefined
    const value = given?.text ?? byDefault
    if (value === undefined) return []
    const hidden = 'secret' in flag && flag.secret === true && given !== undefined
    const source = given === undefined ? 'default' : (given.variable ?? 'command line')
    return [
      {
        ...{ flag: `-${name}`, value: hidden ? '***' : value, source, byDefault: byDefault ?? 'none' },
        takes: 'takes' in flag && flag.takes !== undefined ? flag.takes.shown : 'true or false',
        ...{ meaning: flag.meaning, variable: flag.variable, group: flag.group },
      },
    ]
  })
}
