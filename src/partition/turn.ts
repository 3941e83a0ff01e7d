import type { Versions } from '../shared-memory/versions.js'
import type { Matcher } from '../subscription/matcher.js'
import { decide } from './decide.js'
import type { Interpreter } from './interpreter.js'
import type { Command, Effect, Reply } from './message.js'
import { Overlay } from './overlay.js'
import type { PartitionStore } from './store.js'

/** What a partition takes its turns with. */
export interface TurnParts {
  readonly store: PartitionStore
  readonly interpret: Interpreter
  readonly matcher: Matcher
  /** What tells readers in other threads of the changes, before they can be seen. */
  readonly versions: Versions
}

/** Who wants to know when a turn passes its stages, to measure waits and commits. */
export interface TurnWatch {
  /** The turn's write transaction is open. */
  opened(): void
  /** Everything is decided and written; what is left is the commit. */
  written(): void
  /** Asked after each command: whether the turn has taken long enough, so that the others are left for the next one. */
  isLong(): boolean
}

/**
 * Answers a batch: later commands see earlier ones, and no reply leaves before the disk has all of it, the notices that
 * its changes cause included [subscriptions 5.2].
 */
export function takeTurn(parts: TurnParts, batch: readonly Command[], watch?: TurnWatch): readonly Reply[] {
  const replies = commitTurn(parts, batch, watch)
  publishTurn(parts)
  return replies
}

/**
 * The first half of a turn: decides a batch, or as much of it as fits into one turn, and commits. Gives the replies to
 * the commands at the beginning of the batch: to all of them unless the turn was long. Throws when the store does; then
 * nothing of it was done. It has to be followed by `publishTurn`, before anything else is done and anybody is answered.
 */
export function commitTurn(parts: TurnParts, batch: readonly Command[], watch?: TurnWatch): readonly Reply[] {
  const { store, interpret, matcher, versions } = parts
  const view = new Overlay(store)
  try {
    return store.transact(() => {
      watch?.opened()
      const replies: Reply[] = []
      for (const command of batch) {
        const { reply, effects } = decide(view, command, interpret)
        view.lay(effects)
        wake(matcher, command, effects)
        replies.push(reply)
        if (watch?.isLong()) break
      }
      store.write(view.effects)
      store.enqueue(matcher.notices)
      store.ack(view.acks)
      versions.begin(view.effects)
      watch?.written()
      return replies
    })
  } catch (fault) {
    versions.end()
    matcher.undo()
    throw fault
  }
}

/**
 * The second half: what is held in memory, here and by readers elsewhere, follows the commit. A fault in it does not undo
 * the turn, whose commands must not be carried out again.
 */
export function publishTurn({ store, matcher, versions }: TurnParts): void {
  store.committed()
  versions.end()
  matcher.commit()
}

/** Of an entity that was removed nobody is notified [subscriptions 3.3]. */
function wake(matcher: Matcher, command: Command, effects: readonly Effect[]): void {
  if (matcher.isIdle || !('origin' in command)) return
  for (const effect of effects) if (effect.kind === 'put') matcher.match(effect, command)
}
