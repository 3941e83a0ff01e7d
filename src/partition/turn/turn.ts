import type { TurnChanges } from '../../storage/records/store.js'
import type { PartitionStore } from '../../storage/store/partition-store.js'
import type { FlushTime } from '../../storage/wal/record-log.js'
import type { Versions } from '../../threads/shared-memory/versions.js'
import type { DecidingParts } from './decide.js'

/**
 * A turn has three steps. `decideTurn` computes the changes of a batch and writes nothing. `commitTurn` appends them to the log
 * and then applies them to the store. `endTurn` makes them known. Replies leave after that: what they say is in the log, with the
 * notices that the changes cause [subscriptions 5.2], and durable there unless `-writeConcern` is 0.
 */
export interface TurnParts extends DecidingParts {
  readonly store: PartitionStore
  /** Tells readers in other threads which of their cached entities may have changed. */
  readonly versions: Versions
}

/**
 * Logs and applies the changes of a decided turn: when this returns they are in the log and can be read. Says whether there was anything to
 * log. When it throws, nothing of the turn stays, unless the fault is a `DiskFault`: then the log decides at the next start. The clocks of
 * subscriptions then have their former moments, except where another partition has moved them since, and the versions have counted the
 * failed commit, so that readers read again what has not changed. Call `endTurn` next, before anything else is decided or read.
 *
 * @param logged called with the size of the record when it is in the log, durable unless it is flushed soon, before anybody can see the changes
 */
export function commitTurn(
  { store, matcher, versions }: TurnParts,
  changes: TurnChanges,
  logged = (_bytes: number, _flush: FlushTime): void => {},
): boolean {
  try {
    // Some readers see the transaction before it is over: none of them may show its cache any more.
    return store.commit(changes, { logged, applying: () => versions.begin(changes.entities) })
  } catch (fault) {
    versions.end()
    matcher.undo()
    throw fault
  }
}

/** The work behind the commit. A fault in it does not undo the turn, whose commands must not be carried out again. */
export function endTurn({ matcher, versions }: TurnParts): void {
  versions.end()
  matcher.commit()
}
