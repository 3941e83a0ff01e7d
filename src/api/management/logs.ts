import type { ApiRequest, ApiResponse, Prepared, Resource } from '../../broker/operations/api.js'
import { json, shortForm } from '../../broker/operations/response.js'
import { parseTraceLevels, traceLevelsText } from '../../observe/log/trace.js'
import { err, ok, type Result } from '../../result.js'
import { logLevels, type SettingName, type Switches } from '../../threads/shared-memory/switches.js'
import { changeLog, emptyParameter, logChange, logRefusal, type ManagementParts, operation } from './parts.js'

const highestVerbosity = 5
const verboseRow = { countedAs: '/log/verbose[/{level}]', counter: 'logRequests', anyCase: true } as const

/** Verbosity and log level [management 3]. */
export function logResources({ measures, log }: ManagementParts): readonly Resource[] {
  const { switches } = measures

  function setVerbosity(request: ApiRequest, verbosity: number): ApiResponse {
    switches.set('verbosity', verbosity)
    logChange(log, request, `verbosity: ${verbosity}`)
    return json({ verboseLevel: verbosity === 0 ? 'all verbose levels reset' : `verbose level set to ${verbosity}` })
  }

  function apply(request: ApiRequest, settings: readonly Setting[]): ApiResponse {
    for (const { name, value } of settings) switches.set(name, value)
    logChange(log, request, 'log settings changed', settingsShown(switches))
    return { status: 200 }
  }

  return [
    {
      ...verboseRow,
      pattern: '/log/verbose',
      aliases: ['/v1/admin/log/verbose'],
      operations: {
        GET: operation('read', () => json({ verboseLevel: String(switches.get('verbosity')) })),
        DELETE: operation('write', (request) => setVerbosity(request, 0)),
      },
    },
    {
      ...verboseRow,
      pattern: '/log/verbose/{level}',
      aliases: ['/v1/admin/log/verbose/{level}'],
      operations: {
        PUT: operation('write', (request) => {
          const verbosity = parseVerbosity(request.segments['level'] ?? '')
          return verbosity === undefined ? json({ verboseLevel: 'bad URL or Verb' }) : setVerbosity(request, verbosity)
        }),
      },
    },
    {
      pattern: '/admin/log',
      anyCase: false,
      counter: 'logLevelRequests',
      operations: {
        GET: operation('read', () => json(settingsShown(switches))),
        PUT: {
          use: 'write',
          prepare: (request) => {
            const settings = parseSettings(request.parameters)
            if (settings.ok) return ok(() => apply(request, settings.value))
            logRefusal(log, request, `log settings, level one of ${logLevels.join(' ')}`, Object.keys(settingParsers))
            return settings
          },
        },
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
const settingParsers: Readonly<Record<string, (text: string) => Result<Setting, string>>> = {
  level: (text) => {
    const sent = text.toUpperCase()
    const value = logLevels.findIndex((level) => level === (sent === 'WARNING' ? 'WARN' : sent))
    return value < 0 ? err('invalid log level') : ok({ name: 'logLevel', value })
  },
  infoPayloadMaxSize: (text) => parseSize('infoPayloadMaxSize', text),
  lineMaxSize: (text) => parseSize('lineMaxSize', text),
  deprecate: (text) => ok({ name: 'deprecate', value: text.toLowerCase() === 'true' ? 1 : 0 }),
}

const largestSetting = 2 ** 31 - 1 // Settings are 32-bit integers; no line is ever that long.

function parseSize(name: 'infoPayloadMaxSize' | 'lineMaxSize', text: string): Result<Setting, string> {
  const size = /^\d+$/.test(text) ? Math.min(Number(text), largestSetting) : 0
  return size > 0 ? ok({ name, value: size }) : err(`invalid ${name}, ${name} should be an integer number > 0`)
}

/** All settings of a request or none: one bad value refuses it. */
function parseSettings(parameters: ReadonlyMap<string, string>): Result<readonly Setting[], ApiResponse> {
  const settings: Setting[] = []
  for (const [name, parse] of Object.entries(settingParsers)) {
    const text = parameters.get(name)
    if (text === undefined) continue
    if (text === '') return err(emptyParameter(name))
    const setting = parse(text)
    if (!setting.ok) return err(shortForm(400, setting.error))
    settings.push(setting.value)
  }
  return settings.length === 0 ? err(shortForm(400, 'log config missing')) : ok(settings)
}

const names = ['/log/trace', '/log/traceLevel', '/v1/admin/log/trace', '/v1/admin/log/traceLevel'] as const
const [name, ...aliases] = names
const row = { countedAs: '/log/trace[/{level}]', counter: 'logRequests', anyCase: true } as const

/** The trace levels under their four names [management 2]. */
export function traceResources({ measures, log }: ManagementParts): readonly Resource[] {
  const { traces, traceReturn } = measures.switches
  /** Ends the limited time that was begun last here; the next change takes its place. */
  let timer: NodeJS.Timeout | undefined

  /** Applies an expression as it was sent; one that is malformed changes nothing. */
  function change(request: ApiRequest, member: string, apply: (levels: ReadonlySet<number>) => void): ApiResponse {
    const sent = request.segments['level'] ?? ''
    const levels = parseTraceLevels(sent)
    if (!levels.ok) return json({ tracelevels: 'poorly formatted trace level string' })
    apply(new Set(levels.value))
    return json({ [member]: sent })
  }

  /** The levels are as they are put until somebody puts them anew. */
  function putForGood(request: ApiRequest, wanted: (level: number, on: boolean) => boolean): void {
    traceReturn.cancel()
    clearTimeout(timer)
    put(traces, wanted)
    changed(request)
  }

  /** The levels go back by themselves after this many seconds, whether somebody still looks or not. */
  function putFor(request: ApiRequest, seconds: number, levels: ReadonlySet<number>): void {
    const begun = traceReturn.begin(traces)
    put(traces, (level) => levels.has(level))
    const tell = changeLog(log, request)
    tell(`trace levels: ${shown(traces)}, for ${seconds} s`)
    const goBack = () => {
      const before = traceReturn.end(begun)
      if (before === undefined) return
      put(traces, (level) => before[level] === 1)
      tell(`trace levels: ${shown(traces)}, as before`)
    }
    clearTimeout(timer)
    timer = setTimeout(goBack, seconds * 1000).unref()
  }

  function prepareSetting(request: ApiRequest): Prepared {
    const seconds = parseSeconds(request.parameters.get('for'))
    if (!seconds.ok) return seconds
    return ok(() =>
      change(request, 'tracelevels', (levels) => {
        if (seconds.value === undefined) putForGood(request, (level) => levels.has(level))
        else putFor(request, seconds.value, levels)
      }),
    )
  }

  function changed(request: ApiRequest): void {
    logChange(log, request, `trace levels: ${shown(traces)}`)
  }

  return [
    {
      ...row,
      pattern: name,
      aliases,
      operations: {
        GET: operation('read', () => json({ tracelevels: shown(traces) })),
        DELETE: operation('write', (request) => {
          putForGood(request, () => false)
          return json({ tracelevels: 'all trace levels off' })
        }),
      },
    },
    {
      ...row,
      pattern: `${name}/{level}`,
      aliases: aliases.map((alias) => `${alias}/{level}`),
      operations: {
        PUT: { use: 'write', prepare: prepareSetting },
        DELETE: operation('write', (request) =>
          change(request, 'tracelevels_removed', (levels) =>
            putForGood(request, (level, on) => on && !levels.has(level)),
          ),
        ),
      },
    },
  ]
}

const longest_s = 3600

/** For how long levels are to be on; nothing for good. */
function parseSeconds(text: string | undefined): Result<number | undefined, ApiResponse> {
  if (text === undefined) return ok(undefined)
  const seconds = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (seconds >= 1 && seconds <= longest_s) return ok(seconds)
  return err(shortForm(400, `for is no whole number of seconds from 1 to ${longest_s}`))
}

function shown(traces: Uint8Array): string {
  return traceLevelsText(traces) || 'empty'
}

/** Writes every level once, so that one that stays on is never off meanwhile. */
function put(traces: Uint8Array, wanted: (level: number, on: boolean) => boolean): void {
  traces.forEach((on, level) => {
    Atomics.store(traces, level, wanted(level, on === 1) ? 1 : 0)
  })
}
