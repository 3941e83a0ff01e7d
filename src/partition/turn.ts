import { decide } from './decide.js'
import type { EntityCache } from './entity-cache.js'
import type { Interpreter } from './interpreter.js'
import type { Command, Reply } from './message.js'
import { Overlay } from './overlay.js'
import type { PartitionStore } from './store.js'

/** Who wants to know when a turn passes its stages, to measure waits and commits. */
export interface TurnWatch {
  /** The turn's write transaction is open. */
  opened(): void
  /** Everything is decided and written; what is left is the commit. */
  written(): void
}

/**
 * Answers a batch: later commands see earlier ones, and no reply leaves before the disk has all of it. Throws when the
 * store does; then nothing of the batch was done.
 */
export function takeTurn(
  store: PartitionStore,
  cache: EntityCache,
  batch: readonly Command[],
  interpret: Interpreter,
  watch?: TurnWatch,
): readonly Reply[] {
  const view = new Overlay(store, cache)
  const replies = store.transact(() => {
    watch?.opened()
    const answers = batch.map((command) => {
      const { reply, effects } = decide(view, command, interpret)
      view.lay(effects)
      return reply
    })
    store.write(view.effects)
    store.settle(view.settlements)
    watch?.written()
    return answers
  })
  view.settle()
  return replies
}
