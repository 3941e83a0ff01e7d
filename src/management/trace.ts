import type { ApiRequest, ApiResponse, Prepared, Resource } from '../api/api.js'
import { json, shortForm } from '../api/response.js'
import { err, ok, type Result } from '../result.js'
import { parseTraceLevels, traceLevelsText } from '../trace.js'
import { logChange } from './changes.js'
import type { ManagementParts } from './parts.js'
import { operation } from './response-forms.js'

const names = ['/log/trace', '/log/traceLevel', '/v1/admin/log/trace', '/v1/admin/log/traceLevel'] as const
const [name, ...aliases] = names
const row = { countedAs: '/log/trace[/{level}]', counter: 'logRequests', anyCase: true } as const

/** The trace levels under their four names [management 2]. */
export function traceResources({ measures, log }: ManagementParts): readonly Resource[] {
  const { traces, traceReturn } = measures.switches

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
    put(traces, wanted)
    changed(request)
  }

  /** The levels go back by themselves after so many seconds, whether somebody still looks or not. */
  function putFor(request: ApiRequest, seconds: number, levels: ReadonlySet<number>): void {
    const begun = traceReturn.begin(traces)
    put(traces, (level) => levels.has(level))
    logChange(log, request, `trace levels: ${shown(traces)}, for ${seconds} s`)
    const goBack = () => {
      const before = traceReturn.end(begun)
      if (before === undefined) return
      put(traces, (level) => before[level] === 1)
      logChange(log, request, `trace levels: ${shown(traces)}, as before`)
    }
    setTimeout(goBack, seconds * 1000).unref()
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
