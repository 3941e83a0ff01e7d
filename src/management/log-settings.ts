import type { Answer, Asked, Resource, Work } from '../api.js'
import { granted, type Outcome, refused } from '../result.js'
import { logLevels, type SettingName, type Switches } from '../shared-memory/switches.js'
import { checkedOperation, emptyParameter, json, operation, shortForm } from './answers.js'
import { logChange } from './changes.js'
import type { ManagementParts } from './parts.js'

const highestVerbosity = 5
const verboseRow = { countedAs: '/log/verbose[/{level}]', counter: 'logRequests', anyCase: true } as const

/** Verbosity and log level [management 3]. */
export function logResources({ measures, log }: ManagementParts): readonly Resource[] {
  const { switches } = measures

  function setVerbosity(asked: Asked, verbosity: number): Answer {
    switches.set('verbosity', verbosity)
    logChange(log, asked, `verbosity: ${verbosity}`)
    return json({ verboseLevel: verbosity === 0 ? 'all verbose levels reset' : `verbose level set to ${verbosity}` })
  }

  function apply(asked: Asked, settings: readonly Setting[]): Answer {
    for (const { name, value } of settings) switches.set(name, value)
    logChange(log, asked, 'log settings changed', settingsShown(switches))
    return { status: 200 }
  }

  return [
    {
      ...verboseRow,
      pattern: '/log/verbose',
      aliases: ['/v1/admin/log/verbose'],
      operations: {
        GET: operation('read', () => json({ verboseLevel: String(switches.get('verbosity')) })),
        DELETE: operation('write', (asked) => setVerbosity(asked, 0)),
      },
    },
    {
      ...verboseRow,
      pattern: '/log/verbose/{level}',
      aliases: ['/v1/admin/log/verbose/{level}'],
      operations: {
        PUT: operation('write', (asked) => {
          const verbosity = parseVerbosity(asked.segments['level'] ?? '')
          return verbosity === undefined ? json({ verboseLevel: 'bad URL or Verb' }) : setVerbosity(asked, verbosity)
        }),
      },
    },
    {
      pattern: '/admin/log',
      anyCase: false,
      counter: 'logLevelRequests',
      operations: {
        GET: operation('read', () => json(settingsShown(switches))),
        PUT: checkedOperation('write', (asked): Outcome<Work, Answer> => {
          const settings = parseSettings(asked.parameters)
          return settings.ok ? granted(() => apply(asked, settings.value)) : settings
        }),
      },
    },
  ]
}

function parseVerbosity(text: string): number | undefined {
  if (text === 'off') return 0
  const verbosity = /^\d$/.test(text) ? Number(text) : Number.NaN
  return verbosity <= highestVerbosity ? verbosity : undefined
}

function settingsShown(switches: Switches) {
  return {
    level: logLevels[switches.get('logLevel')] ?? 'NONE',
    infoPayloadMaxSize: switches.get('infoPayloadMaxSize'),
    lineMaxSize: switches.get('lineMaxSize'),
    deprecate: switches.get('deprecate') !== 0,
  }
}

interface Setting {
  readonly name: SettingName
  readonly value: number
}

/** By URI parameter: the setting that its value stands for, or why there is none [management 3.2]. */
const settingParsers: Readonly<Record<string, (text: string) => Outcome<Setting, string>>> = {
  level: (text) => {
    const sent = text.toUpperCase()
    const value = logLevels.findIndex((level) => level === (sent === 'WARNING' ? 'WARN' : sent))
    return value < 0 ? refused('invalid log level') : granted({ name: 'logLevel', value })
  },
  infoPayloadMaxSize: (text) => parseSize('infoPayloadMaxSize', text),
  lineMaxSize: (text) => parseSize('lineMaxSize', text),
  deprecate: (text) => granted({ name: 'deprecate', value: text.toLowerCase() === 'true' ? 1 : 0 }),
}

const largestSetting = 2 ** 31 - 1 // Settings are 32-bit integers; no line is ever that long.

function parseSize(name: 'infoPayloadMaxSize' | 'lineMaxSize', text: string): Outcome<Setting, string> {
  const size = /^\d+$/.test(text) ? Math.min(Number(text), largestSetting) : 0
  return size > 0 ? granted({ name, value: size }) : refused(`invalid ${name}, ${name} should be an integer number > 0`)
}

/** All settings of a request or none: one bad value refuses it. */
function parseSettings(parameters: ReadonlyMap<string, string>): Outcome<readonly Setting[], Answer> {
  const settings: Setting[] = []
  for (const [name, parse] of Object.entries(settingParsers)) {
    const text = parameters.get(name)
    if (text === undefined) continue
    if (text === '') return refused(emptyParameter(name))
    const setting = parse(text)
    if (!setting.ok) return refused(shortForm(400, setting.refusal))
    settings.push(setting.value)
  }
  return settings.length === 0 ? refused(shortForm(400, 'log config missing')) : granted(settings)
}
