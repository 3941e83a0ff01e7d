import type { Entity } from '../context/entity.js'
import type { Log } from '../log/log.js'
import { Claims, claimNotice } from './clocks.js'
import { type Cause, type Change, type IndexedSubscription, type MatchGroup, Triggered } from './match-group.js'
import { MatchTrace, type Silence } from './match-trace.js'
import { MatcherIndex } from './matcher-index.js'
import { type NewNotice, type Notice, type NoticeRenderer, orderingKeyOf } from './notice.js'
import type { Subscription, SubscriptionId, SubscriptionInForce } from './subscription.js'

interface MatcherParts {
  readonly word: NoticeRenderer
  readonly log: Log
  /** Bytes of what is remembered of which patterns find which entities. */
  readonly memory_bytes: number
}

/**
 * What the changes of a turn match: the notices that are to be committed with it [subscriptions 3]. One per partition; a
 * turn ends with `commit` or `undo`.
 */
export class Matcher {
  readonly #index: MatcherIndex
  readonly #word: NoticeRenderer
  readonly #trace: MatchTrace
  #notices: NewNotice[] = []
  readonly #claims = new Claims()
  /** How many changes were looked at. */
  #changes = 0

  constructor({ word, log, memory_bytes }: MatcherParts) {
    this.#index = new MatcherIndex(memory_bytes)
    this.#word = word
    this.#trace = new MatchTrace(log)
  }

  /** Whether there is no subscription that a change could match. */
  get isIdle(): boolean {
    return this.#index.isEmpty
  }

  /** The notices of the turn so far, in the order of the changes, of one change in that of the subscriptions' creation. */
  get notices(): readonly NewNotice[] {
    return this.#notices
  }

  /** From now on the subscription is in force, replacing an earlier one of its id. */
  put(inForce: SubscriptionInForce): void {
    this.#index.put(inForce)
  }

  /** The subscription has ended. */
  remove(id: SubscriptionId): void {
    this.#index.remove(id)
  }

  /** Makes a notice for each subscription that the change matches, with the entity as it now is [subscriptions 3.1]. */
  match(change: Change, cause: Cause): void {
    // Then nothing was changed, or it is all gone and there is nothing to show.
    if (change.changed.length === 0) return
    this.#trace.change(change, cause)
    const groups = this.#index.groups(change.tenant, change.entity)
    if (groups.length === 0) return
    this.#changes += 1
    const triggered = triggeredOf(this.#changes, groups, change.changed)
    this.#trace.untriggered(groups, triggered, change, cause)
    const isShown = showing(change.entity)
    const isTraced = this.#trace.isOfTriggered
    const due: Subscription[] = []
    for (const indexed of triggered) {
      const silence = this.#claim(indexed, isShown, cause)
      if (silence === undefined) due.push(indexed.subscription)
      if (isTraced) this.#trace.triggered(indexed, silence, change, cause)
    }
    if (due.length > 0) this.#notify(due, change, cause)
  }

  /** The turn is on disk. */
  commit(): void {
    if (this.#notices.length > 0) this.#notices = []
    this.#claims.clear()
  }

  /** The turn failed: its notices were not made, the moments that it noted are given back. */
  undo(): void {
    this.#claims.undo()
    this.commit()
  }

  /** Notes the moment of a notice, or says why there is none. */
  #claim({ subscription, clock }: IndexedSubscription, isShown: Showing, { time, origin }: Cause): Silence | undefined {
    if (origin.ends) return 'come round'
    if (time >= subscription.expires) return 'expired'
    if (!isShown(subscription)) return 'nothing to show'
    return claimNotice(clock, time, subscription.throttling_ms, this.#claims) ? undefined : 'throttled'
  }

  /** The bodies are rendered here as long as they are short together; else the entity is stored once for all of them. */
  #notify(due: readonly Subscription[], { tenant, entity }: Change, { origin, time }: Cause): void {
    const { correlator, token, via } = origin
    const common = {
      orderingKey: orderingKeyOf(entity),
      made: time,
      tenant,
      paths: [entity.path],
      correlator,
      token,
      via,
    }
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

/** At most this many characters of bodies are rendered and stored for one change that several subscriptions match. */
const mostWorded = 4096

type Showing = (subscription: Subscription) => boolean

/** Whether subscriptions are shown anything of an entity, as `shownAttributes` would. The index holds equal lists once. */
function showing({ attributes }: Entity): Showing {
  const known = new Map<readonly string[], boolean>()
  let held: ReadonlySet<string> | undefined
  const isAny = (names: readonly string[]): boolean => {
    held ??= new Set(attributes.map(({ name }) => name))
    const own = held
    return names.some((name) => name === '*' || own.has(name))
  }
  return ({ attributes: names }) => {
    if (names.length === 0 || attributes.length === 0) return attributes.length > 0
    const shown = known.get(names) ?? isAny(names)
    known.set(names, shown)
    return shown
  }
}

function triggeredOf(
  number: number,
  groups: readonly MatchGroup[],
  changed: readonly string[],
): readonly IndexedSubscription[] {
  const triggered = new Triggered(number, changed)
  for (const group of groups) group.gatherTriggered(triggered)
  return triggered.subscriptions
}
