import { MessagePort } from 'node:worker_threads'
import { err, ok, type Result } from '../../result.js'
import { type CallRefusal, OpenCalls } from './calls.js'
import { onMessages } from './messages.js'
import type { Methods, Operations } from './service.js'

/** The messages on a port by which two threads call each other. */
export type LinkMessage =
  /** The number is the position of the message among all from this end. */
  | { readonly kind: 'ask'; readonly number: number; readonly name: string; readonly request: readonly unknown[] }
  | { readonly kind: 'tell'; readonly name: string; readonly request: readonly unknown[] }
  /** A response, or the fault in its place. */
  | { readonly kind: 'response'; readonly number: number; readonly response: Result<unknown, string> }
  /** The message of this number could not be deserialized. */
  | { readonly kind: 'unreadable'; readonly number: number }
  /** In the place of a question that could not be sent. */
  | { readonly kind: 'nothing' }

interface LinkParts<Far extends object> {
  readonly port: MessagePort
  /** The operations of the thread at the far end. */
  readonly far: Operations<Far>
  /** The methods for the far end, see `methodsOf`. */
  readonly offered: Methods
  /** How long the far end may take to answer; absent: any time. */
  readonly limit_ms?: number | undefined
  /**
   * Whether faults of offered methods, and unreadable messages of the far end, are answered with a refusal. Otherwise they end
   * this thread, as any other fault does: a caller would not repeat a call that has failed by itself.
   */
  readonly answersFaults: boolean
}

const refusals: Readonly<Record<Exclude<CallRefusal, 'gone'>, string>> = {
  late: 'the other thread has not answered in time',
  unreadable: 'a request to another thread, or its response, cannot be read',
}

/**
 * One end of a port by which two threads of the program call each other. Calls of one end, `ask` or `tell`, are begun at the other
 * one synchronously in that order, and before the responses to later calls. Ports among the arguments are transferred.
 */
export class ThreadLink<Far extends object> {
  /**
   * A question rejects with the far end's fault, or with the reason why there is no response: for an ended far end, the reason of
   * `gone`.
   */
  readonly far: Far
  readonly #parts: LinkParts<Far>
  readonly #calls = new OpenCalls<Result<unknown, string>>()
  #received = 0
  #why: unknown

  constructor(parts: LinkParts<Far>) {
    this.#parts = parts
    this.far = this.#callers(parts.far, '') as Far
    onMessages(
      parts.port,
      (message: LinkMessage) => this.take(message),
      parts.answersFaults ? () => this.#unreadable() : undefined,
    )
  }

  take(message: LinkMessage): void {
    this.#received += 1
    switch (message.kind) {
      case 'ask':
        void this.#respond(message.number, message.name, message.request)
        return
      case 'tell':
        this.#begin(message.name, message.request)
        return
      case 'response':
        this.#calls.answered(message.number, message.response)
        return
      case 'unreadable':
        this.#calls.unread(message.number)
        return
      case 'nothing':
        return
    }
  }

  /** The far end has ended or died, for this reason. */
  gone(why: unknown): void {
    this.#why = why
    this.#calls.gone()
  }

  /** Messages keep their order: an unreadable one is either the next question or the response to any question. */
  #unreadable(): void {
    this.#received += 1
    this.#calls.responseUnreadable()
    this.#post({ kind: 'unreadable', number: this.#received })
  }

  #callers(operations: object, prefix: string): object {
    const callers = Object.entries(operations).map(([name, kind]) => {
      if (typeof kind === 'object') return [name, this.#callers(kind, `${prefix}${name}.`)]
      const full = prefix + name
      return [
        name,
        kind === 'ask'
          ? (...request: readonly unknown[]) => this.#ask(full, request)
          : (...request: readonly unknown[]) => this.#post({ kind: 'tell', name: full, request }, portsOf(request)),
      ]
    })
    return Object.fromEntries(callers)
  }

  async #ask(name: string, request: readonly unknown[]): Promise<unknown> {
    const { port, limit_ms } = this.#parts
    const send = (number: number): void => {
      try {
        port.postMessage({ kind: 'ask', number, name, request } satisfies LinkMessage, portsOf(request))
      } catch (fault) {
        port.postMessage({ kind: 'nothing' } satisfies LinkMessage)
        throw fault
      }
    }
    const outcome = await this.#calls.ask(send, limit_ms)
    if (!outcome.ok) throw outcome.error === 'gone' ? this.#why : new Error(refusals[outcome.error])
    if (!outcome.value.ok) throw new Error(outcome.value.error)
    return outcome.value.value
  }

  #begin(name: string, request: readonly unknown[]): unknown {
    const method = this.#parts.offered.get(name)
    if (method === undefined) throw new Error(`nobody offers ${name}`)
    return method(request)
  }

  async #respond(number: number, name: string, request: readonly unknown[]): Promise<void> {
    try {
      this.#post({ kind: 'response', number, response: ok(await this.#begin(name, request)) })
    } catch (fault) {
      if (!this.#parts.answersFaults) throw fault
      this.#post({ kind: 'response', number, response: err(String(fault)) })
    }
  }

  /** Posts a message that is not a question. */
  #post(message: LinkMessage, ports: readonly MessagePort[] = []): void {
    this.#parts.port.postMessage(message, ports)
    this.#calls.passed()
  }
}

/** The link to the thread that has started this one, on the port that it handed over. */
export function linkOver<Far extends object>(
  port: MessagePort,
  far: Operations<Far>,
  offered: Methods,
  limit_ms?: number,
): Far {
  return new ThreadLink<Far>({ port, far, offered, limit_ms, answersFaults: false }).far
}

function portsOf(request: readonly unknown[]): readonly MessagePort[] {
  return request.filter((given) => given instanceof MessagePort)
}
