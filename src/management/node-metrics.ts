import type { NodeStanding } from '../measure/cluster-table.js'
import type { CopyReading } from '../measure/copy-table.js'
import type { Measures } from '../measure/measures.js'
import { copyLag_records } from '../measure/node-statistics.js'
import type { MetricRegistry, Sample } from './metric-registry.js'

/** One of several nodes, its copies, and its work with others; nothing of a broker that is none. */
export function addNodeMetrics(metrics: MetricRegistry, measures: Measures, applied: readonly (() => number)[]): void {
  if (measures.cluster.standing === undefined) return
  addStanding(metrics, measures)
  const copies = applied.map((_, partition) => () => measures.copies.reading(partition))
  addCopies(metrics, copies, applied)
  metrics.histogram(
    'rigel_cluster_remote_batch_duration_seconds',
    'Time until another node answered a batch of commands for a partition that it owns, or its connection broke',
    () => [[{}, measures.cluster.batchDurations]],
  )
}

function addStanding(metrics: MetricRegistry, { cluster }: Measures): void {
  const gauge = (name: string, help: string, value: (standing: NodeStanding) => number): void =>
    metrics.gauge(name, help, [], () => (cluster.standing === undefined ? [] : value(cluster.standing)))
  gauge('rigel_cluster_nodes', 'Nodes of the cluster, whether they run or not', ({ listed }) => listed)
  gauge('rigel_cluster_members', 'Nodes that have a lease, as far as this one knows', ({ members }) => members)
  gauge('rigel_cluster_has_lease', '1 while this node has a lease, else 0', ({ hasLease }) => (hasLease ? 1 : 0))
  gauge('rigel_cluster_partitions_owned', 'Partitions that this node owns', ({ owned }) => owned)
  gauge(
    'rigel_cluster_partitions_unowned',
    'Partitions that no node is known to own, for more than a second',
    ({ unowned }) => unowned,
  )
}

function addCopies(
  metrics: MetricRegistry,
  copies: readonly (() => CopyReading)[],
  applied: readonly (() => number)[],
): void {
  const sum = (value: (reading: CopyReading) => number): number => copies.reduce((all, read) => all + value(read()), 0)
  const each = (value: (reading: CopyReading, partition: number) => number | undefined) => (): readonly Sample[] =>
    copies.flatMap((read, partition) => {
      const shown = value(read(), partition)
      return shown === undefined ? [] : { labels: { partition: String(partition) }, value: shown }
    })
  metrics.counter(
    'rigel_cluster_claims_total',
    'Partitions that this node came to own: released by the owner before (handover), or not (takeover)',
    ['kind'],
    () => [
      { labels: { kind: 'handover' }, value: sum(({ handedOver }) => handedOver) },
      { labels: { kind: 'takeover' }, value: sum(({ takenOver }) => takenOver) },
    ],
  )
  metrics.counter(
    'rigel_cluster_lost_total',
    'Partitions that another node took over while this one owned them',
    [],
    () => sum(({ lost }) => lost),
  )
  metrics.gauge(
    'rigel_cluster_copy_lag_records',
    'Records of the log of a partition that its copy on this node does not show yet',
    ['partition'],
    each((reading, partition) => copyLag_records(reading, applied[partition]?.() ?? 0)),
  )
  metrics.gauge(
    'rigel_cluster_checkpoint_timestamp_seconds',
    'When the last checkpoint of a partition was taken on this node, in seconds of Unix time; only when there was one since the start',
    ['partition'],
    each(({ checkpoint }) => (checkpoint === 0 ? undefined : checkpoint / 1000)),
  )
  metrics.gauge(
    'rigel_cluster_clock_skew_seconds',
    'How far the clock of this node is ahead of that of the owner of a partition, with the way of a record; negative: behind',
    ['partition'],
    each(({ skew_ms }) => skew_ms / 1000),
  )
}
