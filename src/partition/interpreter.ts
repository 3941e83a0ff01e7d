import type { UpdateElement, UpdateReply } from '../context/update.js'
import type { RawUpdateCommand, RawUpdateReply } from './message.js'

/** Understands the words of an API and answers in them; the partition itself speaks none. */
export type Interpreter = (words: RawUpdateCommand) => Interpretation

export type Interpretation =
  /** There is nothing to be done. */
  | { readonly kind: 'answered'; readonly reply: RawUpdateReply }
  | {
      readonly kind: 'understood'
      readonly element: UpdateElement
      readonly answer: (reply: UpdateReply) => RawUpdateReply
    }
