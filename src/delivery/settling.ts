import type { NoticeAck, NoticeNumber } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Source, SourceNumber } from './source.js'

export type AccountOf = (id: SubscriptionId, source: SourceNumber) => NoticeAck['account']

/** What is to be stored of one subscription. */
interface Pending {
  gone: NoticeNumber[]
  /** Called when all of it is on disk. */
  readonly stored: (() => void)[]
}

/** How long outcomes are gathered, well below the 100 ms within which they are stored [subscriptions 5.7]. */
const gather_ms = 20
/** So many are stored at once without waiting for more. */
const gather_most = 256
/** Notices that leave in one batch: it is one turn of the partition, which updates wait for. Each may be of a group of its own. */
const goneAtOnce = 400
/** Before a batch that was refused is offered again, at first and at most. */
const again_ms = 50
const againMost_ms = 2000

/** Has the outcomes of attempts stored in the outboxes that they belong to, one batch at a time for each. */
export class Settling {
  readonly #sources: readonly OneSource[]

  constructor(sources: readonly Source[], accountOf: AccountOf) {
    this.#sources = sources.map((source, number) => new OneSource(source, (id) => accountOf(id, number)))
  }

  /** The account of a subscription has changed, and these notices leave. */
  note(source: SourceNumber, id: SubscriptionId, gone: readonly NoticeNumber[]): void {
    this.#sources[source]?.note(id, gone)
  }

  /** Resolves when everything that was noted of a subscription is on disk. */
  async stored(id: SubscriptionId): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.stored(id)))
  }

  /** Resolves when nothing is left to be stored. */
  async empty(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.empty()))
  }

  /** What is not on disk by now is given up. */
  close(): void {
    for (const source of this.#sources) source.close()
  }
}

class OneSource {
  readonly #source: Source
  readonly #accountOf: (id: SubscriptionId) => NoticeAck['account']
  #pending = new Map<SubscriptionId, Pending>()
  #underWay: ReadonlyMap<SubscriptionId, Pending> = new Map()
  #noted = 0
  #timer: NodeJS.Timeout | undefined
  #whenEmpty: (() => void)[] = []
  #closed = false

  constructor(source: Source, accountOf: (id: SubscriptionId) => NoticeAck['account']) {
    this.#source = source
    this.#accountOf = accountOf
  }

  note(id: SubscriptionId, gone: readonly NoticeNumber[]): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) this.#pending.set(id, { gone: [...gone], stored: [] })
    else for (const number of gone) pending.gone.push(number)
    this.#noted += 1
    if (this.#noted >= gather_most) this.#send()
    else this.#timer ??= setTimeout(() => this.#send(), gather_ms)
  }

  stored(id: SubscriptionId): Promise<void> {
    const pending = this.#pending.get(id) ?? this.#underWay.get(id)
    return pending === undefined ? Promise.resolve() : new Promise((resolve) => pending.stored.push(resolve))
  }

  empty(): Promise<void> {
    if (this.#pending.size === 0 && this.#underWay.size === 0) return Promise.resolve()
    this.#send()
    return new Promise((resolve) => this.#whenEmpty.push(resolve))
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #send(): void {
    // Also where a batch is still under way: a timer that has run out would keep the next one from being set.
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#underWay.size > 0 || this.#pending.size === 0 || this.#closed) return
    this.#noted = 0
    this.#underWay = this.#batch()
    const settlements = Array.from(this.#underWay, ([subscription, { gone }]) => ({
      ...{ subscription, gone, account: this.#accountOf(subscription) },
    }))
    this.#store(settlements).then(() => this.#stored())
  }

  async #store(settlements: readonly NoticeAck[]): Promise<void> {
    let wait_ms = again_ms
    while (!this.#closed && !(await this.#source.ack(settlements))) {
      await new Promise((resolve) => setTimeout(resolve, wait_ms))
      wait_ms = Math.min(2 * wait_ms, againMost_ms)
    }
  }

  #stored(): void {
    if (this.#closed) return
    for (const { stored } of this.#underWay.values()) for (const tell of stored) tell()
    this.#underWay = new Map()
    if (this.#pending.size > 0) {
      // What gathered meanwhile has waited long enough if somebody waits for the end or much has come.
      if (this.#whenEmpty.length > 0 || this.#noted >= gather_most) this.#send()
      else this.#timer ??= setTimeout(() => this.#send(), gather_ms)
    } else for (const tell of this.#whenEmpty.splice(0)) tell()
  }

  /** Takes what fits into one batch; the rest of a long list stays. */
  #batch(): ReadonlyMap<SubscriptionId, Pending> {
    const batch = new Map<SubscriptionId, Pending>()
    let room = goneAtOnce
    for (const [id, pending] of this.#pending) {
      if (room <= 0) break
      if (pending.gone.length > room) {
        batch.set(id, { gone: pending.gone.splice(0, room), stored: [] })
        break
      }
      room -= Math.max(1, pending.gone.length)
      this.#pending.delete(id)
      batch.set(id, pending)
    }
    return batch
  }
}
