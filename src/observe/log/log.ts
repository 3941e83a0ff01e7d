import type { IncomingHttpHeaders } from 'node:http'
import { err } from 'pino-std-serializers'
import { type LogLevel, logLevels, type Switches } from '../../threads/shared-memory/switches.js'
import { type Milliseconds, now } from '../../time.js'
import { textWithoutSecrets } from './secrets.js'
import { type TraceArea, traceArea } from './trace.js'

/** Numbers and texts beside the message; durations in ns as texts. Their names are stable per operation [management 10.2]. */
export type Facts = Readonly<Record<string, string | number | boolean | undefined>>

/** The request of a line [management 10.3]; `N/A` outside of requests. */
export interface LineContext {
  readonly corr: string
  readonly trans: string
  readonly from: string
  readonly srv: string
  readonly subsrv: string
}

/** The level of a line: NONE is only for the log level, and summaries are shown at every level [management 10.1]. */
type LineLevel = Exclude<LogLevel, 'NONE'> | 'SUMMARY'

/** A line before it is rendered: plain data that can be sent to other threads. */
export interface Line {
  readonly time: Milliseconds
  readonly level: LineLevel
  readonly op: string
  readonly message: string
  readonly facts: Facts | undefined
  readonly context: LineContext | undefined
  readonly area: TraceArea | undefined
  readonly partition: number | undefined
}

/** The lines that a thread hands over to the writing thread. */
export interface HandedLines {
  readonly lines: readonly Line[]
  /** The lines that the thread has dropped since the last handover. */
  readonly dropped: number
}

/** The weight of a line in queues between threads: one, and one for each KiB of its texts. */
export function lineWeight({ message, context }: Line): number {
  const { corr = '', from = '', srv = '', subsrv = '' } = context ?? {}
  return 1 + ((message.length + corr.length + from.length + srv.length + subsrv.length) >> 10)
}

/** The log of one thread: filters lines by level and hands them on [management 10.1]. */
export class LineLog {
  /** 1 where a trace level is on. */
  readonly traces: Uint8Array
  readonly #switches: Switches
  readonly #put: (line: Line) => void
  readonly #partition: number | undefined

  constructor(switches: Switches, put: (line: Line) => void, partition?: number) {
    this.traces = switches.traces
    this.#switches = switches
    this.#put = put
    this.#partition = partition
  }

  /** Whether lines of an area are shown now, for callers whose text is costly to build. */
  isTraced(area: TraceArea): boolean {
    return this.traces[traceArea[area]] === 1
  }

  /**
   * Whether lines of a level are shown now, by the log level and by the verbosity, which raises it; NONE silences both
   * [management 3.1].
   */
  shows(level: LogLevel): boolean {
    const shown = this.#switches.get('logLevel')
    const verbosity = this.#switches.get('verbosity')
    const raised = verbosity === 0 ? none : verbosity === 1 ? info : debug
    const index = logLevels.indexOf(level)
    return shown !== none && index !== none && index <= Math.max(shown, raised)
  }

  fatal(op: string, message: string, facts?: Facts, context?: LineContext): void {
    this.#maybe('FATAL', op, message, facts, context)
  }

  error(op: string, message: string, facts?: Facts, context?: LineContext): void {
    this.#maybe('ERROR', op, message, facts, context)
  }

  warn(op: string, message: string, facts?: Facts, context?: LineContext): void {
    this.#maybe('WARN', op, message, facts, context)
  }

  info(op: string, message: string, facts?: Facts, context?: LineContext): void {
    this.#maybe('INFO', op, message, facts, context)
  }

  debug(op: string, message: string, facts?: Facts, context?: LineContext): void {
    this.#maybe('DEBUG', op, message, facts, context)
  }

  /** A line of a trace area, shown while its level is on, whatever the log level (except NONE) [management 2.1]. */
  trace(area: TraceArea, message: string, facts?: Facts, context?: LineContext): void {
    if (!this.isTraced(area) || this.#switches.get('logLevel') === none) return
    this.line('DEBUG', area, message, facts, context, area)
  }

  /** A line that is shown at every level. */
  protected line(
    level: LineLevel,
    op: string,
    message: string,
    facts?: Facts,
    context?: LineContext,
    area?: TraceArea,
  ): void {
    const shown = shownLine(message, facts, context)
    this.#put({ time: now(), level, op, ...shown, area, partition: this.#partition })
  }

  #maybe(level: LineLevel & LogLevel, op: string, message: string, facts?: Facts, context?: LineContext): void {
    if (this.shows(level)) this.line(level, op, message, facts, context)
  }
}

/** The log of a thread, as its users see it. */
export type Log = Pick<LineLog, keyof LineLog>

/** The message, facts and context of a line with secrets hidden: every line of every thread passes here [management 10.5]. */
export function shownLine(
  message: string,
  facts: Facts | undefined,
  context: LineContext | undefined,
): Pick<Line, 'message' | 'facts' | 'context'> {
  return {
    message: textWithoutSecrets(message),
    facts: facts && shownMembers(facts),
    context: context && shownMembers(context),
  }
}

/** The same object if it has no secrets, as nearly always. */
function shownMembers<Members extends Facts | LineContext>(members: Members): Members {
  const secret = Object.entries(members).flatMap(([name, value]) => {
    if (typeof value !== 'string') return []
    const shown = textWithoutSecrets(value)
    return shown === value ? [] : [[name, shown] as const]
  })
  return secret.length === 0 ? members : { ...members, ...Object.fromEntries(secret) }
}

/** A fault as facts: its message, and its stack with those of its causes. */
export function errorFacts(fault: unknown): Facts {
  if (!(fault instanceof Error)) return { error: String(fault) }
  return { error: `${fault.name}: ${fault.message}`, errorStack: err(fault).stack }
}

interface RequestHead {
  readonly correlator: string
  readonly headers: IncomingHttpHeaders
}

/** The context of lines about a request, from its head [management 10.3]. */
export function lineContextOf({ correlator, headers }: RequestHead): LineContext {
  return {
    corr: correlator,
    trans: 'N/A',
    from: header(headers['x-real-ip']) ?? header(headers['x-forwarded-for']) ?? 'N/A',
    srv: header(headers['fiware-service']) ?? '<none>',
    subsrv: header(headers['fiware-servicepath']) ?? '<none>',
  }
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

const none = logLevels.indexOf('NONE')
const info = logLevels.indexOf('INFO')
const debug = logLevels.indexOf('DEBUG')
