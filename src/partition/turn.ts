import type { Versions } from '../shared-memory/versions.js'
import type { DecidingParts } from './decide.js'
import type { PartitionStore, TurnChanges } from './store.js'

/**
 * A turn has three steps. `decideTurn` makes changes of a batch and writes nothing; `commitTurn` applies them;
 * `publishTurn` makes them known. The replies leave after that: what they say is on disk, with the notices that the
 * changes cause [subscriptions 5.2].
 */
export interface TurnParts extends DecidingParts {
  readonly store: PartitionStore
  /** Tells readers in other threads which of the entities that they have read may have changed. */
  readonly versions: Versions
}

/**
 * Applies what was decided: all of it is on disk when this returns. When it throws, nothing was written, and versions and
 * the moments that the matcher has claimed are as they were before the turn. Has to be followed by `publishTurn`, before
 * anything else is decided or read.
 *
 * @param written called when only the commit is left, to measure it
 */
export function commitTurn({ store, matcher, versions }: TurnParts, changes: TurnChanges, written?: () => void): void {
  try {
    // Some readers see the commit before it returns: none of them may show what it has read before.
    versions.begin(changes.entities)
    store.apply(changes, written)
  } catch (fault) {
    versions.end()
    matcher.undo()
    throw fault
  }
}

/** Follows the commit. A fault in it does not undo the turn, whose commands must not be carried out again. */
export function publishTurn({ matcher, versions }: TurnParts): void {
  versions.end()
  matcher.commit()
}
