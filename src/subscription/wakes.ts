import { shownAttributes } from '../context/query.js'
import type { Log } from '../log/log.js'
import type { Audience, Listener } from './audience.js'
import type { Cause, Change } from './change.js'
import { lineOf, type Notice, type NoticeWording } from './notice.js'
import type { SubscriptionId, SubscriptionInForce } from './subscription.js'
import type { Claim } from './throttle.js'
import { WakeIndex } from './wake-index.js'
import { type Silence, WakeTrace } from './wake-trace.js'

export interface WakesParts {
  readonly word: NoticeWording
  readonly log: Log
  /** Bytes of what is remembered of which patterns find which entities. */
  readonly memory_bytes: number
}

/**
 * What the changes of a turn wake: the notices that are to be committed with it [subscriptions 3]. One per partition; a
 * turn ends with `settle` or `undo`.
 */
export class Wakes {
  readonly #index: WakeIndex
  readonly #word: NoticeWording
  readonly #trace: WakeTrace
  #notices: Notice[] = []
  #claims: Claim[] = []

  constructor({ word, log, memory_bytes }: WakesParts) {
    this.#index = new WakeIndex(memory_bytes)
    this.#word = word
    this.#trace = new WakeTrace(log)
  }

  /** Whether nothing wakes anybody. */
  get isIdle(): boolean {
    return this.#index.isEmpty
  }

  /** The notices of the turn so far, in the order of the changes, of one change in that of the subscriptions' creation. */
  get notices(): readonly Notice[] {
    return this.#notices
  }

  /** From now on the subscription is in force, in the place of an earlier one of its id. */
  put(inForce: SubscriptionInForce): void {
    this.#index.put(inForce)
  }

  /** The subscription has ended. */
  remove(id: SubscriptionId): void {
    this.#index.remove(id)
  }

  /** Makes one notice for each subscription that the change wakes, with the entity as it now is [subscriptions 3.1]. */
  wake(change: Change, cause: Cause): void {
    // Then nothing was changed, or it is all gone and there is nothing to show.
    if (change.changed.length === 0) return
    this.#trace.change(change, cause)
    const audiences = this.#index.audiences(change.tenant, change.entity)
    if (audiences.length === 0) return
    const triggered = triggeredOf(audiences, change.changed)
    this.#trace.untriggered(audiences, triggered, change, cause)
    for (const listener of triggered) {
      const silence = this.#claim(listener, change, cause)
      if (silence === undefined) this.#notices.push(this.#noticeOf(listener, change, cause))
      this.#trace.triggered(listener, silence, change, cause)
    }
  }

  /** The turn is on disk. */
  settle(): void {
    if (this.#claims.length === 0) return
    this.#notices = []
    this.#claims = []
  }

  /** The turn failed: its notices were not made, the moments that it noted are given back. */
  undo(): void {
    for (const claim of this.#claims.reverse()) claim.undo()
    this.settle()
  }

  /** Notes the moment of a notice, or says why there is none. */
  #claim({ subscription, throttle }: Listener, { entity }: Change, { time }: Cause): Silence | undefined {
    if (time >= subscription.expires) return 'expired'
    if (shownAttributes(entity, subscription.attributes).length === 0) return 'nothing to show'
    const claim = throttle.claim(time, subscription.throttling_ms)
    if (claim === undefined) return 'throttled'
    this.#claims.push(claim)
    return undefined
  }

  #noticeOf({ subscription }: Listener, { tenant, entity }: Change, { origin, time }: Cause): Notice {
    return {
      subscription: subscription.id,
      line: lineOf(entity),
      made: time,
      tenant,
      paths: [entity.path],
      correlator: origin.correlator,
      token: origin.token,
      body: this.#word(subscription, [entity]),
    }
  }
}

/** Each once, however many of its selectors match, in the order of creation: the same turn makes the same notices. */
function triggeredOf(audiences: readonly Audience[], changed: readonly string[]): readonly Listener[] {
  const triggered = new Set<Listener>()
  for (const audience of audiences) audience.gatherTriggered(changed, triggered)
  return [...triggered].sort((a, b) => a.subscription.order - b.subscription.order)
}
