import type { Entity } from '../context/entity.js'
import { shownAttributes } from '../context/query.js'
import type { Log } from '../log/log.js'
import type { Audience, Listener } from './audience.js'
import type { Cause, Change } from './change.js'
import { lineOf, type NewNotice, type Notice, type NoticeWording } from './notice.js'
import type { Subscription, SubscriptionId, SubscriptionInForce } from './subscription.js'
import { type Claim, claimNotice } from './throttle.js'
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
  #notices: NewNotice[] = []
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
  get notices(): readonly NewNotice[] {
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

  /** Makes a notice for each subscription that the change wakes, with the entity as it now is [subscriptions 3.1]. */
  wake(change: Change, cause: Cause): void {
    // Then nothing was changed, or it is all gone and there is nothing to show.
    if (change.changed.length === 0) return
    this.#trace.change(change, cause)
    const audiences = this.#index.audiences(change.tenant, change.entity)
    if (audiences.length === 0) return
    const triggered = triggeredOf(audiences, change.changed)
    this.#trace.untriggered(audiences, triggered, change, cause)
    const isShown = showing(change.entity, triggered.length)
    const due: Subscription[] = []
    for (const listener of triggered) {
      const silence = this.#claim(listener, isShown, cause)
      if (silence === undefined) due.push(listener.subscription)
      this.#trace.triggered(listener, silence, change, cause)
    }
    if (due.length > 0) this.#notify(due, change, cause)
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
  #claim({ subscription, clock }: Listener, isShown: Showing, { time, origin }: Cause): Silence | undefined {
    if (origin.ends) return 'come round'
    if (time >= subscription.expires) return 'expired'
    if (!isShown(subscription)) return 'nothing to show'
    const claim = claimNotice(clock, time, subscription.throttling_ms)
    if (claim === undefined) return 'throttled'
    this.#claims.push(claim)
    return undefined
  }

  /** The bodies are worded here as long as they are short together; else the entity is stored once for all of them. */
  #notify(due: readonly Subscription[], { tenant, entity }: Change, { origin, time }: Cause): void {
    const { correlator, token, via } = origin
    const common = { line: lineOf(entity), made: time, tenant, paths: [entity.path], correlator, token, via }
    const notices: Notice[] = []
    let characters = 0
    for (const subscription of due) {
      const body = this.#word(subscription, [entity])
      characters += body.length
      if (due.length > 1 && characters > mostWorded) {
        this.#notices.push({ ...common, subscriptions: due.map(({ id }) => id), entity })
        return
      }
      notices.push({ subscription: subscription.id, ...common, body })
    }
    for (const notice of notices) this.#notices.push(notice)
  }
}

/** So many characters of bodies are worded and stored for one change that wakes several subscriptions. */
const mostWorded = 4096

type Showing = (subscription: Subscription) => boolean

/** Whether a subscription is shown anything of an entity; equal lists of names, which many have, are looked through once. */
function showing(entity: Entity, listeners: number): Showing {
  const isShown: Showing = ({ attributes }) => shownAttributes(entity, attributes).length > 0
  if (listeners < 2) return isShown
  const known = new Map<string, boolean>()
  return (subscription) => {
    const key = JSON.stringify(subscription.attributes)
    const held = known.get(key) ?? isShown(subscription)
    known.set(key, held)
    return held
  }
}

/** Each once, however many of its selectors match, in the order of creation: the same turn makes the same notices. */
function triggeredOf(audiences: readonly Audience[], changed: readonly string[]): readonly Listener[] {
  const triggered = new Set<Listener>()
  for (const audience of audiences) audience.gatherTriggered(changed, triggered)
  return [...triggered].sort((a, b) => a.subscription.order - b.subscription.order)
}
