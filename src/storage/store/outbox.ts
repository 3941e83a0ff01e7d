import type { Database, RootDatabase, Transaction } from 'lmdb'
import type { DeliveryStats, NoticeAck, NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { openDatabase } from '../environment/environment.js'
import { storedNumber, type Unread, unreadThrows } from '../records/damage.js'
import { type Key, onlyPart } from '../records/keys.js'
import type { NoticeWrite } from '../records/notice-write.js'
import { decodeGroup, encodeGroup, encodeMessage, type NoticeGroup } from '../records/outbox-record.js'

/** The databases of an outbox. */
export interface OutboxDatabases {
  /** [number] to a notice. */
  readonly notices: Database<string, Key>
  /** [number of the first] to the notices of a group. */
  readonly groups: Database<string, Key>
  /** [number] to the entity or change that the notices of groups show; with `groups` behind it to the number of these groups. */
  readonly shown: Database<string, Key>
  /** [subscription] to its delivery stats. */
  readonly deliveryStats: Database<string, Key>
  /** Holds the number of the last notice that was ever put in, so that no number is given twice. */
  readonly facts: Database<string, Key>
}

/** Opens the databases of the outbox in an environment. */
export function openOutbox(root: RootDatabase<string, Key>): OutboxDatabases {
  return {
    notices: openDatabase(root, 'notices'),
    groups: openDatabase(root, 'groups'),
    shown: openDatabase(root, 'shown'),
    deliveryStats: openDatabase(root, 'deliveryStats'),
    facts: openDatabase(root, 'facts'),
  }
}

const lastFact: Key = ['notice']

/** The most notices of a group, and about how many characters of messages: it is written again when one of them leaves. */
const groupSize = 256
const groupCharacters = 2 ** 17

/** Notices on disk, in the environment of whoever makes them. It writes within the transactions of its only writer. */
export class Outbox {
  readonly #databases: OutboxDatabases
  #last: NoticeNumber

  /** Opens the outbox of a folder's environment; throws `DamagedRecord` when it cannot be continued. */
  constructor(databases: OutboxDatabases, path: string) {
    this.#databases = databases
    this.#last = lastNumber(databases, path)
  }

  /** The number of the last notice that was ever put in; 0 before the first. */
  get last(): NoticeNumber {
    return this.#last
  }

  /** Its databases, for readers. */
  get databases(): OutboxDatabases {
    return this.#databases
  }

  /** Puts notices behind all others; returns the number of characters written. */
  enqueue(notices: readonly NoticeWrite[]): number {
    if (notices.length === 0) return 0
    let written = 0
    for (const notice of notices) {
      if (notice.kind === 'shared') {
        written += this.#putGroups(notice)
        continue
      }
      this.#last += 1
      written += notice.text.length
      this.#databases.notices.putSync([this.#last], notice.text)
    }
    this.#databases.facts.putSync(lastFact, String(this.#last))
    return written
  }

  /** Gives the first of so many numbers, under which notices are stored later. */
  takeNumbers(count: number): NoticeNumber {
    const first = this.#last + 1
    this.#last += count
    return first
  }

  /** Stores notices under numbers that were taken, of which others may have left, and then acks. */
  store(notices: Iterable<readonly [NoticeNumber, string]>, acks: Iterable<NoticeAck>): void {
    for (const [number, text] of notices) this.#databases.notices.putSync([number], text)
    this.#databases.facts.putSync(lastFact, String(this.#last))
    this.ack(acks)
  }

  /** Stores acks of notices; idempotent. */
  ack(acks: Iterable<NoticeAck>): void {
    const { notices, deliveryStats } = this.#databases
    const grouped: NoticeNumber[] = []
    for (const { subscription, gone, stats } of acks) {
      for (const number of gone) if (!notices.removeSync([number])) grouped.push(number)
      if (stats === undefined) deliveryStats.removeSync([subscription])
      else deliveryStats.putSync([subscription], JSON.stringify(stats))
    }
    this.#leaveGroups(grouped)
  }

  /** Gives numbers again after the transaction that enqueued them was undone. */
  rewind(last: NoticeNumber): void {
    this.#last = last
  }

  /** Writes the groups of a change, and once what all of them show. */
  #putGroups({ subscriptions, common, messages, shown: text }: Extract<NoticeWrite, { kind: 'shared' }>): number {
    const { groups, shown } = this.#databases
    const first = this.#last + 1
    const shown_bytes = Buffer.byteLength(text)
    shown.putSync([first], text)
    let written = text.length
    let count = 0
    for (let at = 0; at < subscriptions.length; count += 1) {
      const end = endOfGroup(at, subscriptions.length, messages)
      const members = subscriptions.slice(at, end)
      const own = messages?.slice(at, end)
      const group = encodeGroup({ subscriptions: members, common, messages: own, shown: first, shown_bytes })
      groups.putSync([first + at], group)
      written += group.length
      at = end
    }
    shown.putSync(holdersKey(first), String(count))
    this.#last += subscriptions.length
    return written
  }

  /** Removes notices from their groups, each of which is read and written once. */
  #leaveGroups(numbers: NoticeNumber[]): void {
    const left: { readonly group: NoticeGroup; readonly gone: Set<NoticeNumber> }[] = []
    for (const number of numbers.sort((a, b) => a - b)) {
      const last = left.at(-1)
      if (last !== undefined && number < last.group.first + last.group.subscriptions.length) {
        last.gone.add(number)
        continue
      }
      // A group that cannot be read stays; the courier names it.
      const group = groupOf(this.#databases, number, () => {})
      if (group !== undefined) left.push({ group, gone: new Set([number]) })
    }
    for (const { group, gone } of left) {
      const subscriptions = group.subscriptions.map((id, at) => (gone.has(group.first + at) ? undefined : id))
      if (subscriptions.some((id) => id !== undefined)) {
        const messages = group.messages?.map(encodeMessage)
        this.#databases.groups.putSync([group.first], encodeGroup({ ...group, subscriptions, messages }))
      } else this.#removeGroup(group)
    }
  }

  #removeGroup({ first, shown: at }: NoticeGroup): void {
    const { groups, shown } = this.#databases
    groups.removeSync([first])
    const others = Number(shown.get(holdersKey(at)) ?? 1) - 1
    if (Number.isNaN(others)) return // Damaged count: other groups may show it.
    if (others > 0) {
      shown.putSync(holdersKey(at), String(others))
      return
    }
    shown.removeSync([at])
    shown.removeSync(holdersKey(at))
  }
}

/** Where the group that begins at a notice of a change ends. */
function endOfGroup(from: number, notices: number, messages: readonly string[] | undefined): number {
  const end = Math.min(notices, from + groupSize)
  let characters = 0
  for (let at = from; at < end; at += 1) {
    characters += messages?.[at]?.length ?? 0
    if (at > from && characters > groupCharacters) return at
  }
  return end
}

/** The key of the number of groups that show an entity or a change. */
export function holdersKey(shown: NoticeNumber): Key {
  return [shown, 'groups']
}

/** The number of the last notice that was ever put in; 0 before the first. Throws `DamagedRecord` when it is none. */
export function lastNumber(
  { facts }: Pick<OutboxDatabases, 'facts'>,
  path: string,
  transaction?: Transaction,
): NoticeNumber {
  return storedNumber(facts.get(lastFact, transaction && { transaction }), path, 'the number of the last notice')
}

/** Makes an empty outbox continue behind a number of another one. */
export function goOnBehind({ facts }: Pick<OutboxDatabases, 'facts'>, last: NoticeNumber): void {
  facts.putSync(lastFact, String(last))
}

/** The group that a number belongs to, unless all of it has left; `decode` may know it already. */
export function groupOf(
  { groups }: Pick<OutboxDatabases, 'groups'>,
  number: NoticeNumber,
  unread: Unread = unreadThrows,
  decode = decodeGroup,
): NoticeGroup | undefined {
  for (const { key, value } of groups.getRange({ start: [number], reverse: true, limit: 1 })) {
    const group = readGroup(Number(onlyPart(key)), value, unread, decode)
    return group && number < group.first + group.subscriptions.length ? group : undefined
  }
  return undefined
}

/** A group as it is stored; nothing when it cannot be read. */
export function readGroup(
  first: NoticeNumber,
  text: string,
  unread: Unread,
  decode = decodeGroup,
): NoticeGroup | undefined {
  try {
    return decode(first, text)
  } catch (fault) {
    unread(`a group of notices from number ${first} on`, fault)
    return undefined
  }
}

/** The delivery stats of all subscriptions that have some here. */
export function* statsOf(
  { deliveryStats }: Pick<OutboxDatabases, 'deliveryStats'>,
  unread: Unread = unreadThrows,
): Generator<readonly [SubscriptionId, DeliveryStats]> {
  for (const { key, value } of deliveryStats.getRange({})) {
    const id = String(onlyPart(key)) as SubscriptionId
    const stats = readStats(id, value, unread)
    if (stats !== undefined) yield [id, stats]
  }
}

/** The delivery stats of a subscription, if it has some here. */
export function storedStats(
  { deliveryStats }: Pick<OutboxDatabases, 'deliveryStats'>,
  id: SubscriptionId,
  unread: Unread,
): DeliveryStats | undefined {
  const text = deliveryStats.get([id])
  return text === undefined ? undefined : readStats(id, text, unread)
}

function readStats(id: SubscriptionId, text: string, unread: Unread): DeliveryStats | undefined {
  try {
    const stats = JSON.parse(text) as DeliveryStats
    if (!Array.isArray(stats.tried)) throw new Error('they are no delivery stats')
    return stats
  } catch (fault) {
    unread(`what became of the notifications of subscription ${id} before`, fault)
    return undefined
  }
}
