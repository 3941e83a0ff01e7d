/** Where a request is on its way. */
export type RequestState =
  /** Its head is being checked. */
  | 'head'
  /** Its body arrives. */
  | 'body'
  /** All of it has come. */
  | 'received'
  /** It waits for its turn on its connection and for a permit. */
  | 'waiting'
  | 'working'
  /** Its answer is ready and has not been written. */
  | 'answering'
  /** Its answer has been written; the rest of its body is read and thrown away. */
  | 'draining'
  /** Its answer is complete and goes out after those before it on the connection. */
  | 'handing'
  /** Its answer has been handed to the socket, or will never be. */
  | 'over'
  /** Its connection has closed before there was an answer; work on it may still be under way. */
  | 'gone'

/** What happens to a request. */
export type RequestStep =
  | 'readBody'
  | 'bodyRead'
  | 'wait'
  | 'work'
  | 'answer'
  | 'write'
  | 'writeAndDrain'
  | 'drained'
  | 'handed'
  /** What came is no HTTP: the connection says so in place of this request's answer. */
  | 'malformed'
  /** The connection has closed. */
  | 'lost'

type Steps = Readonly<Partial<Record<RequestStep, RequestState>>>

/**
 * The life of a request: in each state what may happen, and where it leads. Whatever else happens comes too late and
 * changes nothing. No way leads through `answer` twice, nor through `write`, so no order of events answers twice.
 */
export const requestLife: Readonly<Record<RequestState, Steps>> = {
  head: { readBody: 'body', wait: 'waiting', answer: 'answering', malformed: 'over', lost: 'gone' },
  body: { bodyRead: 'received', answer: 'answering', malformed: 'over', lost: 'gone' },
  received: { wait: 'waiting', answer: 'answering', lost: 'gone' },
  waiting: { work: 'working', answer: 'answering', lost: 'gone' },
  working: { answer: 'answering', lost: 'gone' },
  answering: { write: 'handing', writeAndDrain: 'draining', lost: 'over' },
  draining: { drained: 'handing', lost: 'over' },
  handing: { handed: 'over', lost: 'over' },
  over: {},
  gone: {},
}

/** The state of one request. */
export class RequestLife {
  #state: RequestState = 'head'

  get state(): RequestState {
    return this.#state
  }

  /** Takes a step when the state allows it; says whether it did. */
  take(step: RequestStep): boolean {
    const next = requestLife[this.#state][step]
    if (next === undefined) return false
    this.#state = next
    return true
  }

  /** Whether its answer is not decided yet. */
  get isOpen(): boolean {
    return requestLife[this.#state].answer !== undefined
  }

  get isOver(): boolean {
    return this.#state === 'over' || this.#state === 'gone'
  }
}
