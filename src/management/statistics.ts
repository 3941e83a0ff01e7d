import type { ApiRequest, ApiResponse, Resource } from '../api/api.js'
import { json, shortForm } from '../api/response.js'
import type { SubscriptionIndexState } from '../broker/broker.js'
import { lineContextOf } from '../log/log.js'
import { type StatisticsPart, statisticsParts } from '../measure/measures.js'
import { err, ok, type Result } from '../result.js'
import { logChange, logRefusal } from './changes.js'
import type { ManagementParts } from './parts.js'
import { emptyParameter, operation } from './response-forms.js'
import { statisticsText } from './statistics-text.js'

const longestIdList = 1023
const resetDone = { message: 'All statistics counter reset' }

/** Counters, the switches of their parts, and the index of subscriptions [management 4, 6.1]. */
export function statisticsResources(parts: ManagementParts): readonly Resource[] {
  const { measures, log, broker } = parts

  function show(request: ApiRequest, full: boolean): ApiResponse {
    log.trace('statistics', 'counters added up', {}, lineContextOf(request))
    return { status: 200, body: statisticsText(measures, full, process.hrtime.bigint()) }
  }

  function reset(request: ApiRequest): ApiResponse {
    measures.reset(process.hrtime.bigint())
    log.trace('statistics', 'reset', {}, lineContextOf(request))
    logChange(log, request, 'statistics reset')
    return json(resetDone)
  }

  function switchParts(request: ApiRequest, wanted: readonly (readonly [StatisticsPart, boolean])[]): ApiResponse {
    const at = process.hrtime.bigint()
    for (const [part, on] of wanted) measures.switchPart(part, on, at)
    logChange(log, request, 'parts of the statistics switched', Object.fromEntries(wanted))
    return { status: 200 }
  }

  return [
    {
      pattern: '/statistics',
      aliases: ['/v1/admin/statistics'],
      anyCase: true,
      counter: 'statisticsRequests',
      operations: {
        GET: {
          use: 'read',
          prepare: (request) => {
            const options = request.parameters.get('options')
            const full = options === 'fullCounters'
            if (options !== undefined && !full) {
              logRefusal(log, request, `options=${options}`, ['fullCounters'])
              return err(shortForm(400, 'Invalid value for URI param /options/'))
            }
            return ok(() => show(request, full))
          },
        },
        DELETE: operation('write', reset),
      },
    },
    {
      pattern: '/admin/stats',
      anyCase: false,
      counter: 'statisticsRequests',
      operations: {
        GET: operation('read', () =>
          json(Object.fromEntries(statisticsParts.map((part) => [part, measures.isOn(part)]))),
        ),
        PUT: {
          use: 'write',
          prepare: (request) => {
            const wanted = parseParts(request.parameters)
            if (wanted.ok) return ok(() => switchParts(request, wanted.value))
            logRefusal(log, request, 'parts of the statistics, each true or false', statisticsParts)
            return wanted
          },
        },
      },
    },
    {
      pattern: '/cache/statistics',
      aliases: ['/v1/admin/cache/statistics'],
      anyCase: true,
      counter: 'statisticsRequests',
      operations: {
        GET: operation('read', async () => json(indexShown(await broker.subscriptions.index(false)))),
        DELETE: operation('write', async (request) => {
          await broker.subscriptions.index(true)
          logChange(log, request, 'statistics of the subscription index reset')
          return json(resetDone)
        }),
      },
    },
  ]
}

/** The parts that a request switches; all or none [management 4.7]. */
function parseParts(
  parameters: ReadonlyMap<string, string>,
): Result<readonly (readonly [StatisticsPart, boolean])[], ApiResponse> {
  const wanted: (readonly [StatisticsPart, boolean])[] = []
  for (const part of statisticsParts) {
    const text = parameters.get(part)?.toLowerCase()
    if (text === undefined) continue
    if (text === '') return err(emptyParameter(part))
    if (text !== 'true' && text !== 'false')
      return err(shortForm(400, `invalid value for ${part}, accepted values: true, false`))
    wanted.push([part, text === 'true'])
  }
  return wanted.length === 0 ? err(shortForm(400, 'statistics part missing')) : ok(wanted)
}

function indexShown({ ids, changes }: SubscriptionIndexState) {
  const list = ids.join(', ')
  const { refresh, inserts, removes, updates } = changes
  const shown = list.length > longestIdList ? 'too many subscriptions' : list
  return { ids: shown, refresh, inserts, removes, updates, items: ids.length }
}
