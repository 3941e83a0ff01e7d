import { err } from '../../result.js'
import type { CommandOutcome, OutcomePart } from './batch-route.js'
import type { PlacedOutcome } from './command-batch.js'

interface DeferredBatch {
  readonly take: (part: OutcomePart) => void
  /** The positions of commands without an outcome. */
  readonly open: Set<number>
}

/**
 * The sender's side of batches with deferred commands, on one connection. It asks for their outcomes by one request at a time,
 * and asks again after each response, since a request of the same connection may cut the wait short (`LaterOutcomes`). The last
 * outcome or the end of the connection ends that.
 */
export class DeferredBatches {
  readonly #request: () => void
  /** By the names that the other node has given them. */
  readonly #batches = new Map<number, DeferredBatch>()
  #isAsking = false

  /** `request` sends a request for outcomes; its response or loss is reported by `came` or `lost`. */
  constructor(request: () => void) {
    this.#request = request
  }

  /** The first response to a batch has come; deferred commands have no outcome in it. */
  begin(batch: number, outcomes: readonly (CommandOutcome | undefined)[], take: DeferredBatch['take']): void {
    const all = Array.from(outcomes.keys())
    const open = new Set(all.filter((at) => outcomes[at] === undefined))
    this.#batches.set(batch, { take, open })
    this.#requestSoon()
    take({ outcomes: outcomes.filter((outcome) => outcome !== undefined), at: all.filter((at) => !open.has(at)) })
  }

  /** Takes the outcomes of a response. False, and nothing is taken, when one of them is for a command that is not deferred. */
  came(later: readonly PlacedOutcome[]): boolean {
    this.#isAsking = false
    if (!later.every(({ batch, at }) => this.#batches.get(batch)?.open.has(at))) return false
    for (const name of new Set(later.map(({ batch }) => batch))) {
      this.#take(
        name,
        later.filter(({ batch }) => batch === name),
      )
    }
    this.#requestSoon()
    return true
  }

  /** The connection has ended: deferred commands may have been carried out or not. */
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

  #requestSoon(): void {
    if (this.#isAsking || this.#batches.size === 0) return
    this.#isAsking = true
    this.#request()
  }
}
