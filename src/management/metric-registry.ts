import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'
import type { BucketReading } from '../measure/buckets.js'

export type Labels = Readonly<Record<string, string>>

/** One value of a metric. */
export interface Sample {
  readonly labels: Labels
  readonly value: number
}

/** The values of a metric; a number is that of a metric without labels. */
type Reading = number | readonly Sample[]
/** The histograms of a metric by their labels. */
export type ReadBuckets = () => readonly (readonly [Labels, BucketReading])[]
type Read = () => Reading | Promise<Reading>

/** The metrics of a front end, held by prom-client. Each reads its values, mostly from shared memory, when it is shown. */
export class MetricRegistry {
  readonly #registry = new Registry()

  get contentType(): string {
    return this.#registry.contentType
  }

  /** The metrics as Prometheus text, but for those with these names. */
  async text(hidden: ReadonlySet<string>): Promise<string> {
    const shown = this.#registry.getMetricsAsArray().filter(({ name }) => !hidden.has(name))
    const texts = await Promise.all(shown.map(({ name }) => this.#registry.getSingleMetricAsString(name)))
    return `${texts.join('\n\n')}\n`
  }

  /** Adds the metrics of Node and of the process that prom-client has, but for those with these names. */
  addDefaults(hidden: readonly string[]): void {
    collectDefaultMetrics({ register: this.#registry })
    for (const name of hidden) this.#registry.removeSingleMetric(name)
  }

  counter(name: string, help: string, labelNames: readonly string[], read: Read): void {
    const collect = async () => {
      const samples = samplesOf(await read())
      counter.reset()
      for (const { labels, value } of samples) counter.inc(labels, value)
    }
    const counter: Counter = new Counter({ name, help, labelNames, registers: [this.#registry], collect })
  }

  gauge(name: string, help: string, labelNames: readonly string[], read: Read): void {
    const collect = async () => {
      const samples = samplesOf(await read())
      gauge.reset()
      // Without labels a reset makes it 0, which would be a value where there is none.
      if (labelNames.length === 0) gauge.remove({})
      for (const { labels, value } of samples) gauge.set(labels, value)
    }
    const gauge: Gauge = new Gauge({ name, help, labelNames, registers: [this.#registry], collect })
  }

  /**
   * prom-client's own Histogram only takes single observations: it can not be set to buckets that were counted in shared
   * memory. What its registry needs of a metric is a name and a `get`, which its type does not say.
   */
  histogram(name: string, help: string, read: ReadBuckets): void {
    const type = 'histogram'
    const get = async () => {
      const values = read().flatMap(([labels, reading]) => bucketValues(name, labels, reading))
      return { name, help, type, values }
    }
    this.#registry.registerMetric({ name, help, type, get } as unknown as Metric)
  }
}

/** Gauges of prom-client that are named like counters; each is the sum of one that is there as well. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/**
 * Begins to collect the metrics of the process; the function gives them as Prometheus text [management 7]. `dropped`: how
 * many lines of the log were dropped, which only the main thread knows.
 */
export function processMetrics(dropped: () => number): () => Promise<string> {
  const metrics = new MetricRegistry()
  metrics.addDefaults(misnamed)
  metrics.counter(
    'rigel_log_lines_dropped_total',
    'Lines of the log that were dropped because they could not be written fast enough, or because their reader had gone',
    [],
    dropped,
  )
  return () => metrics.text(new Set())
}

function samplesOf(reading: Reading): readonly Sample[] {
  return typeof reading === 'number' ? [{ labels: {}, value: reading }] : reading
}

function bucketValues(name: string, labels: Labels, { bounds, counts, sum }: BucketReading) {
  const buckets = counts.map((value, bucket) => {
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(bounds[bucket] ?? '+Inf') }, value }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: counts.at(-1) ?? 0 },
  ]
}
