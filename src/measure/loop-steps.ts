import type { Switches } from '../shared-memory/switches.js'
import type { StepTable } from './step-table.js'

/** How often a thread looks for steps that nobody has named. */
const look_ms = 100
/** Shorter steps are not worth a name. */
const named_ms = 1
/** Below this share of one processor's time the process has waited or was suspended: its threads were not at work. */
const atWork = 1 / 10

/** What a thread works on, as lines of the log call it. */
export interface StepSubject {
  readonly stepName: string
  readonly step_bytes: number
}

/**
 * The steps of this thread's event loop. Entry points that know what they work on name their steps; steps without a name
 * are found by how late a timer is. A named step reads the clock twice, which for small requests would be several hundredths of
 * what they cost: their steps are begun by `beginShort`, and found by the timer.
 */
export class LoopSteps {
  readonly #table: StepTable
  readonly #row: number
  readonly #switches: Switches
  #longest_ms = 0
  #what = ''
  #bytes = 0
  /** What named the last step that began. */
  #last: StepSubject | undefined
  /** What is worked on in slices, of which none has a name of its own; and what was until a moment ago. */
  readonly #sliced = new Set<StepSubject>()
  #leftSliced: StepSubject | undefined

  constructor(table: StepTable, row: number, switches: Switches) {
    this.#table = table
    this.#row = row
    this.#switches = switches
  }

  /** A step begins that is not timed by itself. If the timer finds a long step, the line names the last one that began so. */
  beginShort(subject: StepSubject): void {
    this.#last = subject
  }

  /** A step begins; what it gives is handed to `isLong` when the step ends. */
  begin(subject?: StepSubject): number {
    this.#last = subject
    return performance.now()
  }

  /** A step ends. Whether it is the longest one for a while: then `name` says what it was. */
  isLong(since: number): boolean {
    const length_ms = performance.now() - since
    if (length_ms < named_ms || length_ms <= this.#longest_ms) return false
    this.#longest_ms = length_ms
    return true
  }

  /** The route, the kind of a command and the like of the step that was just found to be long, and the length of what it worked on. */
  name(what: string, bytes: number): void {
    this.#what = what
    this.#bytes = bytes
  }

  /** Work in slices begins: steps without a name may be a part of it. */
  beginSlices(subject: StepSubject): void {
    this.#sliced.add(subject)
  }

  /** Work in slices is over; does nothing if there was none. */
  endSlices(subject: StepSubject): void {
    if (this.#sliced.size > 0 && this.#sliced.delete(subject)) this.#leftSliced = subject
  }

  /** Looks for long steps until the function that it gives is called. */
  watch(): () => void {
    let looked_ms = performance.now()
    let usage = process.cpuUsage()
    const look = (): void => {
      const now_ms = performance.now()
      const used = process.cpuUsage(usage)
      this.#look(now_ms - looked_ms - look_ms, (used.user + used.system) / 1000)
      looked_ms = now_ms
      usage = process.cpuUsage()
    }
    const timer = setInterval(look, look_ms).unref()
    return () => clearInterval(timer)
  }

  #look(late_ms: number, used_ms: number): void {
    // A timer is late by less than the step that it has waited for.
    const isNamed = this.#longest_ms * 2 >= late_ms
    // While the process is stopped or gets no processor every timer is late, and no thread works.
    const unnamed_ms = used_ms >= late_ms * atWork ? late_ms : 0
    const length_ms = isNamed ? this.#longest_ms : unnamed_ms
    const length = BigInt(Math.max(0, Math.round(length_ms * 1e6)))
    this.#table.ended(this.#row, length, process.hrtime.bigint())
    const warning_ms = this.#switches.get('stepWarning_ms')
    if (warning_ms > 0 && length_ms > warning_ms) {
      const text = `${this.#text(isNamed)}; the process used ${Math.round(used_ms)} ms of processor time meanwhile`
      this.#table.warn(this.#row, { length, text })
    }
    this.#leftSliced = undefined
    this.#longest_ms = 0
    this.#what = ''
  }

  #text(isNamed: boolean): string {
    const named = `${this.#what}, ${this.#bytes} bytes`
    if (isNamed && this.#what !== '') return named
    if (this.#what !== '' && this.#sliced.size === 0)
      return `unnamed, beside ${Math.round(this.#longest_ms)} ms of ${named}`
    const [sliced = this.#leftSliced] = this.#sliced
    if (sliced !== undefined) return `a slice of ${sliced.stepName}, ${sliced.step_bytes} bytes, or unnamed`
    return this.#last === undefined
      ? 'unnamed'
      : `unnamed, after ${this.#last.stepName}, ${this.#last.step_bytes} bytes`
  }
}
