import { statfs } from 'node:fs/promises'
import { backupResults, type LastBackup } from '../measure/backup-table.js'
import type { Measures } from '../measure/measures.js'
import type { StorageReading } from '../measure/storage-table.js'
import type { WaitKind } from '../measure/waits.js'
import type { Labels, MetricRegistry, ReadBuckets, Sample } from './metric-registry.js'
import type { ManagementParts } from './parts.js'

type PartitionHistogram = 'commitDurations' | 'commitOperations' | 'logDurations' | 'checkpointDurations' | 'loopDelays'

/** The partitions: their mailboxes, turns, logs, data and threads [management 7]. */
export function addPartitionMetrics(metrics: MetricRegistry, measures: Measures): void {
  const { storageTable } = measures
  const partitions = partitionLabels(measures)
  const each = (value: (reading: StorageReading) => number) => () =>
    partitions.map(([labels, partition]): Sample => ({ labels, value: value(storageTable.reading(partition)) }))
  const counter = (name: string, help: string, value: (reading: StorageReading) => number) =>
    metrics.counter(name, help, ['partition'], each(value))
  const gauge = (name: string, help: string, value: (reading: StorageReading) => number) =>
    metrics.gauge(name, help, ['partition'], each(value))
  const histogram = (name: string, help: string, part: PartitionHistogram) =>
    metrics.histogram(name, help, () =>
      partitions.map(([labels, partition]) => [labels, storageTable.reading(partition)[part]] as const),
    )

  metrics.gauge('rigel_mailbox_depth', 'Commands that wait in the mailbox of a partition', ['partition'], () =>
    partitions.map(([labels, partition]) => ({ labels, value: measures.mailboxDepthOf(partition) })),
  )
  counter('rigel_storage_commits_total', 'Turns committed', (reading) => reading.commitDurations.counts.at(-1) ?? 0)
  histogram(
    'rigel_storage_commit_duration_seconds',
    'Time to log, sync and apply the changes of a turn',
    'commitDurations',
  )
  histogram('rigel_storage_commit_operations', 'Commands that one turn carried out', 'commitOperations')
  histogram(
    'rigel_log_append_duration_seconds',
    'Time until the record of a turn was in the log and on disk',
    'logDurations',
  )
  counter(
    'rigel_log_appended_bytes_total',
    'Size of the records appended to the log',
    (reading) => reading.logged_bytes,
  )
  histogram('rigel_checkpoint_duration_seconds', 'Time to take a checkpoint', 'checkpointDurations')
  gauge('rigel_storage_used_bytes', 'Size of the data of a partition', (reading) => reading.used_bytes)
  gauge(
    'rigel_storage_map_bytes',
    'What the data of a partition may grow to (-dbSizeMax)',
    (reading) => reading.map_bytes,
  )
  gauge('rigel_storage_left_bytes', 'What the data of a partition may still grow by before -dbSizeMax', leftOf)
  gauge('rigel_storage_full', '1 while a partition refuses updates for want of room, else 0', (reading) =>
    reading.full ? 1 : 0,
  )
  gauge('rigel_entities', 'Entities stored', (reading) => reading.entities)
  counter('rigel_entities_expired_total', 'Entities removed because they had expired', (reading) => reading.expired)
  counter(
    'rigel_worker_restarts_total',
    'How often the thread of a partition was replaced because it had died',
    (reading) => reading.restarts,
  )
  metrics.counter(
    'rigel_storage_damaged_total',
    'Times that a damaged record was met in the data folder',
    [],
    () => measures.damages,
  )
  histogram(
    'rigel_worker_event_loop_delay_seconds',
    'How late the event loop of a partition was, looked at ten times a second',
    'loopDelays',
  )
}

/** The disk of the data, as it is when it is asked for. */
export function addDiskMetrics(metrics: MetricRegistry, { path, keepFree_bytes }: ManagementParts['disk']): void {
  const free_bytes = async (): Promise<number> => {
    const { bavail, bsize } = await statfs(path)
    return bavail * bsize
  }
  metrics.gauge('rigel_disk_free_bytes', 'Free space on the disk of the data folder', [], free_bytes)
  metrics.gauge(
    'rigel_disk_left_bytes',
    'What may still be written to the disk before updates are refused: the free space without -dbFreeMin',
    [],
    async () => Math.max(0, (await free_bytes()) - keepFree_bytes),
  )
}

/** Backups of this process: when there was none yet, only their counts are shown [management 7]. */
export function addBackupMetrics(metrics: MetricRegistry, { backups }: Measures): void {
  const ofLast = (value: (last: LastBackup) => number) => (): number | readonly Sample[] => {
    const { last } = backups
    return last === undefined ? [] : value(last)
  }
  metrics.counter(
    'rigel_backups_total',
    'Backups that were asked for: complete; failed, given up or of no use; refused, as another one was under way, the partitions did not stand still, or a node of a cluster could not confirm that it has everything',
    ['result'],
    () => backupResults.map((result) => ({ labels: { result }, value: backups.count(result) })),
  )
  metrics.gauge(
    'rigel_backup_last_success_timestamp_seconds',
    'When the last complete backup was read, in seconds of Unix time; only when there was one since the start',
    [],
    ofLast(({ end }) => end / 1000),
  )
  metrics.gauge(
    'rigel_backup_last_duration_seconds',
    'How long the last complete backup took; only when there was one since the start',
    [],
    ofLast(({ duration_ms }) => duration_ms / 1000),
  )
  metrics.gauge(
    'rigel_backup_last_size_bytes',
    'Size of the files in the last complete backup; only when there was one since the start',
    [],
    ofLast(({ bytes }) => bytes),
  )
}

/** Gives the names of these metrics, which are shown only while the waits are measured. */
export function addWaitMetrics(metrics: MetricRegistry, measures: Measures): ReadonlySet<string> {
  const partitions = partitionLabels(measures)
  const byPartition = (kind: WaitKind) => () =>
    partitions.map(([labels, partition]) => [labels, measures.waits.buckets(kind, partition)] as const)
  const only = '; only while waits are measured (-mutexTimeStat)'
  const waits: readonly (readonly [string, string, ReadBuckets])[] = [
    [
      'rigel_request_semaphore_wait_seconds',
      `Waits of requests for a permit to work${only}`,
      () => [[{}, measures.waits.buckets('request')]],
    ],
    [
      'rigel_db_connection_pool_wait_seconds',
      `Waits for a read handle of a partition${only}`,
      byPartition('dbConnectionPool'),
    ],
    [
      'rigel_transaction_semaphore_wait_seconds',
      `Waits for the write transaction of a partition, while the turn before is under way${only}`,
      byPartition('transaction'),
    ],
    [
      'rigel_mailbox_wait_seconds',
      `Waits in the mailbox of a partition until its thread takes the command out${only}`,
      byPartition('mailbox'),
    ],
  ]
  for (const [name, help, read] of waits) metrics.histogram(name, help, read)
  return new Set(waits.map(([name]) => name))
}

function leftOf({ used_bytes, map_bytes }: StorageReading): number {
  return Math.max(0, map_bytes - used_bytes)
}

function partitionLabels({ threads }: Measures): readonly (readonly [Labels, number])[] {
  return Array.from({ length: threads.partitions }, (_, partition) => [{ partition: String(partition) }, partition])
}
