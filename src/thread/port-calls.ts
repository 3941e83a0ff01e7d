import type { MessagePort } from 'node:worker_threads'
import { type CallOutcome, OpenCalls } from './calls.js'
import { onMessages } from './messages.js'

/** How long another thread may take to answer: longer than any work that is asked of one. */
const limit_ms = 120_000

/** A question; nothing in place of one that could not be sent, so that numbers count messages. */
interface Question {
  readonly number: number
  readonly asked?: { readonly question: unknown }
}

type Reply =
  | { readonly number: number; readonly kind: 'value'; readonly value: unknown }
  | { readonly number: number; readonly kind: 'fault'; readonly fault: string }
  /** The question could not be read. */
  | { readonly number: number; readonly kind: 'unreadable' }

type Answered = Exclude<Reply, { kind: 'unreadable' }>

/** The end of a port from which another thread is asked. */
export class PortCalls {
  readonly #port: MessagePort
  readonly #calls = new OpenCalls<Answered>()

  constructor(port: MessagePort) {
    this.#port = port
    onMessages(
      port,
      (reply: Reply) => {
        if (reply.kind === 'unreadable') this.#calls.unread(reply.number)
        else this.#calls.answered(reply.number, reply)
      },
      () => this.#calls.answerUnreadable(),
    )
    port.on('close', () => this.#calls.gone())
  }

  /** What the other thread answers; rejects with its fault, and when the question cannot be sent or has no answer. */
  async ask(question: unknown, longest_ms = limit_ms): Promise<unknown> {
    const outcome = await this.#calls.ask((number) => this.#send(number, question), longest_ms)
    return answerOf(outcome)
  }

  #send(number: number, question: unknown): void {
    try {
      this.#port.postMessage({ number, asked: { question } } satisfies Question)
    } catch (fault) {
      this.#port.postMessage({ number } satisfies Question)
      throw fault
    }
  }
}

const unanswered = {
  late: 'the other thread has not answered in time',
  unreadable: 'a question to another thread, or its answer, cannot be read',
  gone: 'the other thread is gone',
} as const

function answerOf(outcome: CallOutcome<Answered>): unknown {
  if (!outcome.ok) throw new Error(unanswered[outcome.error])
  if (outcome.value.kind === 'fault') throw new Error(outcome.value.fault)
  return outcome.value.value
}

/** Answers the questions that come by a port, several at a time. */
export function servePort(port: MessagePort, answer: (question: unknown) => Promise<unknown>): void {
  let last = 0
  const reply = (message: Reply): void => {
    try {
      port.postMessage(message)
    } catch (fault) {
      port.postMessage({ number: message.number, kind: 'fault', fault: String(fault) } satisfies Reply)
    }
  }
  onMessages(
    port,
    ({ number, asked }: Question) => {
      last = number
      if (asked === undefined) return
      answer(asked.question).then(
        (value) => reply({ number, kind: 'value', value }),
        (fault: unknown) => reply({ number, kind: 'fault', fault: String(fault) }),
      )
    },
    () => {
      // Messages keep their order: what cannot be read is the question after the last one.
      last += 1
      reply({ number: last, kind: 'unreadable' })
    },
  )
}
