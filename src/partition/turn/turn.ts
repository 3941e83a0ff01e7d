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
 * Logs and applies the changes of a decided turn: when this returns they are durable and can be read. Says whether there was anything to
 * log. When it throws, nothing of the turn stays, unless the fault is a `DiskFault`: then the log decides at the next start. The clocks of
 * subscriptions then have their former moments, except where another partition has moved them since, and the versions have counted the
 * failed commit, so that readers read again what has not changed. Call `publishTurn` next, before anything else is decided or read.
 *
 * @param logged called with the size of the record when it is durable, before the store is written
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
