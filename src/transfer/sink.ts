import type { Item } from './item.js'

/** What is done with an item that is there already. */
export const conflictPolicies = ['fail', 'skip', 'replace'] as const
export type ConflictPolicy = (typeof conflictPolicies)[number]

/** What a sink is told of an import. */
export interface SinkSettings {
  readonly policy: ConflictPolicy
  /** Whether items behind one that was refused are taken. */
  readonly keepsGoing: boolean
  /** Whether nothing is written, only looked at. */
  readonly dry: boolean
}

/** What became of an item. */
export type Outcome =
  | {
      readonly kind: 'created' | 'replaced' | 'skipped'
      /** What of it could not be kept, in sentences; absent where all was. */
      readonly losses?: readonly string[] | undefined
    }
  /** `reason` is a sentence for whoever imports. */
  | { readonly kind: 'refused'; readonly reason: string }

/** Where items are imported to. */
export interface Sink {
  /**
   * Takes items, in their order; gives for each of them, in the same order, what became of it. Those behind one that was
   * refused may be left out, if the import is to stop there.
   */
  put(items: readonly Item[]): Promise<readonly Outcome[]>
  /** Everything that was taken is on disk when it resolves. */
  close(): Promise<void>
}

/** What is said of an item that is there already. */
export const isThere = 'it is there already (see --on-conflict)'
