import type { LogLevel } from './measure/switches.js'
import type { TraceArea } from './trace-area.js'

/** Numbers and texts beside the message; durations in ns as texts. Their names are stable per operation [management 10.2]. */
export type Facts = Readonly<Record<string, string | number | boolean | undefined>>

/** On whose behalf a line is written [management 10.3]; `N/A` outside of requests. */
export interface LineContext {
  readonly corr: string
  readonly trans: string
  readonly from: string
  readonly srv: string
  readonly subsrv: string
}

/** Where lines go. One per thread; lines of workers are handed over to the thread that writes. */
export interface Log {
  /** 1 where a trace level is on. Callers look here first: `if (log.traces[traceArea['storage.txn']]) log.trace(…)`. */
  readonly traces: Uint8Array
  /** Whether lines of this level are shown now, for callers whose text costs something to build. */
  shows(level: LogLevel): boolean
  fatal(op: string, message: string, facts?: Facts, context?: LineContext): void
  error(op: string, message: string, facts?: Facts, context?: LineContext): void
  warn(op: string, message: string, facts?: Facts, context?: LineContext): void
  info(op: string, message: string, facts?: Facts, context?: LineContext): void
  debug(op: string, message: string, facts?: Facts, context?: LineContext): void
  /** A line of a trace area, shown while its level is on, whatever the log level (except NONE) [management 2.1]. */
  trace(area: TraceArea, message: string, facts?: Facts, context?: LineContext): void
}
