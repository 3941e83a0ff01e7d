import { err, ok, type Result } from '../../result.js'

/** Why a question to another thread has no response. */
export type CallRefusal =
  /** It took longer than the caller waits. */
  | 'late'
  /** The question or its response could not be deserialized at the other end of the port. */
  | 'unreadable'
  /** The far end has ended. */
  | 'gone'

/** The outcome of a question. */
export type CallOutcome<Response> = Result<Response, CallRefusal>

interface OpenCall<Response> {
  readonly resolve: (outcome: CallOutcome<Response>) => void
  /** Stops the timer of its limit. */
  readonly cancel: () => void
}

/** Calls `over` after a time, unless the function that it gives is called before. */
export type Timer = (limit_ms: number, over: () => void) => () => void

/**
 * The open questions of this thread to the far end of a port, whatever messages carry them. Sent messages are numbered
 * from 1 on:
 *
 * | event                          | the question of the number, if open | otherwise    | all open questions      |
 * |--------------------------------|--------------------------|-------------------------|-------------------------|
 * | `ask`                          |                          | opened and sent; refused as `gone` when the far end is gone | |
 * | `answered`                     | resolved                 | nothing: it came late   |                         |
 * | `unread`, its limit has passed | refused                  | nothing                 |                         |
 * | `responseUnreadable`           |                          |                         | refused as `unreadable` |
 * | `gone`                         |                          |                         | refused as `gone`       |
 * | `replaced`                     |                          | opened and sent from now on |                     |
 * | `passed`                       |                          | never opened            |                         |
 *
 * So each question has exactly one outcome, and none stays open when the far end is gone.
 */
export class OpenCalls<Response> {
  readonly #timer: Timer
  readonly #open = new Map<number, OpenCall<Response>>()
  #last = 0
  #isGone = false

  constructor(timer: Timer = startTimer) {
    this.#timer = timer
  }

  /**
   * Asks. `send` posts the question with its number; if it throws, this rejects. Without a limit the question ends when it is
   * answered or the far end is gone.
   */
  async ask(send: (number: number) => void, limit_ms: number | undefined): Promise<CallOutcome<Response>> {
    if (this.#isGone) return err('gone')
    this.#last += 1
    const number = this.#last
    const outcome = new Promise<CallOutcome<Response>>((resolve) => {
      const late = (): boolean => this.#close(number, err('late'))
      const cancel = limit_ms === undefined ? (): void => {} : this.#timer(limit_ms, late)
      this.#open.set(number, { resolve, cancel })
    })
    try {
      send(number)
    } catch (fault) {
      // It was never sent.
      this.#close(number, err('unreadable'))
      throw fault
    }
    return outcome
  }

  /** A message was sent that is not a question; it uses up a number. */
  passed(): void {
    this.#last += 1
  }

  /** A response has come; says whether a caller has waited for it. */
  answered(number: number, response: Response): boolean {
    return this.#close(number, ok(response))
  }

  /** The far end could not deserialize the question of this number. */
  unread(number: number): void {
    this.#close(number, err('unreadable'))
  }

  /** A response cannot be deserialized: it may belong to any question. */
  responseUnreadable(): void {
    this.#refuseAll('unreadable')
  }

  gone(): void {
    this.#isGone = true
    this.#refuseAll('gone')
  }

  /** Another far end has taken the place of the ended one. */
  replaced(): void {
    this.#isGone = false
  }

  #refuseAll(why: CallRefusal): void {
    for (const number of [...this.#open.keys()]) this.#close(number, err(why))
  }

  #close(number: number, outcome: CallOutcome<Response>): boolean {
    const call = this.#open.get(number)
    if (call === undefined) return false
    this.#open.delete(number)
    call.cancel()
    call.resolve(outcome)
    return true
  }
}

function startTimer(limit_ms: number, over: () => void): () => void {
  const timer = setTimeout(over, limit_ms).unref()
  return () => clearTimeout(timer)
}
