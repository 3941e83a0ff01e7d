import { MessagePort, type TransferListItem } from 'node:worker_threads'
import { OpenCalls } from './calls.js'
import { onMessages } from './messages.js'
import type { Method, Operations } from './service.js'

/** What goes over a port by which both threads call each other. */
export type LinkMessage =
  | { readonly kind: 'asked'; readonly number: number; readonly name: string; readonly request: readonly unknown[] }
  | { readonly kind: 'told'; readonly name: string; readonly request: readonly unknown[] }
  | { readonly kind: 'answer'; readonly number: number; readonly answer: unknown }

interface LinkParts<Far extends object> {
  readonly post: (message: LinkMessage, transfer: readonly TransferListItem[]) => void
  /** The operations of the thread at the far end. */
  readonly far: Operations<Far>
  /** What this end offers to the far one, see `methodsOf`. */
  readonly offered: ReadonlyMap<string, Method>
}

/**
 * One end of a port by which two threads of the program call each other. What one end calls, asked or told, is begun at the other one
 * synchronously in that order, and before the answers to what was called later. Ports among what is called with are handed over. A fault
 * of what is called ends its thread, as any other fault of it does: nobody asks again for what has failed by itself.
 */
export class ThreadLink<Far extends object> {
  /** Rejects, with the reason of `gone`, what the far end has not answered before it was gone. */
  readonly far: Far
  readonly #parts: LinkParts<Far>
  readonly #calls = new OpenCalls<unknown>()
  #why: unknown

  constructor(parts: LinkParts<Far>) {
    this.#parts = parts
    const operations = Object.entries(parts.far).map(([name, kind]) => [
      name,
      kind === 'asked'
        ? (...request: readonly unknown[]) => this.#ask(name, request)
        : (...request: readonly unknown[]) => this.#parts.post({ kind: 'told', name, request }, portsOf(request)),
    ])
    this.far = Object.fromEntries(operations) as Far
  }

  take(message: LinkMessage): void {
    if (message.kind === 'answer') this.#calls.answered(message.number, message.answer)
    else if (message.kind === 'told') this.#begin(message.name, message.request)
    else void this.#answer(message.number, this.#begin(message.name, message.request))
  }

  /** The far end has ended, or died, and why. */
  gone(why: unknown): void {
    this.#why = why
    this.#calls.gone()
  }

  async #ask(name: string, request: readonly unknown[]): Promise<unknown> {
    // No time limit: the thread answers when it has done it, or is gone.
    const outcome = await this.#calls.ask(
      (number) => this.#parts.post({ kind: 'asked', number, name, request }, portsOf(request)),
      undefined,
    )
    if (!outcome.ok) throw this.#why
    return outcome.value
  }

  #begin(name: string, request: readonly unknown[]): unknown {
    const method = this.#parts.offered.get(name)
    if (method === undefined) throw new Error(`nobody offers ${name}`)
    return method(request)
  }

  async #answer(number: number, answer: unknown): Promise<void> {
    this.#parts.post({ kind: 'answer', number, answer: await answer }, [])
  }
}

/** The thread that has started this one, by the port that it was handed. */
export function linkOver<Far extends object>(
  port: MessagePort,
  far: Operations<Far>,
  here: ReadonlyMap<string, Method>,
): Far {
  const link = new ThreadLink<Far>({
    post: (message, transfer) => port.postMessage(message, transfer),
    far,
    offered: here,
  })
  onMessages(port, (message: LinkMessage) => link.take(message))
  return link.far
}

function portsOf(request: readonly unknown[]): readonly MessagePort[] {
  return request.filter((given) => given instanceof MessagePort)
}
