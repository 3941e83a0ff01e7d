import type { Alarms } from '../log/alarms.js'

/** How often the partitions' state is looked at. */
const look_ms = 250

/**
 * Raises the alarm of storage while a partition has no room, and releases it when it has [management 10.7]; until the
 * function that it gives is called.
 */
export function watchStorage(partitions: number, isFull: (partition: number) => boolean, alarms: Alarms): () => void {
  const full = new Set<number>()
  const look = (): void => {
    for (let partition = 0; partition < partitions; partition += 1) {
      if (isFull(partition) === full.has(partition)) continue
      if (full.delete(partition)) alarms.release('DatabaseError', `partition ${partition}`)
      else {
        full.add(partition)
        alarms.raise('DatabaseError', `partition ${partition}`, `storage full in partition ${partition}`)
      }
    }
  }
  const timer = setInterval(look, look_ms).unref()
  return () => clearInterval(timer)
}
