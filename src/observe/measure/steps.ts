import { numberOf } from '../../number-of.js'
import { CounterTable, type CounterTableMemory } from '../../threads/shared-memory/counter-table.js'
import type { Switches } from '../../threads/shared-memory/switches.js'
import type { Nanoseconds } from '../../time.js'
import type { Log } from '../log/log.js'

/** The memory of the table, for threads that open it. */
export interface StepTableMemory {
  readonly counters: CounterTableMemory
  readonly texts: SharedArrayBuffer
}

/** A step of an event loop that took too long. */
interface LongStep {
  readonly length: Nanoseconds
  /** What was worked on, as a text for the log. */
  readonly text: string
}

const columns = ['window', 'longest', 'longestBefore', 'warned', 'length', 'logged'] as const
type Column = (typeof columns)[number]

const text_bytes = 512
/** How long a step counts as the longest one, at least; at most twice as long. */
const window: Nanoseconds = 60_000_000_000n

/**
 * The longest steps of the event loop of each thread: each thread writes its own row. A step is work that does not give way to
 * anything else. Of the steps that were too long and have not been logged, the longest is stored as a text: the main thread logs
 * it, also for threads without a log and for ended ones.
 */
export class StepTable {
  readonly #counters: CounterTable
  readonly #texts: Uint8Array

  static make(rows: number, at: Nanoseconds): StepTableMemory {
    return {
      counters: CounterTable.make(rows, columns.length, 0, at).memory,
      texts: new SharedArrayBuffer(rows * text_bytes),
    }
  }

  constructor({ counters, texts }: StepTableMemory) {
    this.#counters = new CounterTable(counters)
    this.#texts = new Uint8Array(texts)
  }

  get rows(): number {
    return this.#counters.rows
  }

  /** The longest step of a thread within the last minute or two. */
  longest(row: number, now: Nanoseconds): Nanoseconds {
    const age = now / window - this.#value(row, 'window')
    const [longest, before] = [this.#value(row, 'longest'), this.#value(row, 'longestBefore')]
    if (age > 1n) return 0n
    return age === 1n || longest > before ? longest : before
  }

  /** A step has ended; for its own thread only. */
  ended(row: number, length: Nanoseconds, now: Nanoseconds): void {
    const at = now / window
    const passed = at - this.#value(row, 'window')
    if (passed > 0n) {
      this.#put(row, 'longestBefore', passed === 1n ? this.#value(row, 'longest') : 0n)
      this.#put(row, 'longest', 0n)
      this.#put(row, 'window', at)
    }
    if (length > this.#value(row, 'longest')) this.#put(row, 'longest', length)
  }

  /** A step was too long; for its own thread only. */
  warn(row: number, { length, text }: LongStep): void {
    const isFirst = this.#value(row, 'logged') === this.#value(row, 'warned')
    if (isFirst || length > this.#value(row, 'length')) this.#write(row, { length, text })
    this.#put(row, 'warned', this.#value(row, 'warned') + 1n)
  }

  #write(row: number, { length, text }: LongStep): void {
    const bytes = Buffer.from(text).subarray(0, text_bytes)
    this.#texts.fill(0, row * text_bytes, (row + 1) * text_bytes)
    this.#texts.set(bytes, row * text_bytes)
    this.#put(row, 'length', length)
  }

  /** Takes the longest of the steps that were too long, and their number; for the main thread only. */
  takeLong(row: number): (LongStep & { readonly count: number }) | undefined {
    const warned = this.#value(row, 'warned')
    const count = Number(warned - this.#value(row, 'logged'))
    if (count === 0) return undefined
    const long = this.#long(row)
    this.#put(row, 'logged', warned)
    return { ...long, count }
  }

  #long(row: number): LongStep {
    const bytes = Buffer.from(this.#texts.slice(row * text_bytes, (row + 1) * text_bytes))
    const end = bytes.indexOf(0)
    return { length: this.#value(row, 'length'), text: bytes.toString('utf8', 0, end === -1 ? text_bytes : end) }
  }

  #value(row: number, column: Column): bigint {
    return this.#counters.value(row, columns.indexOf(column))
  }

  #put(row: number, column: Column, value: bigint): void {
    this.#counters.put(row, columns.indexOf(column), value)
  }
}

/** How often a thread checks for long steps without a name. */
const look_ms = 100
/** Shorter steps get no name. */
const named_ms = 1
/** Below this share of one processor's time the process waited or was suspended: its threads did not work. */
const atWork = 1 / 10

/** The subject of a thread's work, in the words of log lines. */
export interface StepSubject {
  readonly stepName: string
  readonly step_bytes: number
}

/**
 * The steps of this thread's event loop. Entry points that know their subject name their steps; steps without a name are found by
 * a late timer. A named step reads the clock twice, which costs a small request several hundredths of its time: steps of small
 * requests are begun by `beginShort` and found by the timer.
 */
export class LoopSteps {
  readonly #table: StepTable
  readonly #row: number
  readonly #switches: Switches
  #longest_ms = 0
  #what = ''
  #bytes = 0
  /** The subject of the last step that began with a name. */
  #last: StepSubject | undefined
  /** Subjects of work in slices, whose slices have no names of their own, and those that ended a moment ago. */
  readonly #sliced = new Set<StepSubject>()
  #leftSliced: StepSubject | undefined

  constructor(table: StepTable, row: number, switches: Switches) {
    this.#table = table
    this.#row = row
    this.#switches = switches
  }

  /** Begins a step that is not timed by itself. If the timer finds a long step, the line names the last subject given here. */
  beginShort(subject: StepSubject): void {
    this.#last = subject
  }

  /** Begins a step; pass the result to `isLong` when the step ends. */
  begin(subject?: StepSubject): number {
    this.#last = subject
    return performance.now()
  }

  /** Ends a step; says whether it is the longest one for a while: then call `name`. */
  isLong(since: number): boolean {
    const length_ms = performance.now() - since
    if (length_ms < named_ms || length_ms <= this.#longest_ms) return false
    this.#longest_ms = length_ms
    return true
  }

  /** Names the step that was just found to be long (route, kind of command or the like), with the length of its input. */
  name(what: string, bytes: number): void {
    this.#what = what
    this.#bytes = bytes
  }

  /** Begins work in slices: steps without a name may be part of it. */
  beginSlices(subject: StepSubject): void {
    this.#sliced.add(subject)
  }

  /** Ends work in slices; does nothing if there was none. */
  endSlices(subject: StepSubject): void {
    if (this.#sliced.size > 0 && this.#sliced.delete(subject)) this.#leftSliced = subject
  }

  /** Checks for long steps until the function that it gives is called. */
  watch(): () => void {
    let looked_ms = performance.now()
    let used_ms = processUsed_ms()
    const look = (): void => {
      const now_ms = performance.now()
      const before_ms = used_ms
      used_ms = processUsed_ms()
      this.#look(now_ms - looked_ms - look_ms, used_ms - before_ms)
      looked_ms = now_ms
    }
    const timer = setInterval(look, look_ms).unref()
    return () => clearInterval(timer)
  }

  #look(late_ms: number, used_ms: number): void {
    // A timer is late by less than the step that it waited for.
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
    const named = `${this.#what}, ${numberOf(this.#bytes, 'byte')}`
    if (isNamed && this.#what !== '') return named
    if (this.#what !== '' && this.#sliced.size === 0)
      return `unnamed work; the longest work with a name took ${Math.round(this.#longest_ms)} ms: ${named}`
    const [sliced = this.#leftSliced] = this.#sliced
    if (sliced !== undefined)
      return `a slice of ${sliced.stepName}, ${numberOf(sliced.step_bytes, 'byte')}, or unnamed work`
    return this.#last === undefined
      ? 'unnamed work'
      : `unnamed work, after ${this.#last.stepName}, ${numberOf(this.#last.step_bytes, 'byte')}`
  }
}

/** The processor time of all threads of this process. */
function processUsed_ms(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** How often the main thread checks for steps that were too long. */
const interval_ms = 500

/** A thread's name in log lines, and its row. */
interface NamedThread {
  readonly name: string
  readonly row: number
}

/** Logs the long steps of all threads, in the main thread, until the function that it gives is called. */
export function logLongSteps(table: StepTable, threads: readonly NamedThread[], log: Log): () => void {
  const look = (): void => {
    for (const { name, row } of threads) {
      const long = table.takeLong(row)
      if (long === undefined) continue
      const others = long.count > 1 ? `; ${numberOf(long.count - 1, 'shorter one')} since the last such line` : ''
      log.warn('steps:long', `${name} was held up for ${long.length / 1_000_000n} ms: ${long.text}${others}`)
    }
  }
  const timer = setInterval(look, interval_ms).unref()
  return () => {
    clearInterval(timer)
    look()
  }
}
