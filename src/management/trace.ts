import type { ApiRequest, ApiResponse, Resource } from '../api.js'
import { json } from '../short-form.js'
import { parseTraceLevels, traceLevelsText } from '../trace-levels.js'
import { logChange } from './changes.js'
import type { ManagementParts } from './parts.js'
import { operation } from './response-forms.js'

const names = ['/log/trace', '/log/traceLevel', '/v1/admin/log/trace', '/v1/admin/log/traceLevel'] as const
const [name, ...aliases] = names
const row = { countedAs: '/log/trace[/{level}]', counter: 'logRequests', anyCase: true } as const

/** The trace levels under their four names [management 2]. */
export function traceResources({ measures, log }: ManagementParts): readonly Resource[] {
  const { traces } = measures.switches

  /** Applies an expression as it was sent; one that is malformed changes nothing. */
  function change(request: ApiRequest, member: string, apply: (levels: ReadonlySet<number>) => void): ApiResponse {
    const sent = request.segments['level'] ?? ''
    const levels = parseTraceLevels(sent)
    if (!levels.ok) return json({ tracelevels: 'poorly formatted trace level string' })
    apply(new Set(levels.value))
    changed(request)
    return json({ [member]: sent })
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
          put(traces, () => false)
          changed(request)
          return json({ tracelevels: 'all trace levels off' })
        }),
      },
    },
    {
      ...row,
      pattern: `${name}/{level}`,
      aliases: aliases.map((alias) => `${alias}/{level}`),
      operations: {
        PUT: operation('write', (request) =>
          change(request, 'tracelevels', (levels) => put(traces, (level) => levels.has(level))),
        ),
        DELETE: operation('write', (request) =>
          change(request, 'tracelevels_removed', (levels) => put(traces, (level, on) => on && !levels.has(level))),
        ),
      },
    },
  ]
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
