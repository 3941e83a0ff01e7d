import { verbs } from '../measure/counted-routes.js'
import type { Measures } from '../measure/measures.js'
import { rejections } from '../measure/requests.js'
import { errorCodes, forwardResults, statusCodes } from '../measure/traffic-table.js'
import type { MetricRegistry, Sample } from './metric-registry.js'

/** The requests of clients, and those to context providers that they cause [management 7]. */
export function addTrafficMetrics(metrics: MetricRegistry, measures: Measures): void {
  addRequests(metrics, measures)
  addAdmission(metrics, measures)
  addForwards(metrics, measures)
}

function addRequests(metrics: MetricRegistry, measures: Measures): void {
  const { traffic } = measures
  /** What was requested at least once; routes are known only when all tables are there. */
  const requested = () =>
    measures.routes.all.flatMap(({ name, index }) =>
      verbs.flatMap((method, verb) => {
        const codes = statusCodes.map((code, column) => ({ code, value: traffic.responses(index, verb, column) }))
        const used = codes.filter(({ value }) => value > 0)
        return used.length === 0 ? [] : [{ route: name, index, method, verb, codes: used }]
      }),
    )
  const requestedRoutes = () => [...new Map(requested().map(({ route, index }) => [route, index]))]
  metrics.counter(
    'rigel_http_requests_total',
    'Requests answered, by HTTP status; for errors of NGSIv1, whose status is nearly always 200, see rigel_ngsi_errors_total',
    ['method', 'route', 'code'],
    () =>
      requested().flatMap(({ method, route, codes }) =>
        codes.map(({ code, value }): Sample => ({ labels: { method, route, code }, value })),
      ),
  )
  metrics.counter(
    'rigel_ngsi_errors_total',
    'Errors in answers to clients of NGSIv1 and NGSIv2: each code in the body counts, one for each element that failed; where the body has none, the HTTP status',
    ['method', 'route', 'code'],
    () =>
      requested().flatMap(({ method, route, index, verb }) =>
        errorCodes.flatMap((code, column): readonly Sample[] => {
          const value = traffic.errors(index, verb, column)
          return value === 0 ? [] : [{ labels: { method, route, code }, value }]
        }),
      ),
  )
  metrics.histogram('rigel_http_request_duration_seconds', 'Time from the head of a request to its answer', () =>
    requested().map(({ method, route, index, verb }) => [{ method, route }, traffic.durations(index, verb)]),
  )
  metrics.histogram('rigel_http_request_size_bytes', 'Sizes of the payloads of requests', () =>
    requestedRoutes().map(([route, index]) => [{ route }, traffic.requestSizes(index)]),
  )
  metrics.histogram('rigel_http_response_size_bytes', 'Sizes of the payloads of answers', () =>
    requestedRoutes().map(([route, index]) => [{ route }, traffic.responseSizes(index)]),
  )
}

function addAdmission(metrics: MetricRegistry, { traffic }: Measures): void {
  metrics.gauge('rigel_http_requests_in_flight', 'Requests that have begun and have no answer yet', [], () =>
    traffic.gauge('inFlight'),
  )
  metrics.gauge('rigel_http_connections', 'Open connections of clients', [], () => traffic.gauge('connections'))
  metrics.counter(
    'rigel_http_rejected_total',
    'Requests and connections turned away before their operation, by reason; overload and memory mean that more arrives than can be done',
    ['reason'],
    () => rejections.map((reason) => ({ labels: { reason }, value: traffic.rejections(reason) })),
  )
  metrics.gauge(
    'rigel_request_semaphore_permits',
    'Permits to work on a request (-reqPoolSize), free and taken',
    ['state'],
    () => [
      { labels: { state: 'free' }, value: traffic.gauge('permitsFree') },
      { labels: { state: 'taken' }, value: traffic.gauge('permitsTaken') },
    ],
  )
  metrics.gauge('rigel_request_semaphore_queue', 'Requests that wait for a permit', [], () =>
    traffic.gauge('permitsQueued'),
  )
  metrics.gauge('rigel_query_queue_depth', 'Queries that wait for a query thread, over all front ends', [], () =>
    traffic.gauge('queriesWaiting'),
  )
  metrics.gauge('rigel_queries_running', 'Queries that query threads are working on', [], () =>
    traffic.gauge('queriesRunning'),
  )
}

function addForwards(metrics: MetricRegistry, { traffic }: Measures): void {
  metrics.counter(
    'rigel_forwarded_requests_total',
    'Requests passed on to context providers, by what became of them; all but answered and given_up, whose client had gone, are failures',
    ['result'],
    () => forwardResults.map((result) => ({ labels: { result }, value: traffic.forwards(result) })),
  )
  metrics.histogram(
    'rigel_forwarded_request_duration_seconds',
    'Time that requests passed on to context providers took, waits for a connection included',
    () => [[{}, traffic.forwardDurations]],
  )
}
