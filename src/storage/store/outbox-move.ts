import type { RootDatabase } from 'lmdb'
import { shardOf } from '../../hash.js'
import type {
  DeliveryStats,
  NewNotice,
  NoticeNumber,
  OrderingKey,
  StoredNotice,
} from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { writeInTransaction } from '../environment/write-transaction.js'
import type { Key } from '../records/keys.js'
import { noticeWrite } from '../records/notice-write.js'
import type { Outbox } from './outbox.js'
import type { OutboxReader } from './outbox-reader.js'

/** The outbox of a new partition, with the environment in whose transactions it is written. */
export interface TargetOutbox {
  readonly outbox: Outbox
  readonly root: RootDatabase<string, Key>
}

/** Notices of one read. */
const page = 500

/**
 * Takes the notices of some partitions to the partitions that will have their entities. All notices of one entity lie in one
 * partition before and after, and go in the order of their numbers, so their order stays for each subscription and entity.
 * They get new numbers, greater than those that the old outboxes have given.
 */
export class OutboxMove {
  readonly #sources: readonly OutboxReader[]
  readonly #targets: readonly TargetOutbox[]
  /** The last moved number of each old outbox. */
  readonly #moved: NoticeNumber[]
  /** Partition and number of each notice that was attempted. */
  readonly #attempted = new Set<string>()
  /** The new numbers of attempted notices, by subscription, for each new partition. */
  readonly #tried: readonly Map<SubscriptionId, NoticeNumber[]>[]
  #count = 0

  constructor(sources: readonly OutboxReader[], targets: readonly TargetOutbox[]) {
    this.#sources = sources
    this.#targets = targets
    this.#moved = sources.map(() => 0)
    this.#tried = targets.map(() => new Map())
    for (const [partition, source] of sources.entries()) {
      for (const [, { tried }] of source.stats()) {
        for (const number of tried) this.#attempted.add(`${partition} ${number}`)
      }
    }
  }

  /** How many notices were moved. */
  get count(): number {
    return this.#count
  }

  /** Moves the notices up to a number of each old partition, or all; gives the last number of each new one. */
  move(upTo?: readonly NoticeNumber[]): readonly NoticeNumber[] {
    for (const [partition, source] of this.#sources.entries()) this.#moveFrom(partition, source, upTo?.[partition])
    return this.#targets.map(({ outbox }) => outbox.last)
  }

  /** Stores the delivery stats of a subscription: all in the first partition, and in each which notices were attempted. */
  putStats(subscription: SubscriptionId, stats: DeliveryStats): void {
    for (const [number, { outbox, root }] of this.#targets.entries()) {
      const tried = this.#tried[number]?.get(subscription) ?? []
      if (number > 0 && tried.length === 0) continue
      const own = number === 0 ? { ...stats, tried } : { sent: 0, discarded: 0, fails: 0, tried }
      writeInTransaction(root, () => outbox.ack([{ subscription, gone: [], stats: own }]), undefined)
    }
  }

  #moveFrom(partition: number, source: OutboxReader, upTo = Number.POSITIVE_INFINITY): void {
    for (;;) {
      const after = this.#moved[partition] ?? 0
      const numbers = source.after(after, page).map(({ number }) => number)
      const meant = numbers.filter((number) => number <= upTo)
      this.#enqueue(partition, source, meant)
      this.#moved[partition] = meant.at(-1) ?? after
      if (meant.length === 0 || meant.length < numbers.length) return
    }
  }

  #enqueue(partition: number, source: OutboxReader, numbers: readonly NoticeNumber[]): void {
    const gathered = this.#targets.map((): { notice: NewNotice; numbers: NoticeNumber[] }[] => [])
    for (const number of numbers) {
      const stored = source.at(number)
      if (stored === undefined || stored === 'damaged') throw new Error(`notice ${number} cannot be read`)
      const shard = shardOf(stored.tenant, entityIdOf(stored.orderingKey), this.#targets.length)
      const of = gathered[shard]
      const last = of?.at(-1)
      const joined = last && joinedWith(last.notice, stored)
      if (last !== undefined && joined !== undefined) {
        last.notice = joined
        last.numbers.push(number)
      } else of?.push({ notice: newNotice(stored), numbers: [number] })
    }
    for (const [shard, all] of gathered.entries()) this.#put(partition, shard, all)
    this.#count += numbers.length
  }

  #put(
    partition: number,
    shard: number,
    all: readonly { notice: NewNotice; numbers: readonly NoticeNumber[] }[],
  ): void {
    const target = this.#targets[shard]
    if (target === undefined || all.length === 0) return
    let number = target.outbox.last
    writeInTransaction(
      target.root,
      () => target.outbox.enqueue(all.map(({ notice }) => noticeWrite(notice))),
      undefined,
    )
    for (const { notice, numbers } of all) {
      for (const [at, old] of numbers.entries()) {
        number += 1
        if (!this.#attempted.has(`${partition} ${old}`)) continue
        const subscription = 'subscriptions' in notice ? notice.subscriptions[at] : notice.subscription
        if (subscription !== undefined) this.#noteTried(shard, subscription, number)
      }
    }
  }

  #noteTried(shard: number, subscription: SubscriptionId, number: NoticeNumber): void {
    const tried = this.#tried[shard]
    tried?.set(subscription, [...(tried.get(subscription) ?? []), number])
  }
}

/** The id of the entity in the ordering key of a change. */
function entityIdOf(orderingKey: OrderingKey): string {
  if (orderingKey.kind !== 'entity') throw new Error('a partition has a notice that no change has caused')
  const { key } = orderingKey
  const path = key.indexOf(' ')
  const length = key.indexOf(' ', path + 1)
  return key.slice(length + 1 + Number(key.slice(path + 1, length)))
}

/** The notice with another one of the same change, which then follows it and shares its object; undefined if it is of another. */
function joinedWith(notice: NewNotice, stored: StoredNotice): NewNotice | undefined {
  const next = newNotice(stored)
  if ('entity' in notice && 'entity' in next && notice.entity === next.entity)
    return { ...notice, subscriptions: [...notice.subscriptions, ...next.subscriptions] }
  if (!('messages' in notice) || !('messages' in next) || notice.shown !== next.shown) return undefined
  const subscriptions = [...notice.subscriptions, ...next.subscriptions]
  return { ...notice, subscriptions, messages: [...notice.messages, ...next.messages] }
}

function newNotice(stored: StoredNotice): NewNotice {
  if (stored.body !== undefined) return stored
  const { subscription, body: _, message, after: __, ...common } = stored
  if ('entity' in common) return { ...common, subscriptions: [subscription] }
  const { correlator, terms, ...shared } = common
  return { ...shared, subscriptions: [subscription], messages: [{ correlator, message, terms }] }
}
