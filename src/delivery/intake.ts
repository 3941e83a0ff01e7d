import { setImmediate as nextTurn } from 'node:timers/promises'
import type { NoticeNumber, NumberedNotice } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { age_ms, type ClockStart, type Milliseconds } from '../time.js'
import type { Outbox, Outboxes, OutboxNumber } from './outboxes.js'
import type { RemoteBarriers } from './remote-barriers.js'

/** Notices that are read without letting others run, and their bytes. */
const slice = 128
const slice_bytes = 2 ** 20

interface IntakeParts {
  readonly outboxes: Outboxes
  /** Of the last outbox, that of the coordinator. */
  readonly barriers: RemoteBarriers
  /** What an outbox held is about to be taken: it was not read here until now, or by another claim. */
  readonly begun: (outbox: OutboxNumber) => void
  /** All that an outbox held was taken. */
  readonly loaded: (outbox: OutboxNumber) => void
  /** What was taken from an outbox is to be forgotten. */
  readonly lost: (outbox: OutboxNumber) => void
  /** `since_ms` is when it was made, by the steady clock of this thread. */
  readonly take: (outbox: OutboxNumber, numbered: NumberedNotice, since_ms: number) => void
  /** When the process was started. */
  readonly clock: ClockStart
  /** More is known: called after every slice. */
  readonly progress: () => void
}

/** For whom a notice is, and when it was made. */
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
  /** When the pass under way has begun, and the one before it. */
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

  /** Takes at once what is new in the coordinator's outbox: what goes before all that was made since. */
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

  /** Tells of the notices of outboxes that are not read, since other nodes own them: the last ones that have left, and those that wait. */
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

  /** Every outbox is read as it is now; gives those whose reading begins. */
  #lookAtOwners(): readonly OutboxNumber[] {
    const { outboxes, barriers, begun, lost } = this.#parts
    const changes = outboxes.look()
    for (const number of changes.lost) {
      this.#known[number] = 0
      lost(number)
    }
    for (const outbox of outboxes.all) outbox.refresh()
    // In the same turn of the event loop: what a barrier has held back here until now is held back by another node's.
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
    // Numbers that are missing at the end belong to notices that have left.
    this.#known[number] = found.at(-1)?.number ?? last
    return { found: found.length, bytes }
  }

  /** What the pass before did not find was not there yet, whatever the clock of the day says of its age. */
  #made_ms({ notice }: NumberedNotice, before_ms: number): number {
    return Math.max(before_ms, performance.now() - age_ms(notice.made, this.#parts.clock))
  }
}
