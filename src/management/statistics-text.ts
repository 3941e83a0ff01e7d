import type { RequestCountTable } from '../measure/count-table.js'
import { verbIndex } from '../measure/counted-routes.js'
import { type CounterRow, counterColumn, countersOf } from '../measure/counters.js'
import type { DeliveryReading } from '../measure/delivery-figures.js'
import type { Measures } from '../measure/measures.js'
import type { StageTimes } from '../measure/timing-table.js'
import type { WaitTable } from '../measure/wait-table.js'
import type { Marked } from '../shared-memory/counter-table.js'
import { type Nanoseconds, secondsText } from '../time.js'
import { type JsonMember, objectText } from './response-forms.js'

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
function flatCounters(counts: RequestCountTable, from: Marked): readonly JsonMember[] {
  return countersOf('flat')
    .map(({ name }): JsonMember => [name, String(counts.flat(name, from))])
    .filter(used)
}

/** All three while they are measured, also when they are zero [management 4.1.2]. */
function flatWaits(waits: WaitTable, from: Marked): readonly JsonMember[] {
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
function nestedWaits(waits: WaitTable, from: Marked): string {
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
