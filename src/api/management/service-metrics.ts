import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ApiRequest, ApiResponse, Operation, Resource, Use } from '../../broker/operations/api.js'
import { shortForm } from '../../broker/operations/response.js'
import { InTurn, SharedTurns } from '../../in-turn.js'
import { lineContextOf } from '../../observe/log/log.js'
import type { Measures } from '../../observe/measure/measures.js'
import { type PackedCounts, unpacked } from '../../observe/measure/packed-counts.js'
import { addCounts, noCounts, type ServiceCount, type Sums } from '../../observe/measure/service-metrics.js'
import { err, ok } from '../../result.js'
import { inSlices, LongText, type Steps } from '../../slices.js'
import { logChange, type ManagementParts } from './parts.js'

/** The metrics as they are shown, and of how many front ends. */
interface Shown {
  readonly text: string
  readonly frontEnds: number
}

/** In characters: to send a longer text takes milliseconds, so each has a turn of the event loop of its own. */
const long = 64 * 1024

/**
 * Metrics by service and subservice [management 6.2]. There may be tens of thousands of them: they are gathered once at a time in each front
 * end, for all who have asked by then.
 */
export function metricsResources({ measures, peers, log }: ManagementParts): readonly Resource[] {
  /** Counts that come too late for this reply are given back, so that the next reply has them. */
  const late = (part: readonly PackedCounts[]) => void inSlices(givenBack(measures, part))
  const show = async (reset: boolean): Promise<Shown> => {
    const parts = await peers.gather('services', { reset }, reset ? late : undefined)
    return { text: await inSlices(metricsText(parts.flat())), frontEnds: parts.length }
  }
  const gatherings = new SharedTurns(() => show(false))
  const sendings = new InTurn()

  function taken(request: ApiRequest, reset: boolean, frontEnds: number): void {
    log.trace('metrics', reset ? 'taken and reset' : 'taken', { frontEnds }, lineContextOf(request))
    if (reset) logChange(log, request, 'metrics reset')
  }

  async function get(request: ApiRequest): Promise<ApiResponse> {
    const reset = isReset(request.parameters)
    const { text, frontEnds } = await (reset ? gatherings.alone(() => show(true)) : gatherings.shared())
    taken(request, reset, frontEnds)
    if (text.length > long) await sendings.run(nextTurn)
    // What was reset is not there to be asked for again.
    return { status: 200, body: text, isCounted: !reset }
  }

  async function remove(request: ApiRequest): Promise<ApiResponse> {
    const parts = await gatherings.alone(() => peers.gather('services', { reset: true }))
    taken(request, true, parts.length)
    return { status: 204 }
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
        GET: { ...unlessDisabled('read', get), changes: isReset },
        DELETE: unlessDisabled('write', remove),
      },
    },
  ]
}

function* givenBack({ services }: Pick<Measures, 'services'>, part: readonly PackedCounts[]): Steps<void> {
  for (const piece of part) {
    services.giveBack(unpacked(piece))
    yield
  }
}

/** Only the value `true` resets. */
function isReset(parameters: ReadonlyMap<string, string>): boolean {
  return parameters.get('reset') === 'true'
}

/** The counts by service and subservice with their sums, in steps: each front end may have as many as there is room for. */
export function* metricsText(counts: readonly PackedCounts[]): Steps<string> {
  const services = new Map<string, ServiceSums>()
  const all = new ServiceSums()
  for (const piece of counts)
    for (const count of unpacked(piece)) {
      all.add(count)
      if (count.service !== undefined) summed(services, count.service, () => new ServiceSums()).add(count)
      yield
    }
  const texts = new LongText()
  for (const [service, sums] of services) texts.push(`${JSON.stringify(service)}:${yield* sums.text()}`)
  return `{"services":{${texts.joined}},"sum":${yield* all.text()}}`
}

/** The counts of a service, or of all of them, by subservice; those without a subservice are in the sum only. */
class ServiceSums {
  readonly #subservices = new Map<string, Sums>()
  readonly #sum = noCounts()

  add(count: ServiceCount): void {
    addCounts(this.#sum, count)
    if (count.subservice !== undefined) addCounts(summed(this.#subservices, count.subservice, noCounts), count)
  }

  *text(): Steps<string> {
    const texts = new LongText()
    for (const [subservice, sums] of this.#subservices) {
      texts.push(`${JSON.stringify(subservice)}:${sumsText(sums)}`)
      yield
    }
    return `{"subservs":{${texts.joined}},"sum":${sumsText(this.#sum)}}`
  }
}

function summed<Sum>(sums: Map<string, Sum>, key: string, none: () => Sum): Sum {
  const sum = sums.get(key) ?? none()
  sums.set(key, sum)
  return sum
}

/** Metrics that are zero are not shown. */
function sumsText(sums: Sums): string {
  const { transactions, duration_ns } = sums
  const metrics = {
    incomingTransactions: transactions,
    incomingTransactionRequestSize: sums.request_bytes,
    incomingTransactionResponseSize: sums.response_bytes,
    incomingTransactionErrors: sums.errors,
    serviceTime: transactions === 0 ? 0 : Math.round(duration_ns / transactions) / 1e9,
    outgoingTransactions: sums.sent,
    outgoingTransactionRequestSize: sums.sent_bytes,
    outgoingTransactionResponseSize: sums.sentResponse_bytes,
    outgoingTransactionErrors: sums.sentErrors,
  }
  return JSON.stringify(Object.fromEntries(Object.entries(metrics).filter(([, value]) => value !== 0)))
}
