import type { LogWriter } from '../../storage/etcd/log-view.js'
import type { Nanoseconds } from '../../time.js'

/**
 * The read lease: for so long after it has sent its last record that stands an owner of a log may show what it has. It is longer
 * than an election of etcd, and shorter than a lease of a member, so that whoever takes over does not wait for it.
 */
export const readLease_ms = 5000

/** The read lease on a clock that is slower by a hundredth, from the arrival of the owner's last record. */
const leaseMost_ns = 5_050_000_000n

/** The silence after which an owner appends a heartbeat. */
export const heartbeat_ns = 2_000_000_000n

/** The interval at which an owner checks whether a heartbeat is due, and an elected node whether its wait is over. */
export const look_ms = 500

/** How long a replica on a full disk waits before it tries again. */
export const fullDisk_ms = 1000

/**
 * From when on an elected node owns its log, by the monotonic clock: the read lease of the writer before it may last until then.
 *
 * @param before who had written the last record before the election record, if it had not released the log
 * @param node who was elected
 */
export function ownsFrom(before: LogWriter | undefined, node: string): Nanoseconds {
  // A process of the same name had the same folder, which it has let go of; after its election it may have waited for another.
  const mayHoldLease = before !== undefined && (before.node !== node || before.isElection)
  return mayHoldLease ? before.received + leaseMost_ns : 0n
}
