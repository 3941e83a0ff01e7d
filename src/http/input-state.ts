/** How a connection treats the requests that it brings. */
export type InputState =
  /** They begin as they come. */
  | 'flowing'
  /** Some have come that the connection may not begin yet: they are held. */
  | 'held'
  /** It may begin some of those that are held, and waits for its turn. */
  | 'queued'
  /** It begins some of those that are held. */
  | 'serving'
  /** It takes no more requests. */
  | 'ended'

export type InputEvent =
  /** A request has come, and the connection may begin it in this turn of the event loop. */
  | 'allowed'
  /** A request has come, and the connection has begun as many as it may in this turn, or has too many in progress. */
  | 'excess'
  /** The connection may begin more requests. */
  | 'wanted'
  /** It is the connection's turn. */
  | 'turn'
  /** The turn is over, and requests are left. */
  | 'left'
  /** The turn is over, and nothing is left. */
  | 'emptied'
  /** The connection is closed, or takes no more requests. */
  | 'end'

/** `begin` the request that has come, `keep` it, `queue` the connection, `serve` it, `drop` what is held. */
export type InputEffect = 'none' | 'begin' | 'keep' | 'queue' | 'serve' | 'drop'

/**
 * For each state what follows from each event. While requests are held no other one begins, so that they begin in the order
 * in which they came; a connection is queued once at a time; nothing begins after the end.
 */
export const inputTransitions: Readonly<
  Record<InputState, Readonly<Record<InputEvent, readonly [InputState, InputEffect]>>>
> = {
  flowing: {
    allowed: ['flowing', 'begin'],
    excess: ['held', 'keep'],
    wanted: ['flowing', 'none'],
    turn: ['flowing', 'none'],
    left: ['flowing', 'none'],
    emptied: ['flowing', 'none'],
    end: ['ended', 'drop'],
  },
  held: {
    allowed: ['held', 'keep'],
    excess: ['held', 'keep'],
    wanted: ['queued', 'queue'],
    turn: ['held', 'none'],
    left: ['held', 'none'],
    emptied: ['held', 'none'],
    end: ['ended', 'drop'],
  },
  queued: {
    allowed: ['queued', 'keep'],
    excess: ['queued', 'keep'],
    wanted: ['queued', 'none'],
    turn: ['serving', 'serve'],
    left: ['queued', 'none'],
    emptied: ['queued', 'none'],
    end: ['ended', 'drop'],
  },
  serving: {
    allowed: ['serving', 'keep'],
    excess: ['serving', 'keep'],
    wanted: ['serving', 'none'],
    turn: ['serving', 'none'],
    left: ['held', 'none'],
    emptied: ['flowing', 'none'],
    end: ['ended', 'drop'],
  },
  ended: {
    allowed: ['ended', 'none'],
    excess: ['ended', 'none'],
    wanted: ['ended', 'none'],
    turn: ['ended', 'none'],
    left: ['ended', 'none'],
    emptied: ['ended', 'none'],
    end: ['ended', 'none'],
  },
}
