import type { Wakes } from '../subscription/wakes.js'
import type { ChangeMarks } from './change-marks.js'
import { decide } from './decide.js'
import type { Interpreter } from './interpreter.js'
import type { Command, Effect, Reply } from './message.js'
import { Overlay } from './overlay.js'
import type { PartitionStore } from './store.js'

/** What a partition takes its turns with. */
export interface TurnParts {
  readonly store: PartitionStore
  readonly interpret: Interpreter
  readonly wakes: Wakes
  /** What tells readers in other threads of the changes, before anybody is answered. */
  readonly marks: ChangeMarks
}

/** Who wants to know when a turn passes its stages, to measure waits and commits. */
export interface TurnWatch {
  /** The turn's write transaction is open. */
  opened(): void
  /** Everything is decided and written; what is left is the commit. */
  written(): void
}

/**
 * Answers a batch: later commands see earlier ones, and no reply leaves before the disk has all of it, the notices that
 * its changes cause included [subscriptions 5.2]. Throws when the store does; then nothing of the batch was done.
 */
export function takeTurn(parts: TurnParts, batch: readonly Command[], watch?: TurnWatch): readonly Reply[] {
  const { store, wakes, marks } = parts
  const view = new Overlay(store)
  const replies = committed(parts, view, batch, watch)
  marks.committed(view.effects)
  wakes.settle()
  return replies
}

function committed(parts: TurnParts, view: Overlay, batch: readonly Command[], watch?: TurnWatch): readonly Reply[] {
  const { store, interpret, wakes } = parts
  try {
    return store.transact(() => {
      watch?.opened()
      const replies = batch.map((command) => {
        const { reply, effects } = decide(view, command, interpret)
        view.lay(effects)
        wake(wakes, command, effects)
        return reply
      })
      store.write(view.effects)
      store.enqueue(wakes.notices)
      store.settle(view.settlements)
      watch?.written()
      return replies
    })
  } catch (fault) {
    wakes.undo()
    throw fault
  }
}

/** Of an entity that was removed nobody is notified [subscriptions 3.3]. */
function wake(wakes: Wakes, command: Command, effects: readonly Effect[]): void {
  if (wakes.isIdle || !('origin' in command)) return
  for (const effect of effects) if (effect.kind === 'put') wakes.wake(effect, command)
}
