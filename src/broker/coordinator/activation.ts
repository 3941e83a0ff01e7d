import { setTimeout as sleep } from 'node:timers/promises'
import { isGivenUp } from '../../faults.js'
import type { Origin } from '../../model/context/update.js'
import { decided } from '../../model/subscription/decisions.js'
import type { Notice, NoticeNumber } from '../../model/subscription/notice.js'
import type { Subscription, SubscriptionId } from '../../model/subscription/subscription.js'
import { errorFacts, type Log } from '../../observe/log/log.js'
import { ok, type Result } from '../../result.js'
import type { MetadataChange, MetadataStore } from '../../storage/store/metadata-store.js'
import type { Bell } from '../../threads/shared-memory/signals.js'
import type { Milliseconds } from '../../time.js'
import type { Unavailable } from '../front-end/unavailable.js'
import { resultOf } from './capacity.js'
import { begun, type ChangeEvent, type ChangeResponse, type ChangeState, nextOfChange } from './change-protocol.js'
import { noticesAbout, type StateParts, stateToShow } from './initial-notices.js'

interface ActivationParts extends StateParts {
  readonly store: MetadataStore
  readonly bell: Bell
  /** In a cluster: resolves when everything stored is in force on all nodes. */
  readonly everywhere?: Everywhere | undefined
  /** The pause after a failed attempt, half a second by default. */
  readonly again_ms?: number
  readonly log: Log
}

/** What is in force of a subscription on this node, as the protocol of its changes sees it. */
interface InForceHere {
  /** Brings a record into force. Returns, for each partition, the number of the last notice that was made without it. */
  readonly enforce: (record: Subscription) => Promise<readonly NoticeNumber[]>
  readonly enforceRemoval: (id: SubscriptionId) => Promise<void>
  /** Whether what a record proposes is still undecided. */
  readonly isStill: (record: Subscription) => boolean
  readonly notified: (record: Subscription, made: Milliseconds) => void
}

/**
 * In a cluster: resolves when everything stored is in force on all nodes, with the number of the last notice of each
 * partition that was made without it; refuses when that takes too long.
 */
export type Everywhere = () => Promise<Result<readonly NoticeNumber[], Unavailable>>

/** Makes the notifications that a change begins with, given the last notice of each partition that was made without it. */
export type Compose = (after: readonly NoticeNumber[]) => Promise<Result<readonly Notice[], Unavailable>>

const composeNothing: Compose = async () => ok([])

/** How subscriptions come into force and on disk: in the partitions, in the store, in the courier. */
export class Activation {
  readonly #parts: ActivationParts
  readonly #here: InForceHere

  constructor(parts: ActivationParts, here: InForceHere) {
    this.#parts = parts
    this.#here = here
  }

  /**
   * Carries out what a record proposes, see `nextOfChange`: while it is undecided partitions match by both versions, and the couriers
   * hold back what they make. On a single node the record is on disk as well, so that whoever starts again withdraws it.
   */
  async decide(record: Subscription, compose: Compose = composeNothing): Promise<Result<undefined, Unavailable>> {
    const { everywhere, bell } = this.#parts
    let after: readonly NoticeNumber[] = []
    let notices: readonly Notice[] = []
    const asking = async (): Promise<Result<unknown, Unavailable>> => {
      // Behind the commit: what fails here has to be withdrawn.
      const passed = everywhere ? await everywhere() : ok(await this.#here.enforce(record))
      if (passed.ok) after = passed.value
      return passed
    }
    const composing = async (): Promise<Result<unknown, Unavailable>> => {
      const made = await compose(after)
      if (made.ok) notices = made.value
      return made
    }
    const response = await this.#carriedOut(record, begun, {
      proposing: () => this.commit({ put: record }),
      asking,
      composing,
      committing: () => this.#written(record, 'committed', notices),
    })
    if ('fault' in response) throw response.fault
    const [first] = notices
    if (response.ok && first !== undefined) {
      this.#here.notified(record, first.made)
      bell.ring()
    }
    return response
  }

  /** Withdraws what a record proposes after its proposer has ended, since nobody else will commit it. */
  async withdraw(record: Subscription): Promise<void> {
    await this.#carriedOut(record, { kind: 'withdrawing', response: ok(undefined) })
  }

  /** Carries out the protocol of a change from a state on. */
  async #carriedOut(record: Subscription, from: ChangeState, first?: FirstSteps): Promise<ChangeResponse> {
    for (let state = from; ; ) {
      if (state.kind === 'ended') return state.response
      state = nextOfChange(state, await outcomeOf(this.#stepOf(state, record, first)))
    }
  }

  #stepOf(state: Exclude<ChangeState, { kind: 'ended' }>, record: Subscription, first: FirstSteps | undefined): Step {
    if (state.kind === 'withdrawing') return () => this.#withdrawn(record)
    if (state.kind === 'enforcing') return () => this.#enforced(record.id, decided(record, state.decision))
    const step = first?.[state.kind]
    if (step === undefined) throw new Error(`a change cannot begin with ${state.kind}`)
    return step
  }

  /** On a single node: stores a subscription, then brings it into force. */
  async put(subscription: Subscription): Promise<Result<undefined, Unavailable>> {
    const stored = await this.commit({ put: subscription })
    if (stored.ok) await untilDone(() => this.#enforced(subscription.id, subscription))
    return stored
  }

  /** On a single node: removes a subscription from the disk, then takes it out of force. */
  async remove(id: SubscriptionId): Promise<Result<undefined, Unavailable>> {
    const stored = await this.commit({ remove: id })
    if (stored.ok) await untilDone(() => this.#enforced(id, undefined))
    return stored
  }

  /** The notification of the current state, which follows these notices. */
  async initial(
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
    // It shows what these notices show, and nothing later.
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
  commit(change: MetadataChange): Promise<Result<undefined, Unavailable>> {
    const { store, log } = this.#parts
    return resultOf(store.commit(change), log, 'subscriptions:store', 'a change of subscriptions was not stored')
  }

  /** Writes the decision about a record, unless another node has decided it. */
  async #written(
    record: Subscription,
    decision: 'committed' | 'withdrawn',
    notices: readonly Notice[] = [],
  ): Promise<Result<undefined, Unavailable>> {
    // This node may have come to coordinate again: another one has withdrawn it meanwhile.
    if (!this.#here.isStill(record)) return { ok: false, error: { kind: 'coordinatorAway' } }
    const next = decided(record, decision)
    const withdraws = decision === 'withdrawn'
    return this.commit(next ? { put: next, notices, withdraws } : { remove: record.id })
  }

  #withdrawn(record: Subscription): Promise<Result<undefined, Unavailable>> {
    return this.#again(record.id, 'withdrawn', () => this.#written(record, 'withdrawn'))
  }

  /**
   * On a single node: brings the record on disk into force, or takes a removed one out of force. In a cluster each node does so when it
   * reads the log.
   */
  async #enforced(id: SubscriptionId, next: Subscription | undefined): Promise<Result<undefined, Unavailable>> {
    if (this.#parts.everywhere !== undefined) return ok(undefined)
    return this.#again(id, 'brought into force', async () => {
      if (next) await this.#here.enforce(next)
      else await this.#here.enforceRemoval(id)
      return ok(undefined)
    })
  }

  /** One attempt of a step; after a failure, pauses before the next one, and logs a fault. */
  async #again(
    id: SubscriptionId,
    what: string,
    work: () => Promise<Result<undefined, Unavailable>>,
  ): Promise<Result<undefined, Unavailable>> {
    try {
      const done = await work()
      if (!done.ok && !isOver(done.error)) await this.#pause()
      return done
    } catch (fault) {
      if (isGivenUp(fault)) throw fault
      const message = `a change of subscription ${id} could not be ${what}: it is tried again`
      this.#parts.log.error('subscriptions:store', message, errorFacts(fault))
      await this.#pause()
      throw fault
    }
  }

  #pause(): Promise<void> {
    return sleep(this.#parts.again_ms ?? 500, undefined, { ref: false })
  }
}

/** Whether no further attempt can have another outcome. */
function isOver({ kind }: Unavailable): boolean {
  return kind === 'coordinatorAway' || kind === 'outcomeUnknown'
}

/** One step of a change, with its result or refusal. */
type Step = () => Promise<Result<unknown, Unavailable>>

/** The steps of a change up to its decision. */
type FirstSteps = Readonly<Record<'proposing' | 'asking' | 'composing' | 'committing', Step>>

/** Repeats an attempt until it succeeds, another node coordinates, or the process ends. A failed attempt pauses by itself. */
async function untilDone(attempt: Step): Promise<void> {
  for (;;) {
    const { kind } = await outcomeOf(attempt)
    if (kind === 'done' || kind === 'away' || kind === 'givenUp') return
  }
}

async function outcomeOf(work: Step): Promise<ChangeEvent> {
  try {
    const result = await work()
    if (result.ok) return { kind: 'done' }
    if (result.error.kind === 'outcomeUnknown') return { kind: 'givenUp' }
    return result.error.kind === 'coordinatorAway' ? { kind: 'away' } : { kind: 'refused', error: result.error }
  } catch (fault) {
    if (isGivenUp(fault)) return { kind: 'givenUp' }
    return { kind: 'failed', fault }
  }
}
