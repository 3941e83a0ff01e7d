import { decideSwap, isDecided, type SwapSource, settleSwap } from '../lmdb/folder-swap.js'
import { CommandFailure, failureText, Unfinished } from './command.js'

/**
 * Puts new members, or those of before, in the place of the present ones of a folder; the caller has its lock. Throws
 * `CommandFailure` when nothing was changed, and what was built is gone then; `Unfinished` when it was decided, and the next command
 * or start finishes it.
 */
export function exchangeMembers(path: string, source: SwapSource): void {
  try {
    const decided = decideSwap(path, source)
    if (!decided.ok) throw new CommandFailure(decided.error.reason)
  } catch (fault) {
    removeBuilt(path)
    if (!isDecided(path)) throw fault
  }
  try {
    for (const _ of settleSwap(path));
  } catch (fault) {
    throw new Unfinished(
      `${path} is in the middle of an exchange of its files (${failureText(fault)}): see to that, the next start or command finishes it`,
    )
  }
}

/** Removes what was built for an exchange that will not be decided, as far as the disk lets it: the next command does it, too. */
export function removeBuilt(path: string): void {
  if (isDecided(path)) return
  try {
    for (const _ of settleSwap(path));
  } catch {
    // What kept it from being built is what is to be told.
  }
}
