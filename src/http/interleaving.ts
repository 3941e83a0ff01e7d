import type { ResponseBatch } from './departures.js'

/** So many requests take about a millisecond. */
const requests = 32

/**
 * In overload one turn of the event loop reads hundreds of requests, most of which are refused. Replies of partitions, and
 * with them permits, would come back once a turn. Here they are taken in between the requests, so that accepted work goes on.
 */
export class ReplyInterleaving {
  readonly #departures: ResponseBatch
  readonly #takeReplies: () => void
  #came = 0

  constructor(departures: ResponseBatch, takeReplies: () => void) {
    this.#departures = departures
    this.#takeReplies = takeReplies
  }

  /** A request has come while others wait for a permit. */
  requestCame(): void {
    this.#came += 1
    if (this.#came < requests) return
    this.#came = 0
    this.#departures.depart()
    this.#takeReplies()
  }
}
