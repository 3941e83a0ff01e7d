import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { RowOf } from '../../observe/measure/figure-table.js'
import type { replicaFigures } from '../../observe/measure/figures.js'
import { ClockSkew } from '../../storage/etcd/clock-skew.js'
import type { LogWriter } from '../../storage/etcd/log-view.js'
import { type NoticeWrite, noted } from '../../storage/records/notice-write.js'
import type { PartitionStore } from '../../storage/store/partition-store.js'
import type { LogSequence } from '../../storage/wal/record-log.js'
import type { Versions } from '../../threads/shared-memory/versions.js'
import type { Milliseconds } from '../../time.js'
import { type OwnershipChange, Replica, type ReplicaParts, type ReplicaStore } from './replica.js'

export interface PartitionReplicaParts extends Omit<ReplicaParts, 'store' | 'owns'> {
  readonly store: PartitionStore
  readonly versions: Versions
  readonly figures: RowOf<typeof replicaFigures>
  /** Called when this node has come to own the partition, with the epoch, or has ceased to. */
  readonly owns: (epoch: LogSequence | undefined) => void
  /** Called for a notice of another node that is in the outbox. */
  readonly notified: (subscription: SubscriptionId, made: Milliseconds) => void
}

/** The replica of a partition on a node of a cluster, in the partition's thread, whose turns it belongs to. */
export function partitionReplica(parts: PartitionReplicaParts): Replica {
  const replica = new Replica({ ...parts, owns: 'owns the partition', store: replicaStore(parts) })
  replica.begin()
  return replica
}

function replicaStore(parts: PartitionReplicaParts): ReplicaStore {
  const { store, wal, versions, figures, position, owns, node } = parts
  const skew = new ClockSkew()
  let writer: LogWriter | undefined
  return {
    follow: (turns, last) => {
      try {
        const followed = store.follow(turns, last, (all) => versions.begin(all.flatMap(({ entities }) => entities)))
        versions.end()
        for (const { notices } of followed) for (const notice of notices) notify(notice, parts)
      } catch (fault) {
        versions.end()
        throw fault
      }
      return undefined
    },
    pass: (last) => store.pass(last),
    appendEmpty: (record) => wal.appendEmptySync(record),
    applied: (last) => position.applied(last),
    reported: (change) => {
      measure(change, figures)
      if (change.kind === 'elected') owns(change.epoch)
      else if (change.kind === 'lost') owns(undefined)
    },
    viewed: (view) => {
      if (view.writer === undefined || view.writer === writer || view.writer.node === node) return
      writer = view.writer
      const skew_ms = skew.took(writer.dated_ms, Date.now())
      if (skew_ms !== undefined) figures.put('skew_ms', Math.round(skew_ms))
    },
  }
}

/** Moves the clocks of this node for notices of another one, so that throttling continues when this node is elected. */
function notify(notice: NoticeWrite, { notified }: Pick<PartitionReplicaParts, 'notified'>): void {
  const { ids, made } = noted(notice)
  for (const id of ids) notified(id, made)
}

function measure(change: OwnershipChange, figures: PartitionReplicaParts['figures']): void {
  if (change.kind === 'elected') {
    figures.add(change.from > 0n ? 'elections.takeover' : 'elections.handover')
    figures.put('skew_ms', 0)
  } else if (change.kind === 'lost' && change.why === 'fenced') figures.add('lost')
}
