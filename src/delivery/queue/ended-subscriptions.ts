import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { OutboxNumber } from './outboxes.js'
import type { EndedNotice } from './recipients.js'

/** Takes the notices of a subscription that have left. */
type TakeNotices = (id: SubscriptionId, left: readonly EndedNotice[]) => void

interface Ended {
  readonly id: SubscriptionId
  readonly notices: Iterator<EndedNotice, unknown>
  /** Outboxes that are another node's now: what they hold does not leave here. */
  readonly lost: Set<OutboxNumber>
}

/** Subscriptions that have ended, with notices that have not left yet: there may be too many for one turn. */
export class EndedSubscriptions {
  readonly #taken: TakeNotices
  readonly #ended = new Set<Ended>()

  constructor(taken: TakeNotices) {
    this.#taken = taken
  }

  /** `notices` are all that it had, read one by one as they leave. */
  add(id: SubscriptionId, notices: Iterable<EndedNotice>): void {
    this.#ended.add({ id, notices: notices[Symbol.iterator](), lost: new Set() })
  }

  /** Another node owns an outbox now. */
  forget(outbox: OutboxNumber): void {
    for (const { lost } of this.#ended) lost.add(outbox)
  }

  /** At most so many notices leave; gives how many more might have. */
  leave(most: number): number {
    let left = most
    for (const ended of this.#ended) {
      const gone: EndedNotice[] = []
      for (; left > 0; left -= 1) {
        const { done, value } = ended.notices.next()
        if (done) {
          this.#ended.delete(ended)
          break
        }
        if (!ended.lost.has(value.outbox)) gone.push(value)
      }
      if (gone.length > 0) this.#taken(ended.id, gone)
      if (left === 0) break
    }
    return left
  }
}
