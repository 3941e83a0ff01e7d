import type { RootDatabase } from 'lmdb'
import type { WriteWatch } from '../../threads/shared-memory/thread-beats.js'
import type { Key } from '../records/keys.js'

/**
 * Writes in one transaction, and blocks until it is committed. Every write transaction is made here. A thread that stalls or ends inside
 * one holds a lock that blocks all later ones, so `watch` records when it began; commands on a folder pass none. Throws what LMDB throws.
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
