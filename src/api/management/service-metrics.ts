import type { ApiRequest, ApiResponse, Operation, Resource, Use } from '../../broker/operations/api.js'
import { json, shortForm } from '../../broker/operations/response.js'
import { lineContextOf } from '../../observe/log/log.js'
import type { ServiceCount } from '../../observe/measure/service-metrics.js'
import { err, ok } from '../../result.js'
import { logChange, type ManagementParts } from './parts.js'

/** Metrics by service and subservice [management 6.2]. */
export function metricsResources({ measures, peers, log }: ManagementParts): readonly Resource[] {
  /** Counts that come too late for this reply are given back, so that the next reply has them. */
  const late = (part: readonly ServiceCount[]) => measures.services.giveBack(part)

  async function take(request: ApiRequest, reset: boolean, keepsLate: boolean): Promise<readonly ServiceCount[]> {
    const parts = await peers.gather('services', { reset }, keepsLate ? late : undefined)
    log.trace('metrics', reset ? 'taken and reset' : 'taken', { frontEnds: parts.length }, lineContextOf(request))
    if (reset) logChange(log, request, 'metrics reset')
    return parts.flat()
  }

  /** With -disableMetrics there are none to show or to reset. */
  function unlessDisabled(use: Use, work: (request: ApiRequest) => Promise<ApiResponse>): Operation {
    const isDisabled = () => measures.switches.get('disableMetrics') !== 0
    const refusal = err(shortForm(400, 'metrics desactivated'))
    return { use, prepare: (request) => (isDisabled() ? refusal : ok(() => work(request))) }
  }

  return [
    {
      pattern: '/admin/metrics',
      anyCase: false,
      counter: 'metricsRequests',
      operations: {
        GET: {
          ...unlessDisabled('read', async (request) => {
            const reset = isReset(request.parameters)
            return json(metricsShown(await take(request, reset, reset)))
          }),
          changes: isReset,
        },
        DELETE: unlessDisabled('write', async (request) => {
          await take(request, true, false)
          return { status: 204 }
        }),
      },
    },
  ]
}

/** Only the value `true` resets. */
function isReset(parameters: ReadonlyMap<string, string>): boolean {
  return parameters.get('reset') === 'true'
}

/** The counts by service and subservice with their sums. */
export function metricsShown(counts: readonly ServiceCount[]) {
  const services = grouped(counts, ({ service }) => service)
  return {
    services: Object.fromEntries(services.map(([service, those]) => [service, bySubservice(those)])),
    sum: bySubservice(counts),
  }
}

function bySubservice(counts: readonly ServiceCount[]) {
  const subservices = grouped(counts, ({ subservice }) => subservice)
  return {
    subservs: Object.fromEntries(subservices.map(([subservice, those]) => [subservice, sumShown(those)])),
    sum: sumShown(counts),
  }
}

/** The counts by key; those without a key are in the overall sum only. */
function grouped(
  counts: readonly ServiceCount[],
  key: (count: ServiceCount) => string | undefined,
): readonly (readonly [string, readonly ServiceCount[]])[] {
  const groups = new Map<string, ServiceCount[]>()
  for (const count of counts) {
    const name = key(count)
    if (name === undefined) continue
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [count])
    else group.push(count)
  }
  return [...groups]
}

/** Metrics that are zero are not shown. */
function sumShown(counts: readonly ServiceCount[]): Readonly<Record<string, number>> {
  const sum = (value: (count: ServiceCount) => number) => counts.reduce((sofar, count) => sofar + value(count), 0)
  const transactions = sum((count) => count.transactions)
  const average_ns = transactions === 0 ? 0 : Math.round(sum((count) => count.duration_ns) / transactions)
  const metrics = {
    incomingTransactions: transactions,
    incomingTransactionRequestSize: sum((count) => count.request_bytes),
    incomingTransactionResponseSize: sum((count) => count.response_bytes),
    incomingTransactionErrors: sum((count) => count.errors),
    serviceTime: average_ns / 1e9,
    outgoingTransactions: sum((count) => count.sent),
    outgoingTransactionRequestSize: sum((count) => count.sent_bytes),
    outgoingTransactionResponseSize: sum((count) => count.sentResponse_bytes),
    outgoingTransactionErrors: sum((count) => count.sentErrors),
  }
  return Object.fromEntries(Object.entries(metrics).filter(([, value]) => value !== 0))
}
