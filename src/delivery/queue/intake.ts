import { setImmediate as nextTurn } from 'node:timers/promises'
import type { NoticeNumber, NumberedNotice } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { age_ms, type ClockStart, type Milliseconds } from '../../time.js'
import type { Outbox, Outboxes, OutboxNumber } from './outboxes.js'
import type { RemoteBarriers } from './remote-barriers.js'

/** Notices that are read without letting others run, and their bytes. */
const slice = 128
const slice_bytes = 2 ** 20

interface IntakeParts {
  readonly outboxes: Outboxes
  /** Those of the coordinator's outbox. */
  readonly barriers: RemoteBarriers
  /** The reading of an outbox begins: this node has come to own it, or begun. */
  readonly begun: (outbox: OutboxNumber) => void
  /** All that an outbox held when its reading began was taken. */
  readonly loaded: (outbox: OutboxNumber) => void
  /** This node sends an outbox no longer: what was taken from it is void. */
  readonly lost: (outbox: OutboxNumber) => void
  /** `since_ms` is when it was made, by the steady clock of this thread. */
  readonly take: (outbox: OutboxNumber, numbered: NumberedNotice, since_ms: number) => void
  /** When the process was started. */
  readonly clock: ClockStart
  /** Called after every slice. */
  readonly progress: () => void
}

interface NotedNotice {
  readonly subscription: SubscriptionId
  readonly made: Milliseconds | undefined
}

/** Reads what is new in the outboxes, each from where it was read to. */
export class Intake {
  readonly #parts: IntakeParts
  readonly #known: NoticeNumber[]
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  /** When the current pass began, and the one before it. */
  #begun_ms = Number.NEGATIVE_INFINITY
  #before_ms = Number.NEGATIVE_INFINITY

  constructor(parts: IntakeParts) {
    this.#parts = parts
    this.#known = parts.outboxes.all.map(() => 0)
  }

  /** All notices of an outbox up to this number were taken. */
  known(outbox: OutboxNumber): NoticeNumber {
    return this.#known[outbox] ?? 0
  }

  /** Resolves when everything was taken that was on disk when this was called. */
  read(): Promise<void> {
    // A pass that runs may have begun too early; all who ask meanwhile share the one after it.
    this.#next ??= this.#running.then(() => {
      this.#next = undefined
      this.#running = this.#pass()
      return this.#running
    })
    return this.#next
  }

  /** Takes what is new in the coordinator's outbox within this call: its barriers go before all that was made since. */
  takeBarriers(): void {
    const { outboxes, barriers } = this.#parts
    const { coordinator, ofCoordinator } = outboxes
    ofCoordinator.refresh()
    if (!outboxes.isRead(coordinator)) {
      barriers.look()
      return
    }
    const last = ofCoordinator.last()
    while (this.known(coordinator) < last) this.#slice(coordinator, ofCoordinator, last, this.#before_ms)
  }

  /** Goes through the outboxes that other nodes send: by subscription the last notice that has left, and those that wait. */
  async passOver(noted: (notice: NotedNotice) => void): Promise<void> {
    const { outboxes } = this.#parts
    for (const [number, outbox] of outboxes.all.entries()) {
      if (outboxes.isRead(number)) continue
      for (const [subscription, { lastNotification: made }] of outbox.stats()) noted({ subscription, made })
      let at = 0
      for (let found = outbox.after(at, slice); found.length > 0; found = outbox.after(at, slice)) {
        for (const { notice } of found) if (notice.provisional?.by !== 'proposed') noted(notice)
        at = found.at(-1)?.number ?? at
        await nextTurn()
      }
    }
  }

  async #pass(): Promise<void> {
    const { outboxes, loaded, progress } = this.#parts
    this.#before_ms = this.#begun_ms
    this.#begun_ms = performance.now()
    const begun = this.#lookAtOwners()
    let taken = 0
    for (const [number, outbox] of outboxes.all.entries()) {
      if (!outboxes.isRead(number)) continue
      const before_ms = begun.includes(number) ? Number.NEGATIVE_INFINITY : this.#before_ms
      const last = outbox.last()
      while (this.known(number) < last) {
        const { found, bytes } = this.#slice(number, outbox, last, before_ms)
        taken += found
        if (taken < slice && bytes < slice_bytes) continue
        taken = 0
        progress()
        await nextTurn()
      }
    }
    for (const number of begun) loaded(number)
    progress()
  }

  /** Refreshes all outboxes and asks which of them this node sends; returns those whose reading begins. */
  #lookAtOwners(): readonly OutboxNumber[] {
    const { outboxes, barriers, begun, lost } = this.#parts
    const changes = outboxes.look()
    for (const number of changes.lost) {
      this.#known[number] = 0
      lost(number)
    }
    for (const outbox of outboxes.all) outbox.refresh()
    // In the same turn of the event loop, so that a barrier that was this node's holds back as another node's without a gap.
    if (!outboxes.isRead(outboxes.coordinator)) barriers.look()
    for (const number of changes.taken) begun(number)
    return changes.taken
  }

  #slice(
    number: OutboxNumber,
    outbox: Outbox,
    last: NoticeNumber,
    before_ms: number,
  ): { readonly found: number; readonly bytes: number } {
    const found = outbox.after(this.known(number), slice)
    let bytes = 0
    for (const numbered of found) {
      bytes += numbered.size_bytes
      this.#parts.take(number, numbered, this.#made_ms(numbered, before_ms))
    }
    // Missing numbers at the end are those of notices that have left.
    this.#known[number] = found.at(-1)?.number ?? last
    return { found: found.length, bytes }
  }

  /** Not before the last pass, which did not find it, whatever the clock of the day says. */
  #made_ms({ notice }: NumberedNotice, before_ms: number): number {
    return Math.max(before_ms, performance.now() - age_ms(notice.made, this.#parts.clock))
  }
}
