import type { Writable } from 'node:stream'

/** Where the progress of a command is shown. */
export interface ProgressOutput extends Pick<Writable, 'write'> {
  /** Whether it is a terminal, on which a line can be rewritten. */
  readonly isTTY?: boolean
}

/** How often progress is shown on a terminal, and elsewhere. */
const shown_ms = { terminal: 200, lines: 5000 } as const

const bar_characters = 24

/**
 * Shows the progress of a command: on a terminal in one line that changes, with rate and time left; elsewhere in occasional
 * lines.
 */
export class Progress {
  readonly #what: string
  readonly #unit: 'bytes' | 'records'
  readonly #output: ProgressOutput
  readonly #begun_ms = performance.now()
  #total: number | undefined
  #shown_ms = performance.now()
  #done = 0

  constructor(what: string, unit: 'bytes' | 'records', total: number | undefined, output: ProgressOutput) {
    this.#what = what
    this.#unit = unit
    this.#total = total
    this.#output = output
  }

  /** The total done so far. */
  at(done: number): void {
    this.#done = done
    const now_ms = performance.now()
    if (now_ms - this.#shown_ms < (this.#isTerminal ? shown_ms.terminal : shown_ms.lines)) return
    this.#shown_ms = now_ms
    this.#show()
  }

  /** Adds to the total. */
  add(done: number): void {
    this.at(this.#done + done)
  }

  /** The command has ended, well or not: frees the line for other output. */
  end(): void {
    if (this.#isTerminal) this.#output.write('\r\u001b[K')
  }

  get #isTerminal(): boolean {
    return this.#output.isTTY === true
  }

  #show(): void {
    const passed_s = (performance.now() - this.#begun_ms) / 1000
    const rate = this.#done / Math.max(passed_s, 0.001)
    const parts = [
      this.#what,
      ...this.#part(),
      this.#amount(this.#done),
      `${this.#amount(rate)}/s`,
      ...this.#left(rate),
    ]
    const line = parts.join('  ')
    this.#output.write(this.#isTerminal ? `\r\u001b[K${line}` : `${line}\n`)
  }

  #part(): readonly string[] {
    if (this.#total === undefined || this.#total === 0) return []
    const part = Math.min(1, this.#done / this.#total)
    const percent = `${Math.floor(part * 100)} %`
    if (!this.#isTerminal) return [percent]
    const full = Math.round(part * bar_characters)
    return [`[${'#'.repeat(full)}${'.'.repeat(bar_characters - full)}] ${percent}`]
  }

  #left(rate: number): readonly string[] {
    if (this.#total === undefined || rate === 0) return []
    return [`${Math.ceil(Math.max(0, this.#total - this.#done) / rate)} s left`]
  }

  #amount(amount: number): string {
    return this.#unit === 'bytes' ? sizeText(amount) : `${Math.round(amount)} records`
  }
}

const sizeUnits = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** A number of bytes for people: `88.6 MB`. */
export function sizeText(bytes: number): string {
  let [size, at] = [bytes, 0]
  // Not 1000.0 of a unit: it is 1.0 of the next one.
  for (; size >= 999.95 && at < sizeUnits.length - 1; at += 1) size /= 1000
  return `${at === 0 ? Math.round(size) : size.toFixed(1)} ${sizeUnits[at]}`
}
