import { CommandFailure } from './command.js'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Does work that a signal ends as a failure does: what was begun is removed, and why it has ended is said. The work looks at
 * `interrupted` between its steps. A second signal of the same kind ends the process at once.
 */
export async function interruptibly<T>(work: (interrupted: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController()
  const stop = (signal: NodeJS.Signals): void =>
    interruption.abort(new CommandFailure(`it was interrupted (${signal})`))
  for (const signal of signals) process.once(signal, stop)
  try {
    return await work(interruption.signal)
  } catch (fault) {
    // What fails because it was stopped says something else.
    interruption.signal.throwIfAborted()
    throw fault
  } finally {
    for (const signal of signals) process.off(signal, stop)
  }
}
