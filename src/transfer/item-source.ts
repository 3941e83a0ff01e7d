import type { Item } from './item.js'

/** What a source of items gives, one after the other. */
export type Sourced =
  | {
      readonly kind: 'item'
      readonly item: Item
      /** Where it stands, for people. */
      readonly where: string
      /** What of it cannot be kept, in sentences; absent where all is. */
      readonly losses?: readonly string[] | undefined
    }
  /** It cannot be imported. */
  | { readonly kind: 'wrong'; readonly where: string; readonly reason: string }

/** Where items are imported from. */
export interface ItemSource {
  /** In pieces that are as large as is handy to read. */
  readonly pieces: AsyncIterable<readonly Sourced[]>
  /** How far it is read, in any unit; nothing where nobody knows how much there is. */
  readonly progress: () => { readonly done: number; readonly total: number } | undefined
}
