import type { SubscriptionIndexState } from '../../broker/front-end/broker.js'
import type { ApiRequest, ApiResponse, Resource } from '../../broker/operations/api.js'
import { json, shortForm } from '../../broker/operations/response.js'
import { lineContextOf } from '../../observe/log/log.js'
import { verbIndex } from '../../observe/measure/counted-routes.js'
import { type CounterRow, counterColumn, countersOf, type RequestCountTable } from '../../observe/measure/counters.js'
import type { DeliveryReading } from '../../observe/measure/delivery-figures.js'
import { type Measures, type StatisticsPart, statisticsParts } from '../../observe/measure/measures.js'
import type { StageTimes } from '../../observe/measure/timing-table.js'
import type { WaitTable } from '../../observe/measure/waits.js'
import { err, ok, type Result } from '../../result.js'
import type { Baseline } from '../../threads/shared-memory/counter-table.js'
import { type Nanoseconds, secondsText } from '../../time.js'
import {
  emptyParameter,
  type JsonMember,
  logChange,
  logRefusal,
  type ManagementParts,
  objectText,
  operation,
} from './parts.js'

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

function indexShown({ count, firstIds, changes }: SubscriptionIndexState) {
  const list = firstIds.join(', ')
  const { refresh, inserts, removes, updates } = changes
  const isWhole = firstIds.length === count && list.length <= longestIdList
  return { ids: isWhole ? list : 'too many subscriptions', refresh, inserts, removes, updates, items: count }
}

/**
 * The body of GET /statistics: what was counted, in flat members and, where so wished, in the nested ones of the later
 * layout. It is rendered by hand, because JSON.stringify would drop the digits of 0.000000000 [management 4.1, 4.5].
 */
export function statisticsText(measures: Measures, fullCounters: boolean, at: Nanoseconds): string {
  // Another thread may reset them meanwhile.
  const [counted, waited] = [measures.counts.since, measures.waits.since]
  const members: JsonMember[] = [...flatCounters(measures.counts, counted)]
  if (measures.isOn('semWait')) members.push(...flatWaits(measures.waits, waited))
  if (measures.isOn('counters')) members.push(['counters', nestedCounters(measures, fullCounters)])
  if (measures.isOn('semWait')) members.push(['semWait', nestedWaits(measures.waits, waited)])
  if (measures.isOn('timing')) members.push(['timing', timing(measures)])
  if (measures.isOn('notifQueue')) members.push(['notifQueue', notifQueue(measures.delivery.read())])
  members.push(['uptime_in_secs', wholeSeconds(at - measures.startedAt)])
  members.push(['measuring_interval_in_secs', wholeSeconds(at - counted.at)])
  return objectText(members)
}

/** Whole seconds, rounded down. */
function wholeSeconds(duration: Nanoseconds): string {
  return String(duration / 1_000_000_000n)
}

/** Only what was used since the reset; zero is never shown [management 4.1.1]. */
function flatCounters(counts: RequestCountTable, from: Baseline): readonly JsonMember[] {
  return countersOf('flat')
    .map(({ name }): JsonMember => [name, String(counts.flat(name, from))])
    .filter(used)
}

/** All three while they are measured, also when they are zero [management 4.1.2]. */
function flatWaits(waits: WaitTable, from: Baseline): readonly JsonMember[] {
  const text = (wait: Nanoseconds) => `"${secondsText(wait)}"`
  return [
    ['requestSemaphoreWaitingTime', text(waits.total('request', from))],
    ['dbConnectionPoolWaitingTime', text(waits.total('dbConnectionPool', from))],
    ['transactionSemaphoreWaitingTime', text(waits.total('transaction', from))],
  ]
}

function nestedCounters({ counts, routes }: Measures, full: boolean): string {
  const wanted = full ? () => true : used
  const from = counts.nestedSince
  const number = (column: number): string => String(counts.nested(column, from))
  const missedVerb: JsonMember = ['missedVerb', number(counterColumn('missedVerb'))]
  const member = (row: CounterRow): JsonMember => [row.later ?? row.name, number(counterColumn(row.name))]
  const counters = countersOf('nested')
    .filter(({ name }) => name !== 'missedVerb')
    .map(member)
  const requests: JsonMember[] = []
  for (const { name, index, counted, verbs } of routes.all) {
    if (!counted) continue
    const byVerb = verbs.map((verb): JsonMember => {
      return [verb, number(counts.requestColumn(index, verbIndex(verb)))]
    })
    const shown = byVerb.filter(wanted)
    if (shown.length > 0) requests.push([name, objectText(shown)])
  }
  const members = [...counters, missedVerb].filter(wanted)
  const deprecated = countersOf('deprecated').map(member).filter(wanted)
  if (deprecated.length > 0) members.push(['deprecatedFeatures', objectText(deprecated)])
  if (full || requests.length > 0) members.push(['requests', objectText(requests)])
  return objectText(members)
}

function used([, text]: JsonMember): boolean {
  return text !== '0'
}

/** Numbers with nine fraction digits. Nothing waits for the index of subscriptions, the statistics or the metrics. */
function nestedWaits(waits: WaitTable, from: Baseline): string {
  const none = secondsText(0n)
  return objectText([
    ['request', secondsText(waits.total('request', from))],
    ['dbConnectionPool', secondsText(waits.total('dbConnectionPool', from))],
    ['transaction', secondsText(waits.total('transaction', from))],
    ['subCache', none],
    ['connectionContext', none],
    ['timeStat', none],
    ['metrics', none],
    ['mailbox', secondsText(waits.total('mailbox', from))],
  ])
}

function timing({ timing: { accumulated, last } }: Measures): string {
  const stages = (times: StageTimes) => objectText(Array.from(times, ([stage, time]) => [stage, secondsText(time)]))
  return objectText([
    ['accumulated', stages(accumulated)],
    ['last', stages(last)],
  ])
}

function notifQueue(queue: DeliveryReading): string {
  const average = queue.sentOk === 0 ? 0n : queue.timeInQueue / BigInt(queue.sentOk)
  return objectText([
    ['in', String(queue.in)],
    ['out', String(queue.out)],
    ['reject', String(queue.reject)],
    ['sentOk', String(queue.sentOk)],
    ['sentError', String(queue.sentError)],
    ['timeInQueue', secondsText(queue.timeInQueue)],
    ['avgTimeInQueue', secondsText(average)],
    ['size', String(queue.size)],
  ])
}
