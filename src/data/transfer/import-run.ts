import type { Tenant } from '../../model/context/entity.js'
import { err, ok, type Result } from '../../result.js'
import {
  type Classified,
  classOf,
  type ItemCounts,
  type ItemSource,
  itemName,
  noCounts,
  type Outcome,
  type Sink,
  type Sourced,
} from './items.js'

/** What is said of an item, or of a part of one. */
export interface Remark {
  readonly kind: RemarkKind
  readonly where: string
  /** The item; empty where there is none. */
  readonly what: string
  readonly reason: string
}

/** `unreadable` is about what may be an item, or many. */
export type RemarkKind = 'itemLeftOut' | 'partLeftOut' | 'partChanged' | 'unreadable' | 'passedOver'

/** What can become of an item. One that was taken can be incomplete or changed as well. */
export const results = ['created', 'replaced', 'skipped', 'leftOut', 'incomplete', 'changed'] as const
type ResultKind = (typeof results)[number]

export interface ImportResult {
  /** The numbers of items by tenant. */
  readonly counts: Readonly<Record<ResultKind, ReadonlyMap<Tenant, Readonly<ItemCounts>>>>
  readonly remarks: Readonly<Record<RemarkKind, number>>
  /** Whether it stopped at an item that could not be imported. */
  readonly hasStopped: boolean
}

export interface ImportSettings {
  /** Whether it continues after items that cannot be imported. */
  readonly keepsGoing: boolean
  readonly remark: (remark: Remark) => void
  /** Ends the run; what came before is imported. */
  readonly interrupted: AbortSignal
  /** Called with what was imported before a fault that ends the run, which is thrown then. */
  readonly ended: (result: ImportResult) => void
  /** Called now and then with the number of items read so far. */
  readonly progressed: (items: number) => void
}

/** The number of items that a sink gets together. */
const together = 2000

/**
 * Passes all items of a source to a sink, in order. If it stops at an item or is interrupted, or if the source ends with a fault, all
 * items before have been imported. Throws what the source and the sink throw.
 */
export async function runImport(source: ItemSource, sink: Sink, settings: ImportSettings): Promise<ImportResult> {
  const run = new ImportRun(sink, settings)
  try {
    for await (const piece of faultLast(source.pieces)) {
      if (!piece.ok) {
        await run.flush()
        throw piece.error
      }
      for (const sourced of piece.value) {
        await run.take(sourced)
        if (run.hasStopped || settings.interrupted.aborted) return run
      }
    }
    await run.flush()
  } catch (fault) {
    // What waits for long is made to fail by the interruption.
    if (settings.interrupted.aborted) return run
    settings.ended(run)
    throw fault
  }
  return run
}

/** The pieces of a source, and as the last one the fault that it ends with. */
async function* faultLast<Piece>(pieces: AsyncIterable<Piece>): AsyncGenerator<Result<Piece, unknown>> {
  try {
    for await (const piece of pieces) yield ok(piece)
  } catch (fault) {
    yield err(fault)
  }
}

class ImportRun implements ImportResult {
  readonly counts: Readonly<Record<ResultKind, Map<Tenant, ItemCounts>>> = {
    created: new Map(),
    replaced: new Map(),
    skipped: new Map(),
    leftOut: new Map(),
    incomplete: new Map(),
    changed: new Map(),
  }
  readonly remarks = { itemLeftOut: 0, partLeftOut: 0, partChanged: 0, unreadable: 0, passedOver: 0 }
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
    if (this.hasStopped) return
    const { where, reason } = sourced
    if (sourced.kind === 'passedOver') this.#remark({ kind: 'passedOver', where, what: '', reason })
    else this.#leftOut(where, '', reason, sourced.of)
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
    const classified = classOf(item)
    if (outcome.kind === 'refused') {
      this.#leftOut(where, what, outcome.reason, classified)
      return
    }
    this.#count(outcome.kind, classified)
    if (outcome.kind === 'skipped') return
    const all = [...losses, ...(outcome.losses ?? [])]
    if (all.some(({ kind }) => kind === 'leftOut')) this.#count('incomplete', classified)
    if (all.some(({ kind }) => kind === 'changed')) this.#count('changed', classified)
    for (const { kind, what: reason } of all) {
      this.#remark({ kind: kind === 'leftOut' ? 'partLeftOut' : 'partChanged', where, what, reason })
    }
  }

  #leftOut(where: string, what: string, reason: string, of: Classified | undefined): void {
    if (of !== undefined) this.#count('leftOut', of)
    this.#remark({ kind: of === undefined ? 'unreadable' : 'itemLeftOut', where, what, reason })
    if (!this.#settings.keepsGoing) this.hasStopped = true
  }

  #count(result: ResultKind, { kind, tenant }: Classified): void {
    const byTenant = this.counts[result]
    let counts = byTenant.get(tenant)
    if (counts === undefined) {
      counts = noCounts()
      byTenant.set(tenant, counts)
    }
    counts[kind] += 1
  }

  #remark(remark: Remark): void {
    this.remarks[remark.kind] += 1
    this.#settings.remark(remark)
  }
}
