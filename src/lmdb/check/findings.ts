/** Something that is not as it should be. */
export interface Finding {
  readonly file: string
  /** Of the record or entry; nothing for the file as a whole. */
  readonly key: string | undefined
  readonly what: string
}

/** More than anybody reads, of one database and in all: the others are counted. One kind of damage does not hide the others. */
const toldMost = { ofOne: 50, all: 500 } as const

/** What a check has found: the first findings of each database are told, all are counted. */
export class Findings {
  readonly #tell: (finding: Finding) => void
  /** How many each file, or database in it, has. */
  readonly #counts = new Map<string, number>()
  #count = 0
  #told = 0

  constructor(tell: (finding: Finding) => void) {
    this.#tell = tell
  }

  get count(): number {
    return this.#count
  }

  /** How many were not told. */
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

  /** What the function gives; what it throws is a finding, and gives nothing. */
  attempt<Thing>(
    file: string,
    key: readonly unknown[] | undefined,
    what: string,
    read: () => Thing,
  ): Thing | undefined {
    try {
      return read()
    } catch (fault) {
      this.add(file, key, `${what} (${fault instanceof Error ? fault.message : fault})`)
      return undefined
    }
  }
}
