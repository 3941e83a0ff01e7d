/** Why a question to another thread has no answer. */
export type CallRefusal =
  /** It took longer than whoever asked waits. */
  | 'late'
  /** The question or its answer could not be read at the other end of the port. */
  | 'unreadable'
  /** The far end is not there any more. */
  | 'gone'

/** The questions that are under way to the far end of a port, by number. */
export interface CallState {
  readonly isGone: boolean
  /** The number of the last question. Numbers count up from 1 and are never used again. */
  readonly last: number
  readonly open: ReadonlySet<number>
}

/** What happens to questions. */
export type CallEvent =
  | { readonly kind: 'asked' }
  /** Its answer has come. */
  | { readonly kind: 'answered'; readonly number: number }
  /** Its limit has passed, or the far end could not read it. */
  | { readonly kind: 'failed'; readonly number: number; readonly why: 'late' | 'unreadable' }
  /** An answer has come that cannot be read: it may be that of any question. */
  | { readonly kind: 'answerUnreadable' }
  /** The far end is gone. */
  | { readonly kind: 'gone' }
  /** Another far end has taken its place. */
  | { readonly kind: 'replaced' }

/** What is to be done, in this order. */
export type CallEffect =
  | { readonly kind: 'send'; readonly number: number }
  | { readonly kind: 'resolve'; readonly number: number }
  | { readonly kind: 'refuse'; readonly number: number; readonly why: CallRefusal }

/** No question was asked yet. */
export const noCalls: CallState = { isGone: false, last: 0, open: new Set() }

interface CallStep {
  readonly state: CallState
  readonly effects: readonly CallEffect[]
}

/**
 * | event            | of a number that is open | of another one          | of all that are open |
 * |------------------|--------------------------|-------------------------|----------------------|
 * | asked            |                          | opened and sent; refused as `gone` when the far end is gone | |
 * | answered         | resolved                 | nothing: it came late   |                      |
 * | failed           | refused                  | nothing                 |                      |
 * | answerUnreadable |                          |                         | refused as `unreadable` |
 * | gone             |                          |                         | refused as `gone`    |
 * | replaced         | stays open               | opened and sent from now on |                   |
 *
 * So each question has one outcome, and none stays open when the far end is gone.
 */
export function callStep(state: CallState, event: CallEvent): CallStep {
  switch (event.kind) {
    case 'asked': {
      const number = state.last + 1
      if (state.isGone) return { state: { ...state, last: number }, effects: [{ kind: 'refuse', number, why: 'gone' }] }
      return {
        state: { ...state, last: number, open: joined(state.open, number) },
        effects: [{ kind: 'send', number }],
      }
    }
    case 'answered':
      return closed(state, { kind: 'resolve', number: event.number })
    case 'failed':
      return closed(state, { kind: 'refuse', number: event.number, why: event.why })
    case 'answerUnreadable':
      return allRefused(state, 'unreadable')
    case 'gone':
      return allRefused({ ...state, isGone: true }, 'gone')
    case 'replaced':
      return { state: { ...state, isGone: false }, effects: [] }
  }
}

function closed(state: CallState, effect: CallEffect): CallStep {
  if (!state.open.has(effect.number)) return { state, effects: [] }
  return { state: { ...state, open: without(state.open, effect.number) }, effects: [effect] }
}

function allRefused(state: CallState, why: CallRefusal): CallStep {
  return {
    state: { ...state, open: new Set() },
    effects: Array.from(state.open, (number) => ({ kind: 'refuse', number, why })),
  }
}

function joined(numbers: ReadonlySet<number>, number: number): ReadonlySet<number> {
  return new Set([...numbers, number])
}

function without(numbers: ReadonlySet<number>, number: number): ReadonlySet<number> {
  const left = new Set(numbers)
  left.delete(number)
  return left
}
