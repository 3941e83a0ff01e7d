import { type ItemCounts, type ItemSource, itemName, noCounts, type Outcome, type Sink, type Sourced } from './items.js'

/** Something that was not imported, or not all of it. */
export interface NotTaken {
  readonly where: string
  /** The item; empty for a line that says none. */
  readonly what: string
  readonly reason: string
  /** Whether it is only a part of the item, and the rest was imported. */
  readonly isPart: boolean
}

/** What became of items that were not refused. */
type Taken = Exclude<Outcome['kind'], 'refused'>

/** What an import came to. */
export interface ImportResult {
  readonly counts: Readonly<Record<Taken, Readonly<ItemCounts>>>
  /** How many things were not imported, or not as a whole. */
  readonly notTaken: number
  /** Whether it stopped at something that could not be imported. */
  readonly hasStopped: boolean
}

export interface ImportSettings {
  /** Goes on after what cannot be imported. */
  readonly keepsGoing: boolean
  /** Hears of everything that was not imported, or not as a whole. */
  readonly report: (notTaken: NotTaken) => void
  /** Hears how many items were read so far, now and then. */
  readonly progressed: (items: number) => void
}

/** Items that are given to a sink together. */
const together = 2000

/** Takes everything from a source to a sink, in order. What comes before something that stops it has been taken. */
export async function runImport(source: ItemSource, sink: Sink, settings: ImportSettings): Promise<ImportResult> {
  const run = new ImportRun(sink, settings)
  for await (const piece of source.pieces) {
    for (const sourced of piece) {
      await run.take(sourced)
      if (run.hasStopped) return run
    }
  }
  await run.flush()
  return run
}

class ImportRun implements ImportResult {
  readonly counts = { created: noCounts(), replaced: noCounts(), skipped: noCounts() }
  notTaken = 0
  hasStopped = false
  readonly #sink: Sink
  readonly #settings: ImportSettings
  #waiting: Extract<Sourced, { kind: 'item' }>[] = []
  #items = 0

  constructor(sink: Sink, settings: ImportSettings) {
    this.#sink = sink
    this.#settings = settings
  }

  async take(sourced: Sourced): Promise<void> {
    if (sourced.kind === 'item') {
      this.#waiting.push(sourced)
      if (this.#waiting.length >= together) await this.flush()
      return
    }
    await this.flush()
    if (!this.hasStopped) this.#refused({ ...sourced, what: '', isPart: false })
  }

  /** Gives the sink what waits. */
  async flush(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    if (waiting.length === 0) return
    const outcomes = await this.#sink.put(waiting.map(({ item }) => item))
    for (const [at, sourced] of waiting.entries()) {
      const outcome = outcomes[at]
      if (outcome !== undefined) this.#note(sourced, outcome)
    }
    this.#items += waiting.length
    this.#settings.progressed(this.#items)
  }

  #note({ item, where, losses = [] }: Extract<Sourced, { kind: 'item' }>, outcome: Outcome): void {
    const what = itemName(item)
    if (outcome.kind === 'refused') {
      this.#refused({ where, what, reason: outcome.reason, isPart: false })
      return
    }
    this.counts[outcome.kind][item.kind] += 1
    if (outcome.kind === 'skipped') return
    for (const reason of [...losses, ...(outcome.losses ?? [])]) {
      this.notTaken += 1
      this.#settings.report({ where, what, reason, isPart: true })
    }
  }

  #refused(notTaken: NotTaken): void {
    this.notTaken += 1
    this.#settings.report(notTaken)
    if (!this.#settings.keepsGoing) this.hasStopped = true
  }
}
