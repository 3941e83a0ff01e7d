import { collectDefaultMetrics, Registry } from 'prom-client'
import type { BucketReading } from '../../observe/measure/buckets.js'
import type { ComputedName, FigureList, Figures, Metric } from '../../observe/measure/figure.js'
import type { FigureTable, LabelledRow, Labels, Sample } from '../../observe/measure/figure-table.js'
import { processFigures } from '../../observe/measure/figures.js'

/** The type of the text below [management 7]. */
export const metricContentType = 'text/plain; version=0.0.4; charset=utf-8'

/** The samples of a figure: a number for one without labels, undefined for none. */
type Shown = number | undefined | readonly Sample[]

/** The values of the figures of a list that no table has. */
type ComputedValues<All extends Figures> = Readonly<Record<ComputedName<All>, Shown>>

/** The metrics of a list as Prometheus text, each with its samples as they are when it is called. */
export type ReadMetrics = () => Promise<readonly string[]>

/** The metrics of a list: those of a table from these rows, or added up over all of them, and those that are computed. */
export function metricsOf<All extends Figures>(
  list: FigureList<All>,
  compute: () => ComputedValues<All> | Promise<ComputedValues<All>>,
  table?: FigureTable<All>,
  rows?: readonly LabelledRow[],
): ReadMetrics {
  return async () => {
    const values = new Map(Object.entries<Shown>(await compute()))
    for (const [name, samples] of table?.samples(rows) ?? []) values.set(name, samples)
    return Object.entries(list.all).flatMap(([name, { shown }]) =>
      shown === undefined ? [] : [metricText(shown, samplesOf(values.get(name)))],
    )
  }
}

/** The text of all lists. */
export async function textOf(lists: readonly ReadMetrics[]): Promise<string> {
  const texts = await Promise.all(lists.map((read) => read()))
  return `${texts.flat().join('\n\n')}\n`
}

function samplesOf(shown: Shown): readonly Sample[] {
  if (shown === undefined) return []
  return typeof shown === 'number' ? [{ labels: {}, value: shown }] : shown
}

/** One metric and its samples. */
function metricText({ type, name, help }: Omit<Metric, 'labels'>, samples: readonly Sample[]): string {
  const lines = samples.flatMap(({ labels, value }) =>
    typeof value === 'number' ? [sampleText(name, labels, value)] : histogramLines(name, labels, value),
  )
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n')
}

function histogramLines(name: string, labels: Labels, { bounds, counts, sum }: BucketReading): readonly string[] {
  return [
    ...counts.map((count, bucket) => {
      return sampleText(`${name}_bucket`, { ...labels, le: String(bounds[bucket] ?? '+Inf') }, count)
    }),
    sampleText(`${name}_sum`, labels, sum),
    sampleText(`${name}_count`, labels, counts.at(-1) ?? 0),
  ]
}

function sampleText(name: string, labels: Labels, value: number): string {
  const shown = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${shown.length === 0 ? '' : `{${shown.join(',')}}`} ${value}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

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
