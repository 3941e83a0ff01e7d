import autocannon from 'autocannon'
import type { LoadResult, LoadTask } from './load.js'
import { firstFresh, fresh } from './request.js'

/**
 * The same load by autocannon, as a second opinion on our own generator. It can not send a new body each time without
 * paying more for it than for the request, so its requests all have the same numbers, and it checks no NGSI codes.
 */
export async function loadWithAutocannon(task: LoadTask): Promise<LoadResult> {
  const waits_ms: number[] = []
  const [request] = task.requests
  if (request === undefined) throw new Error('a load needs requests')
  const options: autocannon.Options = {
    url: task.url + request.path,
    method: request.verb,
    headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
    connections: task.connections,
    duration: task.duration_s,
    sampleInt: 50, // The load ends with a sample: the default of one second would round the duration up to it.
    ...(request.body === undefined ? {} : { body: request.body.replaceAll(fresh, String(firstFresh)) }),
  }
  if (task.warmUp_s > 0) await autocannon({ ...options, duration: task.warmUp_s })
  const processor = process.cpuUsage()
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(options, (error, done) => (error ? reject(error) : resolve(done)))
    // Its own percentiles are whole milliseconds, which says nothing of a server that answers in a tenth of one.
    instance.on('response', (_client, _status, _bytes, wait_ms) => waits_ms.push(wait_ms))
  })
  const { user, system } = process.cpuUsage(processor)
  waits_ms.sort((a, b) => a - b)
  const percentile = (part: number) => waits_ms[Math.ceil(waits_ms.length * part) - 1] ?? 0
  return {
    sent: result.requests.sent,
    answered: result.requests.total,
    rate_per_s: result.requests.total / result.duration,
    p50_ms: percentile(0.5),
    p90_ms: percentile(0.9),
    p99_ms: percentile(0.99),
    max_ms: percentile(1),
    generator_cpu_ratio: (user + system) / 1e6 / result.duration,
    failures: {
      status: result.non2xx,
      refused: 0,
      timedOut: result.timeouts,
      disconnected: result.errors - result.timeouts,
    },
  }
}
