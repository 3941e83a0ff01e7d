import { type ItemCounts, type ItemSource, itemName, noCounts, type Outcome, type Sink, type Sourced } from './items.js'

/** An item, or a part of one, that was not imported. */
export interface NotTaken {
  readonly where: string
  /** The item; empty for a line without one. */
  readonly what: string
  readonly reason: string
  /** Whether only a part of the item is missing. */
  readonly isPart: boolean
}

/** The outcomes of items that were not refused. */
type Taken = Exclude<Outcome['kind'], 'refused'>

export interface ImportResult {
  readonly counts: Readonly<Record<Taken, Readonly<ItemCounts>>>
  /** The number of items and parts that were not imported. */
  readonly notTaken: number
  /** Whether it stopped at an item that could not be imported. */
  readonly hasStopped: boolean
}

export interface ImportSettings {
  /** Whether it continues after items that cannot be imported. */
  readonly keepsGoing: boolean
  /** Called for every item or part that was not imported. */
  readonly report: (notTaken: NotTaken) => void
  /** Called now and then with the number of items read so far. */
  readonly progressed: (items: number) => void
}

/** The number of items that a sink gets together. */
const together = 2000

/** Passes all items of a source to a sink, in order. If it stops at an item, all items before have been imported. */
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

  /** Passes the gathered items to the sink. */
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
