import type { Unavailable } from '../broker/unavailable.js'
import type { Origin } from '../context/update.js'
import { recipientOf } from '../delivery/message.js'
import type { Log } from '../log/log.js'
import { ok, type Result } from '../result.js'
import type { Bell } from '../shared-memory/bell.js'
import { advanceClock } from '../subscription/clocks.js'
import type { Notice, NoticeNumber } from '../subscription/notice.js'
import type { Subscription, SubscriptionInForce } from '../subscription/subscription.js'
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
  readonly log: Log
}

/** How a subscription comes into force and on disk: in the partitions, in the store, in the courier. */
export class Activation {
  readonly #parts: ActivationParts

  constructor(parts: ActivationParts) {
    this.#parts = parts
  }

  /**
   * Puts a subscription in force with new conditions, and stores it with the notification of the current state. The
   * courier holds back what the partitions make meanwhile, since that notification goes first [subscriptions 5.2].
   */
  async withState(
    inForce: SubscriptionInForce,
    origin: Origin,
    made: Milliseconds,
    scopes = inForce.subscription.scopes,
  ): Promise<Result<undefined, Unavailable>> {
    const { subscription, clock } = inForce
    this.#parts.courier.hold(subscription.id)
    const after = await this.#parts.partitions.subscribe(inForce)
    const notices = await this.#initial({ ...subscription, scopes }, origin, made, after)
    if (!notices.ok) return notices
    const stored = await this.commit({ put: subscription, notices: notices.value })
    if (!stored.ok) return stored
    if (notices.value.length > 0) {
      advanceClock(clock, made)
      this.#parts.bell.ring()
    }
    this.#parts.courier.put(recipientOf(inForce))
    return ok(undefined)
  }

  /** Puts a subscription in force and on disk that goes on as it was but for its dates and limits. */
  async amend(inForce: SubscriptionInForce): Promise<Result<undefined, Unavailable>> {
    await this.#parts.partitions.subscribe(inForce)
    const stored = await this.commit({ put: inForce.subscription })
    if (!stored.ok) return stored
    const { courier } = this.#parts
    courier.put(recipientOf(inForce))
    // A courier that replies has obeyed: of a subscription that is inactive now, nothing is begun any more.
    if (inForce.subscription.terms?.status === 'inactive') await courier.report([inForce.subscription.id])
    return stored
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
