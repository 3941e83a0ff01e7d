import { DiskFault } from '../../faults.js'
import type { PartitionStore, TurnChanges } from '../../storage/records/store.js'
import { appendFault, type LogSequence } from '../../storage/wal/record-log.js'
import type { Versions } from '../../threads/shared-memory/versions.js'
import type { DecidingParts } from './decide.js'

/**
 * A turn has three steps. `decideTurn` computes the changes of a batch and writes nothing. `commitTurn` appends them to the log
 * and, once they are durable, applies them to the store. `publishTurn` makes them known. Replies leave after that: what they say
 * is durable, with the notices that the changes cause [subscriptions 5.2].
 */
export interface TurnParts extends DecidingParts {
  readonly store: PartitionStore
  /** Tells readers in other threads which of their cached entities may have changed. */
  readonly versions: Versions
}

/**
 * Logs and applies what was decided: all of it is on disk, and can be read, when this returns. Says whether there was anything to log. When
 * it throws, nothing of it stays, unless the fault is a `DiskFault`: then the log decides at the next start. The matcher has given back the moments that
 * it had claimed, but for those that another partition has overwritten since, and a commit that was begun has ended: its
 * versions have counted up, so that readers read again what has not changed. Has to be followed by `publishTurn`, before
 * anything else is decided or read.
 *
 * @param logged called with the size of the record when it is on disk, and only the store is left
 */
export function commitTurn(
  { store, matcher, versions }: TurnParts,
  changes: TurnChanges,
  logged = (_bytes: number) => {},
): boolean {
  try {
    const turn = store.prepare(changes)
    if (turn === undefined) return false
    const sequence = appended(store, turn.bytes)
    orRetracted(store.wal, sequence, () => {
      logged(turn.bytes.length)
      // Some readers see the transaction before `apply` returns: none of them may show its cache any more.
      versions.begin(changes.entities)
      turn.apply(sequence)
    })
    return true
  } catch (fault) {
    versions.end()
    matcher.undo()
    throw fault
  }
}

function appended(store: PartitionStore, bytes: Uint8Array): LogSequence {
  const outcome = store.wal.appendSync(store.wal.last, bytes)
  if (outcome.ok) return outcome.value
  if (outcome.error.kind === 'diskFull') store.logWasFull()
  throw appendFault(outcome.error)
}

/** A record that is not applied is retracted from the log, unless the disk has failed: then the log decides at the next start. */
function orRetracted(wal: PartitionStore['wal'], sequence: LogSequence, apply: () => void): void {
  try {
    apply()
  } catch (fault) {
    if (!(fault instanceof DiskFault)) wal.retract(sequence)
    throw fault
  }
}

/** The work behind the commit. A fault in it does not undo the turn, whose commands must not be carried out again. */
export function publishTurn({ matcher, versions }: TurnParts): void {
  versions.end()
  matcher.commit()
}
