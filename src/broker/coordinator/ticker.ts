import { randomUUID } from 'node:crypto'
import { advanceClock, lastNotified } from '../../model/subscription/clocks.js'
import type { Notice } from '../../model/subscription/notice.js'
import { isActive } from '../../model/subscription/patch.js'
import type { Subscription, SubscriptionId, SubscriptionInForce } from '../../model/subscription/subscription.js'
import { errorFacts, type Log } from '../../observe/log/log.js'
import type { MetadataStore } from '../../storage/store/metadata-store.js'
import type { Bell } from '../../threads/shared-memory/signals.js'
import { after, type Milliseconds, now } from '../../time.js'
import type { HeldSubscriptions } from './held-subscriptions.js'
import { noticesAbout, type StateParts, stateToShow } from './initial-notices.js'

interface TickerParts extends StateParts {
  readonly held: HeldSubscriptions
  readonly store: Pick<MetadataStore, 'commit'>
  readonly bell: Bell
  readonly log: Log
}

interface Clockwork {
  /** By the clock of the day: the date of the tick, which is stored. */
  due: Milliseconds
  /** By `performance.now()`: when the tick is made. */
  due_ms: number
  timer: NodeJS.Timeout | undefined
  /**
   * Until the first tick of the conditions is over, which is made whatever the throttling, and with the restriction of the
   * request that it follows [subscriptions 2.2].
   */
  first: Pick<Subscription, 'scopes'> | undefined
}

/** The longest wait of a timer; after it the clock is read and the wait continues. */
const longestWait_ms = 2 ** 31 - 1

/** Ticks that are made concurrently: the others wait, so that they do not fill the queue of scans. */
const atOnce = 4

/** A subscription with an interval shows at most this many entities when initial notifications are switched off. */
const defaultLimit = 20

/** Makes the notices of time-interval conditions, paced from the first one [subscriptions 3.6]. */
export class Ticker {
  readonly #parts: TickerParts
  readonly #clockworks = new Map<SubscriptionId, Clockwork>()
  #waiting: SubscriptionId[] = []
  #running = 0

  constructor(parts: TickerParts) {
    this.#parts = parts
  }

  /** Starts with an immediate tick, which has these scopes, or continues one interval after the last tick that was due. */
  put({ id, interval_ms, scopes }: Pick<Subscription, 'id' | 'interval_ms' | 'scopes'>, ticked?: Milliseconds): void {
    this.remove(id)
    if (interval_ms === undefined) return
    const time = now()
    const due = ticked === undefined ? time : Math.max(time, ticked + interval_ms)
    // If the clock was set back while the broker was down, the wait is still at most the interval.
    const next = Math.min(due, time + interval_ms) as Milliseconds
    const due_ms = performance.now() + (next - time)
    const first = ticked === undefined ? { scopes } : undefined
    this.#clockworks.set(id, { due: next, due_ms, timer: undefined, first })
    this.#wait(id)
  }

  remove(id: SubscriptionId): void {
    clearTimeout(this.#clockworks.get(id)?.timer)
    this.#clockworks.delete(id)
  }

  stop(): void {
    for (const id of [...this.#clockworks.keys()]) this.remove(id)
    this.#waiting = []
  }

  #wait(id: SubscriptionId): void {
    const clockwork = this.#clockworks.get(id)
    if (!clockwork) return
    const wait_ms = Math.min(Math.max(0, clockwork.due_ms - performance.now()), longestWait_ms)
    clockwork.timer = setTimeout(() => {
      // A timer may be a millisecond early.
      if (clockwork.due_ms > performance.now()) return this.#wait(id)
      this.#follow(clockwork, id)
      this.#waiting.push(id)
      this.#next()
    }, wait_ms)
  }

  #next(): void {
    if (this.#running >= atOnce) return
    const id = this.#waiting.shift()
    if (id === undefined) return
    this.#running += 1
    this.#tick(id)
      .catch((fault: unknown) =>
        this.#parts.log.error(
          'subscriptions:tick',
          `the timed notification of subscription ${id} could not be made`,
          errorFacts(fault),
        ),
      )
      .finally(() => {
        this.#running -= 1
        this.#advance(id)
        this.#next()
      })
  }

  /** The next tick is due on the grid that the first one began; ticks that were missed are not made up for. */
  #advance(id: SubscriptionId): void {
    const clockwork = this.#clockworks.get(id)
    const interval_ms = this.#parts.held.get(id)?.subscription.interval_ms
    if (!clockwork || interval_ms === undefined) return
    const late_ms = Math.max(0, performance.now() - clockwork.due_ms)
    const passed_ms = interval_ms * (1 + Math.floor(late_ms / interval_ms))
    clockwork.due_ms += passed_ms
    clockwork.due = after(clockwork.due, passed_ms)
    clockwork.first = undefined
    this.#wait(id)
  }

  /** After a jump of the clock of the day, ticks keep their pace and take their dates from the new time. */
  #follow(clockwork: Clockwork, id: SubscriptionId): void {
    const interval_ms = this.#parts.held.get(id)?.subscription.interval_ms ?? 0
    const date = now() - (performance.now() - clockwork.due_ms)
    if (Math.abs(date - clockwork.due) > interval_ms) clockwork.due = Math.round(date) as Milliseconds
  }

  /** Reads the entities before the turn of the tick, so that a change of the subscription does not wait for a scan. */
  async #tick(id: SubscriptionId): Promise<void> {
    const { held, limit, log } = this.#parts
    for (;;) {
      const inForce = held.get(id)
      // What paces ticks is when they were due: by the clock of the day two of them may be less than the interval apart.
      const clockwork = this.#clockworks.get(id)
      if (!inForce || !clockwork || !isDue(inForce, clockwork)) return
      const made = clockwork.due
      const { subscription } = inForce
      const meant = { ...subscription, ...clockwork.first }
      const shown = await stateToShow({ ...this.#parts, limit: limit || defaultLimit }, meant, [])
      if (!shown.ok) {
        log.warn('subscriptions:tick', `a timed notification of subscription ${id} was left out: ${shown.error.kind}`)
        return
      }
      const notices = noticesAbout(shown.value.entities, subscription, this.#parts, {
        orderingKey: { kind: 'tick' },
        made,
        origin: { correlator: randomUUID(), token: '' },
      })
      if (notices.length === 0) return
      if (await held.inTurn(id, () => this.#commit(inForce, made, notices))) return
    }
  }

  /** Returns false when the subscription has changed meanwhile, so that the entities have to be read again. */
  async #commit(inForce: SubscriptionInForce, made: Milliseconds, notices: readonly Notice[]): Promise<boolean> {
    const { held, store, bell } = this.#parts
    const { id } = inForce.subscription
    const clockwork = this.#clockworks.get(id)
    if (clockwork?.due !== made) return true
    if (held.get(id) !== inForce) return false
    if (!isDue(inForce, clockwork)) return true
    await store.commit({ notices, ticked: { id, due: made } })
    advanceClock(inForce.clock, made)
    bell.ring()
    return true
  }
}

/** Whether a tick is in the time of the subscription, which makes notifications, and not too soon after the last one. */
function isDue({ subscription, clock }: SubscriptionInForce, { due, first }: Clockwork): boolean {
  const { expires, throttling_ms } = subscription
  const last = lastNotified(clock)
  return due < expires && isActive(subscription, last) && (first !== undefined || Math.abs(due - last) >= throttling_ms)
}
