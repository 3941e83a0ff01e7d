import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * A process of the benchmark's own that answers one message at a time: the load generator and the reference run so,
 * each with an event loop to itself. It ends itself when this process is gone.
 */
export class Helper<Question extends object, Reply> {
  readonly #child: ChildProcess
  readonly #name: string

  constructor(entry: string) {
    this.#name = entry
    this.#child = fork(fileURLToPath(new URL(entry, import.meta.url)), { execArgv: [] })
  }

  /** Rejects when the helper ended instead of answering; it has said why on the standard error by then. */
  async ask(question: Question): Promise<Reply> {
    const ended = new AbortController()
    try {
      const reply = once(this.#child, 'message', { signal: ended.signal })
      const end = once(this.#child, 'exit', { signal: ended.signal }).then(([code]) => {
        throw new Error(`${this.#name} ended with code ${String(code)}`)
      })
      this.#child.send(question)
      const [answer] = await Promise.race([reply, end])
      return answer // Both ends of the channel are built from the same types.
    } finally {
      ended.abort()
    }
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    if (this.#child.connected) this.#child.disconnect()
    await ended
  }
}

/** The helper's side: answers each message, and ends with the process that asks. */
export function helpWith<Question, Reply>(answer: (question: Question) => Promise<Reply>): void {
  process.on('message', async (question: Question) => process.send?.(await answer(question)))
  process.on('disconnect', () => process.exit())
  if (!process.connected) process.exit() // It was not needed after all, and is told so no more.
  // Ctrl-C reaches every process of the terminal. The one that asks decides when this one ends.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => process.exit(143)) // By way of the exit listeners, which remove what was begun.
}
