import { collectDefaultMetrics, Registry } from 'prom-client'
import { processFigures } from '../measure/figures.js'
import { metricsOf, textOf } from './metric-text.js'

/** Gauges of prom-client that are named like counters; each is the sum of one that is there as well. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/**
 * Begins to collect what prom-client knows of Node and of the process; the function gives it as Prometheus text
 * [management 7]. `dropped`: how many lines of the log were dropped, which only the main thread knows.
 */
export function processMetrics(dropped: () => number): () => Promise<string> {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
  const own = metricsOf(processFigures, () => ({ droppedLines: dropped() }))
  return async () => `${await registry.metrics()}\n${await textOf([own])}`
}
