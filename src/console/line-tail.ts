import { type EventSink, encodedEvent } from '../event-stream.js'
import { forms } from '../log/form.js'
import type { Line } from '../log/log.js'
import type { MainLog } from '../log/main-log.js'

/** Which lines of the log somebody wants to see: those for which all holds that is said here. */
export interface LineFilter {
  readonly levels?: readonly string[] | undefined
  /** Names of trace areas. */
  readonly areas?: readonly string[] | undefined
  /** Somewhere in the message, or in the value of a fact. */
  readonly text?: string | undefined
  readonly correlator?: string | undefined
  readonly tenant?: string | undefined
}

/** The log of the process, through which the lines of all threads go. */
export type LineSource = Pick<MainLog, 'listen'>

/** For one viewer, in a second: nobody reads more, and what is not read costs updates nothing. */
const most = 200
const second_ms = 1000
/** Lines go out together. */
const gathered_ms = 100
/** A longer line is cut: nothing else may make a viewer expensive. */
const longest_bytes = 8192

/** Sends the lines that pass a filter, as events `line`, and how many were left out, as events `skipped`, until the function that it gives is called. */
export function watchLines(log: LineSource, filter: LineFilter, sink: EventSink): () => void {
  const tail = new LineTail(sink)
  const passes = passing(filter)
  const stop = log.listen((line) => {
    if (passes(line)) tail.take(line)
  })
  return () => {
    stop()
    tail.end()
  }
}

/** The lines of one viewer. */
class LineTail {
  readonly #sink: EventSink
  #lines: Uint8Array[] = []
  #timer: NodeJS.Timeout | undefined
  #since_ms = 0
  #taken = 0
  #skipped = 0

  constructor(sink: EventSink) {
    this.#sink = sink
  }

  take(line: Line): void {
    const now_ms = performance.now()
    if (now_ms - this.#since_ms >= second_ms) {
      this.#since_ms = now_ms
      this.#taken = 0
    }
    this.#taken += 1
    if (this.#taken > most) this.#skipped += 1
    else this.#lines.push(encodedEvent('line', forms.json(line, longest_bytes).trimEnd()))
    this.#timer ??= setTimeout(() => this.#send(), gathered_ms)
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #send(): void {
    this.#timer = undefined
    const lines = this.#lines
    this.#lines = []
    if (lines.length > 0 && !this.#sink.put(Buffer.concat(lines))) this.#skipped += lines.length
    if (this.#skipped === 0) return
    // Said once for each second, when it is over.
    const left_ms = this.#since_ms + second_ms - performance.now()
    if (left_ms > 0) this.#timer = setTimeout(() => this.#send(), Math.min(gathered_ms, left_ms))
    else if (this.#sink.put(encodedEvent('skipped', JSON.stringify({ lines: this.#skipped })))) this.#skipped = 0
  }
}

function passing({ levels, areas, text, correlator, tenant }: LineFilter): (line: Line) => boolean {
  const ofLevels = levels && new Set<string>(levels)
  const ofAreas = areas && new Set<string>(areas)
  return ({ level, area, message, facts, context }) => {
    if (ofLevels !== undefined && !ofLevels.has(level)) return false
    if (ofAreas !== undefined && (area === undefined || !ofAreas.has(area))) return false
    if (correlator !== undefined && context?.corr !== correlator) return false
    if (tenant !== undefined && context?.srv.toLowerCase() !== tenant) return false
    if (text === undefined || message.includes(text)) return true
    return facts !== undefined && Object.values(facts).some((fact) => String(fact).includes(text))
  }
}
