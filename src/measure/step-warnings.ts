import type { Log } from '../log/log.js'
import type { StepTable } from './step-table.js'

/** How often the main thread looks for steps that were too long. */
const interval_ms = 500

/** A thread as lines of the log call it, and its row. */
interface NamedThread {
  readonly name: string
  readonly row: number
}

/** Has the main thread log the steps of all threads that were too long, until the function that it gives is called. */
export function logLongSteps(table: StepTable, threads: readonly NamedThread[], log: Log): () => void {
  const look = (): void => {
    for (const { name, row } of threads) {
      const long = table.takeLong(row)
      if (long === undefined) continue
      const others = long.count > 1 ? `; ${long.count - 1} shorter ones since the last such line` : ''
      log.warn('steps:long', `${name} did nothing else for ${long.length / 1_000_000n} ms: ${long.text}${others}`)
    }
  }
  const timer = setInterval(look, interval_ms).unref()
  return () => {
    clearInterval(timer)
    look()
  }
}
