import type { RootDatabase } from 'lmdb'
import type { WriteWatch } from '../../threads/shared-memory/thread-beats.js'
import type { Key } from '../records/keys.js'

/**
 * Writes in one transaction, and blocks until it is committed. Every write transaction of the broker is made here: a thread that stands
 * still or ends inside of one holds a lock that all later ones wait for, so that somebody has to know since when; a command that does nothing else has nobody. Throws what LMDB throws.
 */
export function writeInTransaction<Result>(
  root: RootDatabase<string, Key>,
  write: () => Result,
  watch: WriteWatch | undefined,
): Result {
  watch?.begun()
  try {
    return root.transactionSync(write)
  } finally {
    watch?.ended()
  }
}
