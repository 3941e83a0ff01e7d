import type { Nanoseconds } from '../time.js'
import type { SeenWriter } from './cluster-log.js'

/**
 * For so long after it has sent its last record that stands an owner of a log may show what it has. It is longer than an election of
 * etcd, and shorter than a lease, so that whoever takes over does not wait for it.
 */
export const shown_ms = 5000

/** For so long after its last record came an owner may still show what it has, on a clock that is slower by a hundredth. */
const mayShow_ns = 5_050_000_000n

/** An owner that has appended nothing for so long appends a record that says it is there. */
export const idle_ns = 2_000_000_000n

/** How often an owner looks whether that is due, and a claimant whether its wait is over. */
export const look_ms = 500

/** How long a copy on a full disk waits. */
export const fullDisk_ms = 1000

/**
 * From when on a claimant owns its log, by the monotonic clock: the writer before it may have shown what it has until then.
 *
 * @param before who had written the last record before the claim, if it had not released the log
 * @param node who has claimed it
 */
export function ownsFrom(before: SeenWriter | undefined, node: string): Nanoseconds {
  // A process of the same name had the same folder, which it has let go of; after its claim it may have waited for another.
  const mayShow = before !== undefined && (before.node !== node || before.isClaim)
  return mayShow ? before.received + mayShow_ns : 0n
}

/** Has a claimant look whether it owns its log: at once, and when its wait is over, which is as soon as updates can be taken again. */
export function lookFrom(from: Nanoseconds, look: () => void): void {
  look()
  const wait_ms = Math.ceil(Number(from - process.hrtime.bigint()) / 1e6)
  if (wait_ms > 0) setTimeout(look, wait_ms).unref()
}
