import { numberOf } from '../../number-of.js'
import { FrequentEvent } from '../../observe/log/frequent-event.js'
import type { Log } from '../../observe/log/log.js'
import { atOnce, type Steps } from '../../slices.js'
import type { Milliseconds } from '../../time.js'
import type { Entity } from '../context/entity.js'
import { rootOf } from '../context/lay.js'
import type { ExpressionHolder } from '../expression/expressions.js'
import type { Cause, Change } from './change.js'
import { ChangeMessages, headCharacters } from './change-messages.js'
import { advanceClock, lastNotified, Reservations, reserveMoment } from './clocks.js'
import { expressionsRead } from './expression-texts.js'
import { type IndexedSubscription, type MatchGroup, Triggered } from './match-group.js'
import { MatchTrace, type Silence } from './match-trace.js'
import { type ConditionEvaluator, MatcherIndex } from './matcher-index.js'
import { bodyTermsOf, type MessageRenderer, type NoticeMessage } from './message.js'
import { type NewNotice, type Notice, type NoticeRenderer, orderingKeyOf } from './notice.js'
import { hasFired, isLegacy, isPlainLegacy } from './patch.js'
import { StepShare } from './step-share.js'
import type { Subscription, SubscriptionId, SubscriptionInForce } from './subscription.js'
import type { SubscriptionTerms } from './terms.js'

interface MatcherParts {
  readonly legacyBody: NoticeRenderer
  /** Renders the messages of subscriptions in the forms of NGSIv2. */
  readonly message: MessageRenderer
  /** Evaluates the template expressions that subscriptions have as conditions. */
  readonly holds: ConditionEvaluator
  /** Holds the parsed expressions of the subscriptions in force, for `message` and `holds`. */
  readonly expressions: ExpressionHolder
  readonly log: Log
  /** The size of the cache of pattern results. */
  readonly memory_bytes: number
}

/**
 * Matches the changes of a turn with subscriptions, and makes the notices that are committed with the turn [subscriptions 3]. One
 * per partition; a turn ends with `commit` or `undo`.
 */
export class Matcher {
  readonly #index: MatcherIndex
  readonly #legacyBody: NoticeRenderer
  readonly #message: MessageRenderer
  readonly #holds: ConditionEvaluator
  readonly #expressions: ExpressionHolder
  readonly #log: Log
  readonly #trace: MatchTrace
  /** Updates that are not notified because they come back, and those whose conditions and templates take too long. */
  readonly #loops = new FrequentEvent()
  readonly #longMatches = new FrequentEvent()
  #notices: NewNotice[] = []
  readonly #reservations = new Reservations()
  /** The number of changes so far. */
  #changes = 0
  /** The number of messages that the current change has caused. */
  #made = 0

  constructor({ legacyBody, message, holds, expressions, log, memory_bytes }: MatcherParts) {
    this.#index = new MatcherIndex(memory_bytes)
    this.#expressions = expressions
    this.#legacyBody = legacyBody
    this.#message = message
    this.#holds = holds
    this.#log = log
    this.#trace = new MatchTrace(log)
  }

  /** Whether there is no subscription that a change could trigger. */
  get isIdle(): boolean {
    return this.#index.isEmpty
  }

  /**
   * The notices of the turn so far: in the order of the changes, those of one change in the order of the subscriptions' creation.
   */
  get notices(): readonly NewNotice[] {
    return this.#notices
  }

  /** Parses the expressions of a subscription in steps before it comes into force. `put` is to be called with the function that it gives. */
  prepare({ subscription }: SubscriptionInForce): Steps<() => void> {
    return expressionsRead(subscription, this.#expressions)
  }

  /** Brings a subscription into force in place of an earlier one of its id. */
  put(inForce: SubscriptionInForce, release = atOnce(this.prepare(inForce))): void {
    this.#index.put(inForce, release)
  }

  remove(id: SubscriptionId): void {
    this.#index.remove(id)
  }

  /** Another node has made a notice of a subscription: moves the clock forward to it. */
  notified(id: SubscriptionId, made: Milliseconds): void {
    const clock = this.#index.clockOf(id)
    if (clock !== undefined) advanceClock(clock, made)
  }

  /** Makes a notice for each subscription that the change triggers, with the entity as it now is [subscriptions 3.1]. */
  match(change: Change, cause: Cause): void {
    this.#trace.change(change, cause)
    const groups = this.#index.groups(change.tenant, change.entity)
    if (groups.length === 0) return
    this.#changes += 1
    this.#made = 0
    const triggered = triggeredOf(this.#changes, groups, change)
    this.#trace.untriggered(groups, triggered, change, cause)
    if (comesBack(change, cause)) {
      this.#warnOfLoop(change)
      return
    }
    const isShown = showing(change.entity)
    const isTraced = this.#trace.isOfTriggered
    const due: Subscription[] = []
    const share = new StepShare(triggered)
    const messages = new ChangeMessages(this.#message, change, cause, share)
    let undecided: IndexedSubscription[] | undefined
    for (const indexed of triggered) {
      if (indexed.provisional !== undefined) {
        undecided ??= []
        undecided.push(indexed)
        continue
      }
      const silence = this.#reserve(indexed, isShown, messages, change, cause, share)
      if (silence === undefined && isPlainLegacy(indexed.subscription)) due.push(indexed.subscription)
      else if (silence === undefined) this.#pushMessage(indexed.subscription, messages, change, cause)
      if (isTraced) this.#trace.triggered(indexed, silence, change, cause)
    }
    this.#pushLater(messages, change, cause)
    if (due.length > 0) this.#pushLegacy(due, change, cause)
    if (undecided !== undefined) this.#matchUndecided(undecided, isShown, messages, change, cause, share)
    if (share.isTooSmall) this.#warnOfSteps(change, share)
  }

  /**
   * For diagnosis, outside of turns: the outcome of a change for each subscription to its entity, as the reason why it would not
   * be notified, or undefined if it would be. Makes no notice and leaves clocks as they are.
   */
  outcomes(change: Change, cause: Cause): ReadonlyMap<SubscriptionId, Silence | undefined> {
    const outcomes = new Map<SubscriptionId, Silence | undefined>()
    const groups = this.#index.groups(change.tenant, change.entity)
    const about = new Set<IndexedSubscription>()
    for (const group of groups) group.gather(about)
    for (const { subscription, provisional } of about) {
      if (provisional?.by !== 'proposed') outcomes.set(subscription.id, 'not triggered')
    }
    this.#changes += 1
    const isShown = showing(change.entity)
    const triggered = triggeredOf(this.#changes, groups, change)
    const share = new StepShare(triggered)
    const messages = new ChangeMessages(this.#message, change, cause, share)
    for (const indexed of triggered) {
      if (indexed.provisional?.by === 'proposed') continue
      outcomes.set(indexed.subscription.id, this.#reserve(indexed, isShown, messages, change, cause, share))
    }
    this.#reservations.undo()
    return outcomes
  }

  /** The turn is durable. */
  commit(): void {
    if (this.#notices.length > 0) this.#notices = []
    this.#reservations.clear()
  }

  /** The turn failed: its notices were not made, and the clocks get their former moments back. */
  undo(): void {
    this.#reservations.undo()
    this.commit()
  }

  /** Reserves the moment of a notice on the clock, or gives the reason why no notice is made. */
  #reserve(
    { subscription, clock, accepts }: IndexedSubscription,
    isShown: Showing,
    messages: ChangeMessages,
    change: Change,
    cause: Cause,
    share: StepShare,
  ): Silence | undefined {
    const { time, origin } = cause
    if (origin.ends) return 'come round'
    if (time >= subscription.expires) return 'expired'
    if (accepts !== undefined && !accepts(change, share.budget())) return 'condition not met'
    const { throttling_ms, terms } = subscription
    const jexl = terms?.condition?.jexl
    if (jexl !== undefined && !this.#holds(jexl, change, cause, share.budget())) return 'condition not met'
    const shows = isPlainLegacy(subscription) ? isShown(subscription) : messages.head(subscription) !== undefined
    if (!shows) return 'nothing to show'
    if (terms?.status !== 'oneshot') {
      return reserveMoment(clock, time, throttling_ms, this.#reservations) ? undefined : 'throttled'
    }
    const { armed } = terms
    if (hasFired(terms, lastNotified(clock))) return 'has fired'
    return reserveMoment(clock, madeAt(terms, time), throttling_ms, this.#reservations, armed) ? undefined : 'throttled'
  }

  /** Makes the notice of a subscription whose terms shape its message: with its body, unless the bodies of the change are rendered later. */
  #pushMessage(subscription: Subscription, messages: ChangeMessages, change: Change, cause: Cause): void {
    const { terms } = subscription
    const isNow = terms === undefined || madeAt(terms, cause.time) === cause.time
    const headed = this.#headed(subscription, messages, cause)
    const rendered = isNow
      ? messages.wholeInTurn(subscription, headed.message)
      : messages.whole(subscription, headed.message)
    if (rendered === undefined) messages.later.push({ ...headed, terms: bodyTermsOf(subscription) })
    else this.#notices.push(noticeOf(subscription, headed.correlator, rendered, change, cause))
  }

  /** The notice of a subscription with its body. */
  #whole(subscription: Subscription, messages: ChangeMessages, change: Change, cause: Cause): Notice {
    const { correlator, message } = this.#headed(subscription, messages, cause)
    return noticeOf(subscription, correlator, messages.whole(subscription, message), change, cause)
  }

  #headed(
    subscription: Subscription,
    messages: ChangeMessages,
    { origin }: Cause,
  ): { readonly correlator: string; readonly message: NoticeMessage } {
    const message = messages.head(subscription)
    if (message === undefined) throw new Error('what is sent shows something')
    if (isLegacy(subscription)) return { correlator: origin.correlator, message }
    this.#made += 1
    return { correlator: `${origin.correlator}; cbnotif=${this.#made}`, message }
  }

  /** Stores the change once for the messages whose bodies are rendered when they are sent. */
  #pushLater({ later, steps }: ChangeMessages, change: Change, { origin, time }: Cause): void {
    if (later.length === 0) return
    const { tenant, entity } = change
    const { token, service, via } = origin
    this.#notices.push({
      ...{ orderingKey: orderingKeyOf(entity), made: time, tenant, paths: [entity.path], token, service, via },
      subscriptions: later.map(({ terms }) => terms.id),
      messages: later,
      shown: { change, time, steps },
    })
  }

  /**
   * Makes the notices of subscriptions with two undecided versions, behind all others, each marked with its version. If both
   * versions make the same notice, it is stored once without a mark, and sent whatever is decided. These notices are rendered
   * here and stored one by one.
   */
  #matchUndecided(
    undecided: readonly IndexedSubscription[],
    isShown: Showing,
    messages: ChangeMessages,
    change: Change,
    cause: Cause,
    share: StepShare,
  ): void {
    const standing = new Map<SubscriptionId, number>()
    for (const by of ['standing', 'proposed'] as const) {
      for (const indexed of undecided) {
        const { subscription, provisional } = indexed
        if (provisional?.by !== by) continue
        const silence = this.#reserve(indexed, isShown, messages, change, cause, share)
        if (this.#trace.isOfTriggered) this.#trace.triggered(indexed, silence, change, cause)
        if (silence !== undefined) continue
        if (isPlainLegacy(subscription)) this.#pushLegacy([subscription], change, cause)
        else this.#notices.push(this.#whole(subscription, messages, change, cause))
        const made = this.#notices.pop()
        if (made === undefined || 'subscriptions' in made) throw new Error('a version has no notice of its own')
        const at = standing.get(subscription.id)
        const like = at === undefined ? undefined : this.#notices[at]
        if (at !== undefined && like !== undefined && isAlike(like, made)) {
          this.#notices[at] = { ...like, provisional: undefined }
          continue
        }
        if (by === 'standing') standing.set(subscription.id, this.#notices.length)
        this.#notices.push({ ...made, provisional })
      }
    }
  }

  #warnOfLoop({ entity: { id, type } }: Change): void {
    const number = this.#loops.happened()
    if (number === undefined) return
    const what = `notification loop detected: the update of ${id} (${type}) notifies nobody`
    this.#log.warn('subscriptions:loop', `${what}${earlierOnes(number)}`)
  }

  #warnOfSteps({ entity: { id, type } }: Change, { steps }: StepShare): void {
    const number = this.#longMatches.happened()
    if (number === undefined) return
    const what = `the conditions and templates of its subscriptions take too long for ${id} (${type})`
    this.#log.warn(
      'subscriptions:steps',
      `${what}: if one needs more than ${steps} steps, a condition counts as false and a macro as null${earlierOnes(number)}`,
    )
  }

  /** Bodies that are short together are rendered here; otherwise the entity is stored once for all of them. */
  #pushLegacy(due: readonly Subscription[], { tenant, entity }: Change, { origin, time }: Cause): void {
    const { correlator, token, service, via } = origin
    const common = {
      orderingKey: orderingKeyOf(entity),
      made: time,
      tenant,
      paths: [entity.path],
      correlator,
      token,
      service,
      via,
    }
    const notices: Notice[] = []
    let characters = 0
    for (const subscription of due) {
      const body = this.#legacyBody(subscription, [entity])
      characters += body.length + headCharacters(origin)
      if (due.length > 1 && characters > maxRendered_characters) {
        this.#notices.push({ ...common, subscriptions: due.map(({ id }) => id), entity })
        return
      }
      notices.push({ subscription: subscription.id, ...common, body })
    }
    for (const notice of notices) this.#notices.push(notice)
  }
}

/** Written out, since spreading several objects takes as long as rendering a short body. */
function noticeOf(
  { id, tenant, terms }: Subscription,
  correlator: string,
  { message, body }: Pick<Notice, 'message' | 'body'>,
  { entity }: Change,
  { origin, time }: Cause,
): Notice {
  return {
    subscription: id,
    orderingKey: orderingKeyOf(entity),
    made: terms ? madeAt(terms, time) : time,
    tenant,
    paths: [entity.path],
    correlator,
    token: origin.token,
    service: origin.service,
    via: origin.via,
    message,
    body,
  }
}

/** Whether two versions of a subscription make the same notice of a change, apart from the number of the message. */
function isAlike(standing: NewNotice, proposed: Notice): boolean {
  const text = JSON.stringify({ ...standing, provisional: undefined })
  if (!('correlator' in standing)) return false
  return text === JSON.stringify({ ...proposed, correlator: standing.correlator })
}

/** Not before the oneshot was set, whatever the front end's clock says. */
function madeAt({ status, armed }: SubscriptionTerms, time: Milliseconds): Milliseconds {
  return status === 'oneshot' && armed > time ? armed : time
}

/** Whether this update is a custom notification of this very entity that has come back [NGSIv2 subscriptions 4.4]. */
function comesBack({ before }: Change, cause: Cause): boolean {
  return cause.origin.isCustom === true && before?.correlator === rootOf(cause)
}

/** What a line about updates ends with if it stands for several. */
function earlierOnes(number: number): string {
  return number === 1 ? '' : ` (and so of ${numberOf(number - 1, 'update')} before it)`
}

/** The most characters of bodies, with what stands beside each, that are rendered and stored for one change with several notices. */
const maxRendered_characters = 4096

type Showing = (subscription: Subscription) => boolean

/**
 * Tells which subscriptions are shown anything of an entity, as `shownAttributes` would. Looks at each list of names once: subscriptions
 * with equal lists share one.
 */
function showing(entity: Entity): Showing {
  const known = new Map<readonly string[], boolean>()
  let held: ReadonlySet<string> | undefined
  const isAny = (names: readonly string[]): boolean => {
    held ??= new Set(entity.attributes.map(({ name }) => name))
    const own = held
    return names.some((name) => name === '*' || own.has(name))
  }
  return ({ attributes: names }) => {
    const { attributes } = entity
    if (names.length === 0 || attributes.length === 0) return attributes.length > 0
    const shown = known.get(names) ?? isAny(names)
    known.set(names, shown)
    return shown
  }
}

function triggeredOf(number: number, groups: readonly MatchGroup[], change: Change): readonly IndexedSubscription[] {
  const triggered = new Triggered(number, change)
  for (const group of groups) group.gatherTriggered(triggered)
  return triggered.subscriptions
}
