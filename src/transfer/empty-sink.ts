import type { Item } from './item.js'
import type { Outcome, Sink } from './sink.js'

/** Stands for a data folder that is not there yet, where nothing is to be written. */
export class EmptySink implements Sink {
  async put(items: readonly Item[]): Promise<readonly Outcome[]> {
    return items.map(() => ({ kind: 'created' }))
  }

  async close(): Promise<void> {}
}
