import type { Unavailable } from '../broker/unavailable.js'
import type { Origin } from '../context/update.js'
import { recipientOf } from '../delivery/message.js'
import type { Log } from '../log/log.js'
import { type Err, err, ok, type Result } from '../result.js'
import type { Bell } from '../shared-memory/bell.js'
import { advanceClock } from '../subscription/clocks.js'
import type { Notice, NoticeNumber } from '../subscription/notice.js'
import type { Subscription, SubscriptionId, SubscriptionInForce } from '../subscription/subscription.js'
import type { ControlChange, SubscriptionStore } from '../subscription/subscription-store.js'
import type { Milliseconds } from '../time.js'
import { resultOf } from './capacity.js'
import type { CourierThread } from './courier-thread.js'
import { noticesAbout, type StateParts, stateToShow } from './initial-notices.js'
import type { Partitions } from './partitions.js'

interface ActivationParts extends StateParts {
  readonly store: SubscriptionStore
  readonly partitions: Pick<Partitions<object>, 'subscribe'>
  readonly courier: Pick<CourierThread<object>, 'put' | 'hold' | 'report'>
  readonly bell: Bell
  /** See `Everywhere`. */
  readonly everywhere?: Everywhere | undefined
  readonly log: Log
}

/**
 * Of one of several nodes: resolves when all that is stored is in force on all of them, with the number of the last notice of each
 * partition that was made without it; refuses when that takes too long.
 */
export type Everywhere = () => Promise<Result<readonly NoticeNumber[], Unavailable>>

/** How a subscription comes into force and on disk: in the partitions, in the store, in the courier. */
export class Activation {
  readonly #parts: ActivationParts

  constructor(parts: ActivationParts) {
    this.#parts = parts
  }

  /**
   * Puts a subscription in force with new conditions, and stores it with the notification of the current state. The
   * courier holds back what the partitions make meanwhile, since that notification goes first [subscriptions 5.2].
   *
   * @param before what it replaces; nothing for a new one
   */
  async withState(
    inForce: SubscriptionInForce,
    before: Subscription | undefined,
    origin: Origin,
    made: Milliseconds,
    scopes = inForce.subscription.scopes,
  ): Promise<Result<undefined, Unavailable>> {
    const { subscription, clock } = inForce
    const { everywhere, partitions, courier } = this.#parts
    await courier.hold(subscription.id)
    if (everywhere !== undefined) {
      const opening = await this.commit({ put: { ...subscription, opening: true } })
      if (!opening.ok) return opening
    }
    const after = everywhere === undefined ? ok(await partitions.subscribe(inForce)) : await everywhere()
    const notices = after.ok ? await this.#initial({ ...subscription, scopes }, origin, made, after.value) : after
    if (!notices.ok) return this.#undone(inForce, before, notices)
    const stored = await this.commit({ put: subscription, notices: notices.value })
    if (!stored.ok) return this.#undone(inForce, before, stored)
    if (notices.value.length > 0) {
      advanceClock(clock, made)
      this.#parts.bell.ring()
    }
    this.#parts.courier.put(recipientOf(inForce))
    return ok(undefined)
  }

  /** Puts a subscription in force and on disk that goes on as it was but for its dates and limits. */
  async amend(inForce: SubscriptionInForce, before: Subscription | undefined): Promise<Result<undefined, Unavailable>> {
    const { everywhere, partitions, courier } = this.#parts
    if (everywhere === undefined) await partitions.subscribe(inForce)
    const stored = await this.commit({ put: inForce.subscription })
    if (!stored.ok) return stored
    const inForceThere = await everywhere?.()
    if (inForceThere?.ok === false) return this.#undone(inForce, before, inForceThere)
    courier.put(recipientOf(inForce))
    // A courier that replies has obeyed: of a subscription that is inactive now, nothing is begun any more.
    if (inForce.subscription.terms?.status === 'inactive') await courier.report([inForce.subscription.id])
    return stored
  }

  /** Removes a subscription from disk; resolves when it is removed on all nodes. */
  async remove(id: SubscriptionId): Promise<Result<undefined, Unavailable>> {
    const removed = await this.commit({ remove: id })
    if (!removed.ok) return removed
    const gone = await this.#parts.everywhere?.()
    return gone?.ok === false ? err({ kind: 'outcomeUnknown' }) : removed
  }

  /** What is in the log of a cluster and is not to be answered is taken back there; who replays the log does the same. */
  async #undone(
    { subscription }: SubscriptionInForce,
    before: Subscription | undefined,
    refusal: Err<Unavailable>,
  ): Promise<Err<Unavailable>> {
    if (this.#parts.everywhere === undefined) return refusal
    const undone = await this.commit(before === undefined ? { remove: subscription.id } : { put: before })
    return err({ kind: undone.ok ? 'notEverywhere' : 'outcomeUnknown' })
  }

  async #initial(
    subscription: Subscription,
    origin: Origin,
    made: Milliseconds,
    after: readonly NoticeNumber[],
  ): Promise<Result<readonly Notice[], Unavailable>> {
    const { onChange, expires } = subscription
    const { limit, log } = this.#parts
    if (onChange === undefined || expires <= made || limit === 0) return ok([])
    const shown = await stateToShow(this.#parts, subscription, onChange)
    if (!shown.ok && shown.error.kind === 'pageTooLarge') {
      log.warn(
        'subscriptions:initial',
        `no initial notification of ${subscription.id}: the entities take too much memory`,
      )
      return ok([])
    }
    if (!shown.ok) return shown
    const { entities, lastNotices } = shown.value
    // It shows what these show, and nothing of what comes after them.
    const last = after.map((number, partition) => Math.max(number, lastNotices[partition] ?? 0))
    const notices = noticesAbout(entities, subscription, this.#parts, {
      orderingKey: { kind: 'initial' },
      made,
      origin,
      after: last,
    })
    const message = `${entities.length} entities in the initial notification of ${subscription.id}`
    log.trace('notify.initial', message, { entities: entities.length, messages: notices.length })
    return ok(notices)
  }

  /** Stores a change; refuses when there is no room for it. */
  commit(change: ControlChange): Promise<Result<undefined, Unavailable>> {
    const { store, log } = this.#parts
    return resultOf(store.commit(change), log, 'subscriptions:store', 'a change of subscriptions was not stored')
  }
}
