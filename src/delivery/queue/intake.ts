import type { NoticeNumber, NumberedNotice } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { Slices } from '../../slices.js'
import { age_ms, type ClockStart, type Milliseconds } from '../../time.js'
import type { Outbox, Outboxes, OutboxNumber } from './outboxes.js'
import type { RemoteBarriers } from './remote-barriers.js'

/** Notices that are read at once. */
const slice = 128

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
  /** How much of an outbox whose reading has begun is not read yet, at most; told after every slice. */
  readonly unread: (outbox: OutboxNumber, notices: number) => void
}

interface NotedNotice {
  readonly subscription: SubscriptionId
  readonly made: Milliseconds | undefined
}

/**
 * Reads what is new in the outboxes, each from where it was read to.
 *
 *     look ──▶ noteClocks ──▶ read ──▶ a pass: the coordinator's outbox, then those of the partitions, in slices
 *                              ▲         │
 *                              └─────────┘ the bell, a question of the coordinator
 *
 * A pass that reads an outbox from its beginning may take long: nobody waits for it, and `stop` ends it after its slice.
 */
export class Intake {
  readonly #parts: IntakeParts
  readonly #known: NoticeNumber[]
  /** Outboxes that are read from their beginning, and were not read to the end of what they held then. */
  readonly #loading = new Set<OutboxNumber>()
  #isStopped = false
  /** Resolves when the coordinator's outbox was read for the first time, with the barriers that stand: before that nothing is sent. */
  readonly barriersRead: Promise<void>
  #areBarriersRead = (): void => {}
  readonly #slices = new Slices()
  #running: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined
  /** When the current pass began, and the one before it. */
  #begun_ms = Number.NEGATIVE_INFINITY
  #before_ms = Number.NEGATIVE_INFINITY

  constructor(parts: IntakeParts) {
    this.#parts = parts
    this.#known = parts.outboxes.all.map(() => 0)
    this.barriersRead = new Promise((resolve) => {
      this.#areBarriersRead = resolve
    })
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
      this.#running = this.#isStopped ? Promise.resolve() : this.#pass()
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

  /** Whether outboxes are still read from their beginning. */
  get isLoading(): boolean {
    return this.#loading.size > 0
  }

  /** Ends the pass that is under way after its slice; no other one begins. */
  stop(): void {
    this.#isStopped = true
  }

  /** Finds the outboxes that this node sends, and takes their delivery stats. Reads no notice. */
  look(): void {
    this.#lookAtOwners()
  }

  /**
   * Goes back through all outboxes until all notices are older than `since`, or were made for subscriptions that were all met: whoever
   * was notified lately is throttled, also where the notice still waits.
   */
  async noteClocks(clocked: ReadonlySet<SubscriptionId>, since: Milliseconds, noted: (notice: NotedNotice) => void) {
    const { outboxes } = this.#parts
    for (const [number, outbox] of outboxes.all.entries()) {
      if (!outboxes.isRead(number))
        for (const [subscription, { lastNotification: made }] of outbox.stats()) noted({ subscription, made })
      const left = new Set(clocked)
      let at = Number.POSITIVE_INFINITY
      while (left.size > 0 && !this.#isStopped) {
        const found = outbox.before(at, slice)
        for (const { notice } of found) {
          if (notice.provisional?.by === 'proposed' || !left.delete(notice.subscription)) continue
          noted(notice)
        }
        const last = found.at(-1)
        if (last === undefined || last.notice.made < since) break
        at = last.number
        if (this.#slices.isOver) await this.#slices.next()
      }
    }
  }

  async #pass(): Promise<void> {
    const { outboxes, progress } = this.#parts
    this.#before_ms = this.#begun_ms
    this.#begun_ms = performance.now()
    this.#lookAtOwners()
    // In the same turn of the event loop, so that a barrier that was this node's holds back as another node's without a gap.
    const bounds = this.#takeBounds()
    // The barriers first: what was made after them has to find them.
    for (const number of [outboxes.coordinator, ...outboxes.all.keys()]) {
      if (outboxes.isRead(number)) await this.#readUpTo(number, bounds[number] ?? 0)
      if (this.#isStopped) return
      // The first one was the coordinator's.
      this.#areBarriersRead()
    }
    progress()
  }

  async #readUpTo(number: OutboxNumber, last: NoticeNumber): Promise<void> {
    const { outboxes, loaded, unread, progress } = this.#parts
    const outbox = outboxes.all[number]
    if (outbox === undefined) return
    const isLoading = this.#loading.has(number)
    const before_ms = isLoading ? Number.NEGATIVE_INFINITY : this.#before_ms
    while (this.known(number) < last) {
      this.#slice(number, outbox, last, before_ms)
      if (isLoading) unread(number, Math.max(0, last - this.known(number)))
      if (!this.#slices.isOver) continue
      progress()
      await this.#slices.next()
      if (this.#isStopped) return
    }
    if (this.#loading.delete(number)) loaded(number)
  }

  /** Refreshes all outboxes and asks which of them this node sends. */
  #lookAtOwners(): void {
    const { outboxes, begun, lost, unread } = this.#parts
    const changes = outboxes.look()
    for (const number of changes.lost) {
      this.#known[number] = 0
      this.#loading.delete(number)
      unread(number, 0)
      lost(number)
    }
    for (const outbox of outboxes.all) outbox.refresh()
    for (const number of changes.taken) {
      this.#loading.add(number)
      begun(number)
      const outbox = outboxes.all[number]
      const first = outbox?.first()
      if (outbox === undefined || first === undefined) continue
      // Nothing is there before the first one.
      this.#known[number] = first - 1
      unread(number, outbox.last() - first + 1)
    }
  }

  /**
   * Up to which notice each outbox is read in this pass: the barriers that were made before any of these are known already, or are read
   * first.
   */
  #takeBounds(): readonly NoticeNumber[] {
    const { outboxes, barriers } = this.#parts
    const { all, coordinator, ofCoordinator } = outboxes
    const ofPartitions = all.slice(0, coordinator).map((outbox) => outbox.last())
    // Only now, so that it has the barriers of all that was made up to there.
    ofCoordinator.refresh()
    if (!outboxes.isRead(coordinator)) barriers.look()
    return [...ofPartitions, ofCoordinator.last()]
  }

  #slice(number: OutboxNumber, outbox: Outbox, last: NoticeNumber, before_ms: number): void {
    const found = outbox.after(this.known(number), slice)
    for (const numbered of found) {
      // What was made since may be behind a barrier that is not read yet.
      if (numbered.number > last) break
      this.#parts.take(number, numbered, this.#made_ms(numbered, before_ms))
    }
    // Missing numbers at the end are those of notices that have left.
    this.#known[number] = Math.min(last, found.at(-1)?.number ?? last)
  }

  /** Not before the last pass, which did not find it, whatever the clock of the day says. */
  #made_ms({ notice }: NumberedNotice, before_ms: number): number {
    return Math.max(before_ms, performance.now() - age_ms(notice.made, this.#parts.clock))
  }
}
