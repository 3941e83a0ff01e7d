import { err } from '../../result.js'
import type { CommandOutcome, OutcomePart } from './batch-route.js'
import type { PlacedOutcome } from './command-batch.js'

interface DeferredBatch {
  readonly take: (part: OutcomePart) => void
  /** The positions of the commands that have no outcome. */
  readonly open: Set<number>
}

/**
 * The batches of a connection whose first answer has come, and has said that commands of them are deferred: at their sender. It asks for
 * the outcomes, one request at a time, and again after each answer; see `LaterOutcomes`. That ends with the last outcome, or with the connection.
 */
export class DeferredBatches {
  readonly #ask: () => void
  /** By what the other node calls them. */
  readonly #batches = new Map<number, DeferredBatch>()
  #isAsking = false

  /** `ask` sends a request for outcomes; then `came` or `lost` is to be called. */
  constructor(ask: () => void) {
    this.#ask = ask
  }

  /** The first answer to a batch has come, with nothing in the place of what is deferred. */
  begin(batch: number, outcomes: readonly (CommandOutcome | undefined)[], take: DeferredBatch['take']): void {
    const all = Array.from(outcomes.keys())
    const open = new Set(all.filter((at) => outcomes[at] === undefined))
    this.#batches.set(batch, { take, open })
    this.#askSoon()
    take({ outcomes: outcomes.filter((outcome) => outcome !== undefined), at: all.filter((at) => !open.has(at)) })
  }

  /** An answer has come; false, and nothing is taken of it, when it has outcomes of what is not deferred. */
  came(later: readonly PlacedOutcome[]): boolean {
    this.#isAsking = false
    if (!later.every(({ batch, at }) => this.#batches.get(batch)?.open.has(at))) return false
    for (const name of new Set(later.map(({ batch }) => batch))) {
      this.#take(
        name,
        later.filter(({ batch }) => batch === name),
      )
    }
    this.#askSoon()
    return true
  }

  /** The connection is over: what is deferred may be carried out or not. */
  lost(): void {
    const lost = [...this.#batches.values()]
    this.#batches.clear()
    for (const { take, open } of lost) {
      take({ outcomes: Array.from(open, () => err({ kind: 'unanswered' })), at: [...open] })
    }
  }

  #take(name: number, placed: readonly PlacedOutcome[]): void {
    const batch = this.#batches.get(name)
    if (batch === undefined) return
    const { open, take } = batch
    const news = placed.filter(({ at }) => open.delete(at))
    if (open.size === 0) this.#batches.delete(name)
    take({ outcomes: news.map(({ outcome }) => outcome), at: news.map(({ at }) => at) })
  }

  #askSoon(): void {
    if (this.#isAsking || this.#batches.size === 0) return
    this.#isAsking = true
    this.#ask()
  }
}
