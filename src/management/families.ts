import { type Metric, Registry } from 'prom-client'
import type { BucketReading } from '../measure/buckets.js'

export type Labels = Readonly<Record<string, string>>

/** One line of a Prometheus text. */
export interface Sample {
  readonly labels: Labels
  readonly value: number
  /** The name of the line where it is not that of the family. */
  readonly metricName?: string
}

type Samples = readonly Sample[] | Promise<readonly Sample[]>

/** A metric that is read, mostly from shared memory, when somebody asks for it. */
export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly values: () => Samples
}

export function counter(name: string, help: string, values: () => Samples): Family {
  return { name, help, type: 'counter', values }
}

export function gauge(name: string, help: string, values: () => Samples): Family {
  return { name, help, type: 'gauge', values }
}

export function histogram(
  name: string,
  help: string,
  readings: () => readonly (readonly [Labels, BucketReading])[],
): Family {
  const values = () => readings().flatMap(([labels, reading]) => bucketSamples(name, labels, reading))
  return { name, help, type: 'histogram', values }
}

/** One sample without labels. */
export function plain(value: number): readonly Sample[] {
  return [{ labels: {}, value }]
}

/**
 * Families for prom-client to render. Its own metrics hold numbers of this thread; all that it needs of one is a name
 * and a `get`, which its type does not say.
 */
export function registryOf(families: readonly Family[]): Registry {
  const registry = new Registry()
  for (const { name, help, type, values } of families) {
    const metric = { name, help, type, get: async () => ({ name, help, type, values: await values() }) }
    registry.registerMetric(metric as unknown as Metric)
  }
  return registry
}

function bucketSamples(name: string, labels: Labels, { bounds, counts, sum }: BucketReading): readonly Sample[] {
  const buckets = counts.map((value, bucket): Sample => {
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(bounds[bucket] ?? '+Inf') }, value }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: counts.at(-1) ?? 0 },
  ]
}
