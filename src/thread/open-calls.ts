import { err, ok, type Result } from '../result.js'
import { type CallEvent, type CallRefusal, type CallState, callStep, noCalls } from './call-state.js'

/** How a question has ended. */
export type CallOutcome<Answer> = Result<Answer, CallRefusal>

interface OpenCall<Answer> {
  readonly send: (number: number) => void
  readonly resolve: (outcome: CallOutcome<Answer>) => void
  readonly reject: (fault: unknown) => void
  timer?: NodeJS.Timeout | undefined
}

/**
 * The questions of this thread to the far end of a port, whatever messages carry them: each gets its answer, or is refused when
 * it takes too long, cannot be read, or the far end is gone. `callStep` decides.
 */
export class OpenCalls<Answer> {
  #state: CallState = noCalls
  readonly #open = new Map<number, OpenCall<Answer>>()

  /**
   * Asks. `send` posts the question with its number; rejects when it throws. Without a limit the question ends when it is
   * answered or the far end is gone.
   */
  ask(send: (number: number) => void, limit_ms: number | undefined): Promise<CallOutcome<Answer>> {
    return new Promise((resolve, reject) => {
      const number = this.#state.last + 1
      const call: OpenCall<Answer> = { send, resolve, reject }
      this.#open.set(number, call)
      this.#take({ kind: 'asked' })
      if (limit_ms === undefined || !this.#open.has(number)) return
      call.timer = setTimeout(() => this.#take({ kind: 'failed', number, why: 'late' }), limit_ms)
      call.timer.unref()
    })
  }

  /** An answer has come; says whether somebody has waited for it. */
  answered(number: number, answer: Answer): boolean {
    const isAwaited = this.#state.open.has(number)
    this.#take({ kind: 'answered', number }, answer)
    return isAwaited
  }

  /** The far end could not read the question of this number. */
  unread(number: number): void {
    this.#take({ kind: 'failed', number, why: 'unreadable' })
  }

  /** An answer has come that cannot be read. */
  answerUnreadable(): void {
    this.#take({ kind: 'answerUnreadable' })
  }

  /** The far end is gone. */
  gone(): void {
    this.#take({ kind: 'gone' })
  }

  /** Another far end has taken the place of the one that is gone. */
  replaced(): void {
    this.#take({ kind: 'replaced' })
  }

  #take(event: CallEvent, answer?: Answer): void {
    const { state, effects } = callStep(this.#state, event)
    this.#state = state
    for (const effect of effects) {
      const call = this.#open.get(effect.number)
      if (call === undefined) continue
      if (effect.kind === 'send') this.#send(effect.number, call)
      else {
        this.#open.delete(effect.number)
        clearTimeout(call.timer)
        // An answer may be undefined.
        call.resolve(effect.kind === 'resolve' ? ok(answer as Answer) : err(effect.why))
      }
    }
  }

  #send(number: number, call: OpenCall<Answer>): void {
    try {
      call.send(number)
    } catch (fault) {
      // It was never under way.
      this.#open.delete(number)
      this.#take({ kind: 'failed', number, why: 'unreadable' })
      call.reject(fault)
    }
  }
}
