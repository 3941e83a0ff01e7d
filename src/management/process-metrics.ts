import { collectDefaultMetrics, Registry } from 'prom-client'

/** Begins to collect the metrics of the process; what it gives tells them as Prometheus text [management 7]. */
export function processMetrics(): () => Promise<string> {
  const register = new Registry()
  collectDefaultMetrics({ register })
  return () => register.metrics()
}
