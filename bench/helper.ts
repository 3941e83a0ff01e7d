import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * A process of the benchmark's own that answers one message at a time: the load generator and the reference run so,
 * each with an event loop to itself. It ends itself when this process is gone.
 */
export class Helper<Question extends object, Reply> {
  readonly #name: string
  #child: ChildProcess | undefined

  /** The process begins when it is asked for the first time. */
  constructor(entry: string) {
    this.#name = entry
  }

  /** Rejects when the helper ended instead of answering; it has said why on the standard error by then. */
  async ask(question: Question): Promise<Reply> {
    const ended = new AbortController()
    this.#child ??= fork(fileURLToPath(new URL(this.#name, import.meta.url)), { execArgv: [] })
    const child = this.#child
    try {
      const reply = once(child, 'message', { signal: ended.signal })
      const end = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
        throw new Error(`${this.#name} ended with code ${String(code)}`)
      })
      child.send(question)
      const [response] = await Promise.race([reply, end])
      return response // Both ends of the channel are built from the same types.
    } finally {
      ended.abort()
    }
  }

  async end(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    if (child.connected) child.disconnect()
    await ended
  }
}

/** The helper's side: answers each message, and ends with the process that asks. */
export function helpWith<Question, Reply>(respond: (question: Question) => Promise<Reply>): void {
  process.on('message', async (question: Question) => process.send?.(await respond(question)))
  process.on('disconnect', () => process.exit())
  if (!process.connected) process.exit() // It was not needed after all, and is told so no more.
  // Ctrl-C reaches every process of the terminal. The one that asks decides when this one ends.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => process.exit(143)) // By way of the exit listeners, which remove what was begun.
}
