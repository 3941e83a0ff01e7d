import { faultText } from '../../../faults.js'
/** One fault that a check has found. */
export interface Finding {
  readonly file: string
  /** The key of the record or entry; undefined for the file as a whole. */
  readonly key: string | undefined
  readonly what: string
}

/** The most findings that are reported, of one database and in all; the others are counted. One kind of damage does not hide the others. */
const toldMost = { ofOne: 50, all: 500 } as const

/** The findings of a check: the first ones of each database are reported, all are counted. */
export class Findings {
  readonly #tell: (finding: Finding) => void
  /** The number of findings of each file, or of each database in it. */
  readonly #counts = new Map<string, number>()
  #count = 0
  #told = 0

  constructor(tell: (finding: Finding) => void) {
    this.#tell = tell
  }

  get count(): number {
    return this.#count
  }

  /** The number of findings that were not reported. */
  get untold(): number {
    return this.#count - this.#told
  }

  add(file: string, key: readonly unknown[] | undefined, what: string): void {
    const before = this.#counts.get(file) ?? 0
    this.#counts.set(file, before + 1)
    this.#count += 1
    if (before >= toldMost.ofOne || this.#told >= toldMost.all) return
    this.#told += 1
    this.#tell({ file, key: key && JSON.stringify(key), what })
  }

  /** Reports what an operator should know of a file that is sound, and does not count it. */
  note(file: string, what: string): void {
    this.#tell({ file, key: undefined, what })
  }

  /** The result of a function; if it throws, the fault is a finding and the result undefined. */
  attempt<Thing>(
    file: string,
    key: readonly unknown[] | undefined,
    what: string,
    read: () => Thing,
  ): Thing | undefined {
    try {
      return read()
    } catch (fault) {
      this.add(file, key, `${what} (${faultText(fault)})`)
      return undefined
    }
  }
}
