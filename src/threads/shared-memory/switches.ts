/** Settings that operators change while the broker runs, in memory that all threads share [management 2, 3, 4.7]. */

export const logLevels = ['NONE', 'FATAL', 'ERROR', 'WARN', 'INFO', 'DEBUG'] as const
export type LogLevel = (typeof logLevels)[number]

const settingNames = [
  'logLevel', // index in logLevels
  'verbosity',
  'infoPayloadMaxSize',
  'lineMaxSize',
  'deprecate',
  'statCounters',
  'statSemWait',
  'statTiming',
  'statNotifQueue',
  'slowAbove_ms', // slower requests are recorded; 0 for none
  'stepWarning_ms', // longer steps of an event loop are logged; 0 for none
  'disableMetrics', // nothing is recorded by service and subservice
] as const
export type SettingName = (typeof settingNames)[number]

export interface SwitchMemory {
  readonly traceLevels: SharedArrayBuffer
  readonly traceReturn: SharedArrayBuffer
  readonly settings: SharedArrayBuffer
}

/** A view of the settings. Reading one is one load from shared memory; every thread sees a change at once. */
export class Switches {
  readonly memory: SwitchMemory
  /** 1 where a trace level is on. A trace line that is off costs only the load of its cell. */
  readonly traces: Uint8Array
  /** The trace levels to restore when a limited time of tracing ends. */
  readonly traceReturn: TraceReturn
  readonly #settings: Int32Array

  constructor(memory: SwitchMemory = newMemory()) {
    this.memory = memory
    this.traces = new Uint8Array(memory.traceLevels)
    this.traceReturn = new TraceReturn(memory.traceReturn)
    this.#settings = new Int32Array(memory.settings)
  }

  get(name: SettingName): number {
    return Atomics.load(this.#settings, settingIndex[name])
  }

  set(name: SettingName, value: number): void {
    Atomics.store(this.#settings, settingIndex[name], value)
  }
}

const settingIndex = Object.fromEntries(settingNames.map((name, index) => [name, index])) as Record<SettingName, number>

const traceLevels = 256

function newMemory(): SwitchMemory {
  return {
    traceLevels: new SharedArrayBuffer(traceLevels),
    traceReturn: TraceReturn.memory(traceLevels),
    settings: new SharedArrayBuffer(settingNames.length * Int32Array.BYTES_PER_ELEMENT),
  }
}

const number = 0
const isDue = 1
const cells_bytes = 2 * Int32Array.BYTES_PER_ELEMENT

/** The trace levels to restore when a limited time of tracing ends; shared by all threads. */
class TraceReturn {
  readonly #cells: Int32Array
  readonly #before: Uint8Array

  static memory(levels: number): SharedArrayBuffer {
    return new SharedArrayBuffer(cells_bytes + levels)
  }

  constructor(memory: SharedArrayBuffer) {
    this.#cells = new Int32Array(memory, 0, 2)
    this.#before = new Uint8Array(memory, cells_bytes)
  }

  /**
   * Begins a limited time of other levels; gives its number. One that begins before the end of another takes its place, and
   * restores the levels from before both.
   */
  begin(levels: Uint8Array): number {
    if (Atomics.exchange(this.#cells, isDue, 1) === 0) this.#before.set(levels)
    return Atomics.add(this.#cells, number, 1) + 1
  }

  /** The current levels stay: nothing is restored. */
  cancel(): void {
    Atomics.add(this.#cells, number, 1)
    Atomics.store(this.#cells, isDue, 0)
  }

  /** The levels to restore at the end of a limited time; undefined when it was cancelled, or another one has taken its place. */
  end(begun: number): Uint8Array | undefined {
    if (Atomics.compareExchange(this.#cells, number, begun, begun + 1) !== begun) return undefined
    Atomics.store(this.#cells, isDue, 0)
    return this.#before.slice()
  }
}
