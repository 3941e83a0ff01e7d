import type { EngineReading, EngineTable } from '../measure/engine-table.js'
import type { MetricRegistry } from './metric-registry.js'

/** The connection to the engine of a cluster; shown only with `-cluster`. */
export function addEngineMetrics(metrics: MetricRegistry, table: EngineTable): void {
  const one = (value: (reading: EngineReading) => number) => () => [{ labels: {}, value: value(table.reading()) }]
  const counter = (name: string, help: string, value: (reading: EngineReading) => number) =>
    metrics.counter(name, help, [], one(value))
  metrics.histogram(
    'rigel_cluster_append_request_duration_seconds',
    'Time until the engine of the cluster answered a request to append records',
    () => [[{}, table.reading().requestDurations]],
  )
  counter(
    'rigel_cluster_appended_records_total',
    'Records in the requests that were answered',
    ({ records }) => records,
  )
  counter(
    'rigel_cluster_append_retries_total',
    'Requests to append records that were not answered in time, and were made again',
    ({ unanswered }) => unanswered,
  )
  counter(
    'rigel_cluster_fenced_total',
    'Records that another process was faster with: a broker that is the only node ends',
    ({ fenced }) => fenced,
  )
  counter(
    'rigel_cluster_neglected_total',
    'Times that the logs could not be truncated, or the engine not be compacted',
    ({ neglected }) => neglected,
  )
  metrics.gauge(
    'rigel_cluster_engine_silent',
    '1 while the engine of the cluster does not answer, else 0',
    [],
    one(({ isSilent }) => (isSilent ? 1 : 0)),
  )
  metrics.gauge(
    'rigel_cluster_engine_full',
    '1 while the engine of the cluster has no room for records, else 0',
    [],
    one(({ isFull }) => (isFull ? 1 : 0)),
  )
}
