import type { RequestMemory } from '../threads/shared-memory/request-memory.js'
import type { Nanoseconds } from '../time.js'
import { type InputEffect, type InputEvent, type InputState, inputTransitions } from './input-state.js'

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

/** Requests that one connection begins in a turn of the event loop. */
const requestsPerTurn = 16

/**
 * How long all connections together may begin requests of which they had sent several at once, and large ones. What Node does
 * for these requests afterwards takes as long again.
 */
const turnTime: Nanoseconds = 2_000_000n

/** A connection that has more requests to begin than it may at once. */
export interface WaitingInput {
  /** Begins some of them. It catches its own faults, and is added again when it may begin more. */
  takeTurn(): void
  /** Reads on, when all that it had sent has begun. */
  readNext(): void
  /** Reads on as it did before it was interrupted. */
  readAgain(): void
}

/**
 * Shares each turn of the event loop between the connections that have sent many requests at once, and the large requests of
 * all connections: they begin some in turn, and everything else that has arrived is served in between. It costs nothing while
 * requests are small and no connection sends one before it has the response to the one before.
 */
export class InputTurns {
  readonly #flushResponses: () => void
  #waiting: Pick<WaitingInput, 'takeTurn'>[] = []
  readonly #readers = new Set<WaitingInput>()
  /** Those that read nothing more in this turn because of what another one brings. */
  #interrupted: WaitingInput[] = []
  #isArmed = false
  #number = 0
  #since: Nanoseconds = 0n

  /** `flushResponses` writes the responses that are ready: to write them is a part of what requests cost. */
  constructor(flushResponses: () => void) {
    this.#flushResponses = flushResponses
  }

  /** The number of the turn of the event loop; it is exact while `enter` is called in each turn. */
  get number(): number {
    return this.#number
  }

  /** A connection begins a further request in this turn: the end of the turn is noticed from now on. Gives its number. */
  enter(now: Nanoseconds): number {
    if (!this.#isArmed) this.#arm(now)
    return this.#number
  }

  /** Whether the connections together have used up the time of this turn. */
  isOver(now: Nanoseconds): boolean {
    return now - this.#since >= turnTime
  }

  /** The connection gets its turn behind those that wait already. */
  add(input: Pick<WaitingInput, 'takeTurn'>): void {
    this.#waiting.push(input)
    if (!this.#isArmed) this.#arm(process.hrtime.bigint())
  }

  /**
   * Work on a large request begins at once if the turn has time left, else behind those that wait already. The work catches its
   * own faults.
   */
  begin(work: () => void): void {
    const now = process.hrtime.bigint()
    this.enter(now)
    if (this.isOver(now)) this.add({ takeTurn: work })
    else work()
  }

  /**
   * The connection reads on behind those that wait already. One of them does in each turn: what it reads may be 1,400 requests again,
   * which Node parses in one go.
   */
  addReader(input: WaitingInput): void {
    this.#readers.add(input)
    if (!this.#isArmed) this.#arm(process.hrtime.bigint())
  }

  /** The connection reads on in the next turn, together with all others that were interrupted, and before those that bring much. */
  interrupt(input: WaitingInput): void {
    this.#interrupted.push(input)
    if (!this.#isArmed) this.#arm(process.hrtime.bigint())
  }

  #arm(now: Nanoseconds): void {
    this.#isArmed = true
    this.#since = now
    setImmediate(() => this.#next())
  }

  #next(): void {
    this.#isArmed = false
    this.#number += 1
    if (this.#waiting.length === 0 && this.#readers.size === 0 && this.#interrupted.length === 0) return
    this.#arm(process.hrtime.bigint())
    this.#flushResponses()
    const waiting = this.#waiting
    this.#waiting = []
    let served = 0
    for (const input of waiting) {
      input.takeTurn()
      this.#flushResponses()
      served += 1
      if (this.isOver(process.hrtime.bigint())) break
    }
    this.#waiting = [...waiting.slice(served), ...this.#waiting]
    this.#readOn()
  }

  #readOn(): void {
    const interrupted = this.#interrupted
    this.#interrupted = []
    for (const input of interrupted) input.readAgain()
    if (interrupted.length > 0) return
    for (const reader of this.#readers) {
      this.#readers.delete(reader)
      reader.readNext()
      break
    }
  }
}
