/** A response that is written at the end of a turn. It catches its own faults: one thrown here would end the process. */
export interface PendingResponse {
  writeOut(): void
}

/**
 * Writes responses to their sockets together, at the end of the turn of the event loop in which they were ready. Each write
 * to an idle reader wakes it up, which costs more than the write itself; written together they wake it once.
 */
export class ResponseBatch {
  #pending: PendingResponse[] = []

  /** The response is written when the event loop has taken in all that had arrived. */
  add(response: PendingResponse): void {
    this.#pending.push(response)
    if (this.#pending.length === 1) setImmediate(() => this.flush())
  }

  /** All that is ready is written now. */
  flush(): void {
    const ready = this.#pending
    this.#pending = []
    for (const response of ready) response.writeOut()
  }
}

/** Their heads take about a millisecond. */
const requestsBetween = 32

/**
 * In overload one turn of the event loop reads hundreds of requests, most of which are refused. Replies of partitions, and
 * with them permits, would come back once a turn. Here they are taken in between the requests, so that accepted work goes on.
 */
export class ReplyInterleaving {
  readonly #responses: ResponseBatch
  readonly #takeReplies: () => void
  #came = 0

  constructor(responses: ResponseBatch, takeReplies: () => void) {
    this.#responses = responses
    this.#takeReplies = takeReplies
  }

  /** A request has come while others wait for a permit. */
  requestCame(): void {
    this.#came += 1
    if (this.#came < requestsBetween) return
    this.#came = 0
    this.#responses.flush()
    this.#takeReplies()
  }
}
