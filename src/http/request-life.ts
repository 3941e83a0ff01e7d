type RequestState =
  /** Its head is being checked. */
  | 'head'
  /** Its body arrives. */
  | 'body'
  /** All of it has come. */
  | 'received'
  /** It waits for its turn on its connection and for a permit. */
  | 'waiting'
  | 'working'
  /** Its response is ready and has not been written. */
  | 'responding'
  /** Its response has been written; the rest of its body is read and thrown away. */
  | 'draining'
  /** Its response is complete and goes out after those before it on the connection. */
  | 'handing'
  /** Its response has been handed to the socket, or will never be. */
  | 'over'
  /** Its connection has closed before there was a response; work on it may still be under way. */
  | 'gone'

type RequestStep =
  | 'readBody'
  | 'bodyRead'
  | 'wait'
  | 'work'
  | 'respond'
  | 'write'
  | 'writeAndDrain'
  | 'drained'
  | 'handed'
  /** What came is no HTTP: the connection says so instead of a response to this request. */
  | 'malformed'
  /** The connection has closed. */
  | 'lost'

type Steps = Readonly<Partial<Record<RequestStep, RequestState>>>

/**
 * The life of a request: in each state what may happen, and where it leads. Whatever else happens comes too late and
 * changes nothing. No path leads through `respond` twice, nor through `write`, so no order of events gives two responses.
 */
export const requestLife: Readonly<Record<RequestState, Steps>> = {
  head: { readBody: 'body', wait: 'waiting', respond: 'responding', malformed: 'over', lost: 'gone' },
  body: { bodyRead: 'received', respond: 'responding', malformed: 'over', lost: 'gone' },
  received: { wait: 'waiting', respond: 'responding', lost: 'gone' },
  waiting: { work: 'working', respond: 'responding', lost: 'gone' },
  working: { respond: 'responding', lost: 'gone' },
  responding: { write: 'handing', writeAndDrain: 'draining', lost: 'over' },
  draining: { drained: 'handing', lost: 'over' },
  handing: { handed: 'over', lost: 'over' },
  over: {},
  gone: {},
}

/** The steps by number. A request takes ten of them: to look up numbers costs much less than to look up names. */
export const step = {
  readBody: 0,
  bodyRead: 1,
  wait: 2,
  work: 3,
  respond: 4,
  write: 5,
  writeAndDrain: 6,
  drained: 7,
  handed: 8,
  malformed: 9,
  lost: 10,
} as const satisfies Readonly<Record<RequestStep, number>>

type StepNumber = (typeof step)[RequestStep]

const states = Object.keys(requestLife) as readonly RequestState[]
const row = 16
const noState = -1

/** `requestLife` as numbers: a row for each state, in it the number of the next state for each step. */
const nextStates = new Int8Array(states.length * row).fill(noState)
for (const [at, state] of states.entries()) {
  for (const [name, next] of Object.entries(requestLife[state])) {
    nextStates[at * row + step[name as RequestStep]] = states.indexOf(next)
  }
}
const [head, over, gone] = [states.indexOf('head'), states.indexOf('over'), states.indexOf('gone')]

export class RequestLife {
  #state = head

  get state(): RequestState {
    return states[this.#state] ?? 'over'
  }

  /** Takes a step when the state allows it; says whether it did. */
  take(taken: StepNumber): boolean {
    const next = nextStates[this.#state * row + taken] ?? noState
    if (next === noState) return false
    this.#state = next
    return true
  }

  /** Whether its response is not decided yet. */
  get isOpen(): boolean {
    return nextStates[this.#state * row + step.respond] !== noState
  }

  get isOver(): boolean {
    return this.#state === over || this.#state === gone
  }
}
