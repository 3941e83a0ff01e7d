import type { UpdateElement, UpdateReply } from '../context/update.js'
import type { RawUpdateCommand } from './message.js'

/** Understands the words of an API and answers in them; the partition itself speaks none. */
export type Interpreter = (words: RawUpdateCommand) => Interpretation

export type Interpretation =
  /** There is nothing to be done: the answer, and whether the payload passed its checks. */
  | { readonly kind: 'answered'; readonly accepted: boolean; readonly text: string }
  | {
      readonly kind: 'understood'
      readonly element: UpdateElement
      readonly answer: (reply: UpdateReply) => string
    }
