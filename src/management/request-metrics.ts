import { verbs } from '../measure/counted-routes.js'
import type { Sample } from '../measure/figure-table.js'
import { requestFigures } from '../measure/figures.js'
import type { Measures } from '../measure/measures.js'
import { errorCodes, statusCodes } from '../measure/route-table.js'
import { metricsOf, type ReadMetrics } from './metric-text.js'

/** The requests of clients by route, method and status: only what was requested at least once [management 7]. */
export function requestMetrics(measures: Measures): ReadMetrics {
  const { traffic } = measures
  return metricsOf(requestFigures, () => {
    const requested = requestedOf(measures)
    const routes = [...new Map(requested.map(({ route, index }) => [route, index]))]
    return {
      requests: requested.flatMap(({ method, route, codes }) =>
        codes.map(({ code, value }): Sample => ({ labels: { method, route, code }, value })),
      ),
      errors: requested.flatMap(({ method, route, index, verb }) =>
        errorCodes.flatMap((code, column): readonly Sample[] => {
          const value = traffic.errors(index, verb, column)
          return value === 0 ? [] : [{ labels: { method, route, code }, value }]
        }),
      ),
      durations: requested.map(({ method, route, index, verb }) => {
        return { labels: { method, route }, value: traffic.durations(index, verb) }
      }),
      requestSizes: routes.map(([route, index]) => ({ labels: { route }, value: traffic.requestSizes(index) })),
      responseSizes: routes.map(([route, index]) => ({ labels: { route }, value: traffic.responseSizes(index) })),
    }
  })
}

/** Routes are known only when all tables of resources are there. */
function requestedOf({ routes, traffic }: Measures) {
  return routes.all.flatMap(({ name, index }) =>
    verbs.flatMap((method, verb) => {
      const codes = statusCodes.map((code, column) => ({ code, value: traffic.responses(index, verb, column) }))
      const used = codes.filter(({ value }) => value > 0)
      return used.length === 0 ? [] : [{ route: name, index, method, verb, codes: used }]
    }),
  )
}
