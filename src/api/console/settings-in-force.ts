import { type Setting, switchesOf } from '../../flags/command-line.js'
import type { Options } from '../../flags/settings.js'
import { halfTheProcessors } from '../../machine.js'
import { traceLevelsText } from '../../observe/log/trace.js'
import type { Measures } from '../../observe/measure/measures.js'
import { logLevels, type SettingName, type Switches } from '../../threads/shared-memory/switches.js'
import type { ShownSetting } from './shapes.js'

/**
 * The settings of the command line and the environment, each with the value that the broker works with now: the broker decides
 * some of them itself, and requests change others while it runs [console: data].
 */
export function settingsInForce(
  settings: readonly Setting[],
  options: Options,
  { threads, switches }: Measures,
): readonly ShownSetting[] {
  const started = switchesOf(options)
  return settings.map((setting) => inForce(setting, threads, { started, now: switches }))
}

/** The switches as they were at the start, and as they are. */
interface SwitchStates {
  readonly started: Switches
  readonly now: Switches
}

function inForce(setting: Setting, threads: Measures['threads'], { started, now }: SwitchStates): ShownSetting {
  if (setting.flag === '-partitions') {
    const isOfFolder = setting.source === 'default' && threads.partitions !== halfTheProcessors
    return { ...setting, value: String(threads.partitions), ...(isOfFolder && { source: 'data folder' }) }
  }
  if (setting.flag === '-httpThreads') return { ...setting, value: String(threads.frontEnds) }
  const shown = switched.get(setting.flag)
  const synonym = synonyms.get(setting.flag)
  if (shown === undefined || (synonym !== undefined && setting.source === 'default')) return setting
  const [first, value] = [shown(started), shown(now)]
  if (value !== first) return { ...setting, value, source: 'changed while running', atStart: first }
  // Trace levels may be written in several ways: as long as they are those of the start, they are shown as they were given.
  const isBySynonym = setting.flag !== '-t' && value !== setting.value
  return isBySynonym ? { ...setting, value, source: synonymOf(setting.flag) } : setting
}

const levelOf = (switches: Switches): string => logLevels[switches.get('logLevel')] ?? 'NONE'
const numberOf = (name: SettingName) => (switches: Switches) => String(switches.get(name))
const isOn = (name: SettingName) => (switches: Switches) => String(switches.get(name) !== 0)

/** The values of the flags that requests can change, as the command line has them [management 2, 3, 4.7]. */
const switched: ReadonlyMap<string, (switches: Switches) => string> = new Map([
  ['-logLevel', levelOf],
  ['-silent', (switches: Switches) => String(levelOf(switches) === 'ERROR')],
  ['-verbose', numberOf('verbosity')],
  ['-logLineMaxSize', numberOf('lineMaxSize')],
  ['-logInfoPayloadMaxSize', numberOf('infoPayloadMaxSize')],
  ['-logDeprecate', isOn('deprecate')],
  ['-statCounters', isOn('statCounters')],
  ['-statSemWait', isOn('statSemWait')],
  ['-mutexTimeStat', isOn('statSemWait')],
  ['-statTiming', isOn('statTiming')],
  ['-statNotifQueue', isOn('statNotifQueue')],
  ['-t', ({ traces }: Switches) => traceLevelsText(traces) || 'none'],
])

/** Flags that set another one, by their names. */
const synonyms: ReadonlyMap<string, string> = new Map([
  ['-silent', '-logLevel'],
  ['-mutexTimeStat', '-statSemWait'],
])

/** The flag that has set this one in its place. */
function synonymOf(flag: string): string {
  return [...synonyms].find(([, other]) => other === flag)?.[0] ?? flag
}
