import type { RequestMemory } from '../shared-memory/request-memory.js'
import { type InputEffect, type InputEvent, type InputState, inputTransitions } from './input-state.js'
import { type InputTurns, requestsPerTurn, type WaitingInput } from './input-turns.js'

/** A request that has come and has not begun, or what the parser has refused behind such requests. */
interface Held {
  readonly begin: () => void
  readonly bytes: number
}

/**
 * The requests of one connection that have come and may not begin yet. Node's parser passes on all requests of one read at
 * once, of which 64 KiB hold 1,400: here a connection begins its part of them in a turn of the event loop.
 */
export class HeldRequests {
  readonly #turns: InputTurns
  readonly #memory: RequestMemory
  readonly #owner: WaitingInput
  #state: InputState = 'flowing'
  #held: Held[] = []
  /** How many of them have begun. */
  #taken = 0
  /** The turn of the event loop in which the connection began requests last, and how many in it. */
  #turn = 0
  #begun = 0

  /** `owner` gets a turn when it may begin more of what is held. */
  constructor(turns: InputTurns, memory: RequestMemory, owner: WaitingInput) {
    this.#turns = turns
    this.#memory = memory
    this.#owner = owner
  }

  get isEmpty(): boolean {
    return this.#taken === this.#held.length
  }

  /** A request has come on a connection without another one in progress. Says whether it begins. */
  cameAlone(): boolean {
    if (this.#state !== 'flowing') return false
    this.#turn = this.#turns.number
    this.#begun = 1
    return true
  }

  /** A request has come that may have come together with others. Says whether it begins; if not it is kept or ignored. */
  came(hasRoom: boolean): boolean {
    return this.#take(hasRoom && this.#isInTime() ? 'allowed' : 'excess') === 'begin'
  }

  /** Keeps a request that does not begin now; false when there is no memory for it. */
  keep(begin: () => void, bytes: number, isOfOperators: boolean): boolean {
    if (this.#state === 'ended') return true
    const isTaken = this.#memory.take(bytes)
    if (isTaken || isOfOperators) this.#held.push({ begin, bytes: isTaken ? bytes : 0 })
    return isTaken || isOfOperators
  }

  /** The connection may begin more requests. Says whether some are held, which begin before more is read. */
  wantsMore(): boolean {
    if (this.#take('wanted') === 'queue') this.#turns.add(this.#owner)
    return !this.isEmpty
  }

  /** Begins what is held, as far as the connection may in this turn and has room. */
  serve(hasRoom: () => boolean): void {
    if (this.#take('turn') !== 'serve') return
    while (this.#state === 'serving' && hasRoom() && this.#isInTime()) {
      const next = this.#held[this.#taken]
      if (next === undefined) break
      this.#taken += 1
      this.#memory.give(next.bytes)
      next.begin()
    }
    if (this.isEmpty) this.#drop()
    this.#take(this.isEmpty ? 'emptied' : 'left')
  }

  /** Nothing more begins. */
  end(): void {
    if (this.#take('end') === 'drop') this.#drop()
  }

  /** Counts a further request that may begin in this turn. */
  #isInTime(): boolean {
    const now = process.hrtime.bigint()
    const turn = this.#turns.enter(now)
    if (turn !== this.#turn) {
      this.#turn = turn
      this.#begun = 0
    }
    if (this.#begun >= requestsPerTurn) return false
    // The first one begins in any case: else a connection could wait for ever.
    if (this.#begun > 0 && this.#turns.isOver(now)) return false
    this.#begun += 1
    return true
  }

  #drop(): void {
    for (let at = this.#taken; at < this.#held.length; at += 1) this.#memory.give(this.#held[at]?.bytes ?? 0)
    this.#held = []
    this.#taken = 0
  }

  #take(event: InputEvent): InputEffect {
    const [state, effect] = inputTransitions[this.#state][event]
    this.#state = state
    return effect
  }
}
