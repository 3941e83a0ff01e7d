import type { RangeOptions, RootDatabase } from 'lmdb'
import type { DamagedRecord } from '../../faults.js'
import { LruCache } from '../../lru-cache.js'
import type { Entity } from '../../model/context/entity.js'
import type { ShownChange } from '../../model/subscription/message.js'
import type { DeliveryStats, NoticeNumber, NumberedNotice, StoredNotice } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import { type EnvironmentSettings, openRoot } from '../environment/environment.js'
import { decodeChange } from '../records/change-record.js'
import { type Unread, unread, unreadThrows } from '../records/damage.js'
import { type Key, onlyPart } from '../records/keys.js'
import { decodeGroup, decodeHead, decodeNotice, type NoticeGroup } from '../records/outbox-record.js'
import { decodeEntity } from '../records/record.js'
import type { Memtable } from './memtable.js'
import { mergeSorted } from './merge-sorted.js'
import { groupOf, lastNumber, type OutboxDatabases, openOutbox, readGroup, statsOf, storedStats } from './outbox.js'

/**
 * Reads the outbox of an environment from snapshots, in another thread than that of its owner, who alone writes it. Where LMDB follows a
 * log, the last notices are in the memtable: whoever does not find one there finds it in a snapshot that is taken after that, or it has
 * left. Some that have left may still be found.
 */
export class OutboxReader {
  readonly #path: string
  readonly #unread: Unread
  readonly #root: RootDatabase<string, Key>
  readonly #outbox: OutboxDatabases
  readonly #shown: ShownCache
  readonly #unapplied: Pick<Memtable, 'notice' | 'lastNotice'> | undefined
  /** The group of the snapshot of which a notice was asked for last: mostly the next one is of it, too. */
  #group: NoticeGroup | undefined
  /** The group that was decoded last: in most snapshots its text is still the same. */
  #decoded: { readonly text: string; readonly group: NoticeGroup } | undefined
  /** What the last group showed, however large it is. */
  #lastShown: { readonly at: NoticeNumber; readonly what: Shown } | undefined
  readonly #known: GroupReader = {
    groupOf: (number) => this.#groupOf(number, unreadThrows),
    shownOf: (group) => this.#shownOf(group),
  }

  /**
   * `damaged` is called each time for a record that cannot be read; the others are still returned. Readers of one thread may share a
   * cache.
   */
  constructor(
    path: string,
    settings: Omit<EnvironmentSettings, 'readOnly'>,
    damaged: (damage: DamagedRecord) => void,
    shown = shownCache(2 ** 20),
    unapplied?: Pick<Memtable, 'notice' | 'lastNotice'>,
  ) {
    this.#shown = shown
    this.#unapplied = unapplied
    this.#path = path
    this.#unread = (record, fault) => damaged(unread(path, record, fault))
    this.#root = openRoot(path, { ...settings, readOnly: true })
    this.#outbox = openOutbox(this.#root)
  }

  /** Lets later reads see everything that is on disk now. */
  refresh(): void {
    this.#root.resetReadTxn()
    this.#group = undefined
  }

  /** The number of the first notice that LMDB has, damaged or not; undefined when there is none. */
  first(): NoticeNumber | undefined {
    const { notices, groups } = this.#outbox
    const [single] = notices.getKeys({ limit: 1 })
    const [group] = groups.getKeys({ limit: 1 })
    const numbers = [single, group].filter((key) => key !== undefined).map((key) => Number(onlyPart(key)))
    return numbers.length === 0 ? undefined : Math.min(...numbers)
  }

  /** The number of the last notice that was ever put in. */
  last(): NoticeNumber {
    return Math.max(this.#stored, this.#unapplied?.lastNotice ?? 0)
  }

  /** The number of the last notice that the snapshot has, or had. */
  get #stored(): NoticeNumber {
    return lastNumber(this.#outbox, this.#path)
  }

  /** The notices after a number, in order, at most `limit`; see `noticesAfter`. */
  after(number: NoticeNumber, limit: number): readonly NumberedNotice[] {
    const last = this.#unapplied?.lastNotice ?? 0
    for (;;) {
      const stored = noticesAfter(this.#outbox, number, limit, this.#unread, this.#decode)
      if (stored.length > 0) return stored
      const unapplied = this.#unappliedAfter(Math.max(number, this.#stored), limit)
      if (unapplied !== undefined || this.#stored >= last) return unapplied ?? []
      // What was published and is nowhere was applied after the snapshot was taken.
      this.refresh()
    }
  }

  /** The notices of the memtable after a number up to which LMDB has them; undefined when the next one is there no more. */
  #unappliedAfter(number: NoticeNumber, limit: number): readonly NumberedNotice[] | undefined {
    const found: NumberedNotice[] = []
    const last = this.#unapplied?.lastNotice ?? 0
    for (let next = number + 1; next <= last && found.length < limit; next += 1) {
      const text = this.#unapplied?.notice(next)
      if (text === undefined) return next === number + 1 ? undefined : found
      const numbered = readNotice(next, text, this.#unread)
      if (numbered !== undefined) found.push(numbered)
    }
    return found
  }

  /** The notices that LMDB has before a number, the last one first, at most `limit`. */
  before(number: NoticeNumber, limit: number): readonly NumberedNotice[] {
    return noticesBefore(this.#outbox, Math.min(number, this.#stored + 1), limit, this.#unread)
  }

  /** The notice of a number without its body; nothing when it is not there or cannot be read. */
  head(number: NoticeNumber): NumberedNotice | undefined {
    const text = this.#unapplied?.notice(number)
    // What cannot be read is told of when it is to be sent.
    return text === undefined ? this.#fresh(number, () => this.#head(number)) : readNotice(number, text, () => {})
  }

  #head(number: NoticeNumber): NumberedNotice | undefined {
    const text = this.#outbox.notices.get([number])
    if (text !== undefined) return readNotice(number, text, () => {})
    const group = this.#groupOf(number, () => {})
    return group && memberOf(group, number - group.first)
  }

  #groupOf(number: NoticeNumber, unread: Unread): NoticeGroup | undefined {
    const last = this.#group
    if (last !== undefined && number >= last.first && number < last.first + last.subscriptions.length) return last
    this.#group = groupOf(this.#outbox, number, unread, this.#decode)
    return this.#group
  }

  readonly #decode: typeof decodeGroup = (first, text) => {
    const known = this.#decoded
    if (known?.group.first === first && known.text === text) return known.group
    const group = decodeGroup(first, text)
    this.#decoded = { text, group }
    return group
  }

  /** Whether the notice of a number is there. */
  holds(number: NoticeNumber): boolean {
    if (this.#unapplied?.notice(number) !== undefined) return true
    return this.#fresh(number, () => (this.#holds(number) ? true : undefined)) === true
  }

  #holds(number: NoticeNumber): boolean {
    if (this.#outbox.notices.doesExist([number])) return true
    const group = groupOf(this.#outbox, number, this.#unread)
    return group?.subscriptions[number - group.first] !== undefined
  }

  /** The notice of a number, if it is there, or that it cannot be read. */
  at(number: NoticeNumber): StoredNotice | 'damaged' | undefined {
    try {
      const text = this.#unapplied?.notice(number)
      if (text !== undefined) return decodeNotice(text)
      return this.#fresh(number, () => noticeAt(this.#outbox, number, this.#known))
    } catch (fault) {
      this.#unread(`notice ${number}`, fault)
      return 'damaged'
    }
  }

  stats(): Iterable<readonly [SubscriptionId, DeliveryStats]> {
    return statsOf(this.#outbox, this.#unread)
  }

  statsOf(id: SubscriptionId): DeliveryStats | undefined {
    return storedStats(this.#outbox, id, this.#unread)
  }

  async close(): Promise<void> {
    await this.#root.close()
  }

  /** What the snapshot has of a notice that the memtable does not have: a newer one where it was taken before that was applied. */
  #fresh<Found>(number: NoticeNumber, read: () => Found | undefined): Found | undefined {
    const found = read()
    if (found !== undefined || this.#unapplied === undefined || number <= this.#stored) return found
    this.refresh()
    return read()
  }

  #shownOf(group: NoticeGroup): Shown {
    const { shown: at, shown_bytes } = group
    if (this.#lastShown?.at === at) return this.#lastShown.what
    const name = `${this.#path} ${at}`
    let what = this.#shown.get(name)
    if (what === undefined) {
      what = shownOf(this.#outbox, group)
      this.#shown.put(name, what, shown_bytes * perStoredByte)
    }
    this.#lastShown = { at, what }
    return what
  }
}

/** What groups show, by path and number: notices of the same change are mostly read shortly after each other. */
type ShownCache = LruCache<Shown>

/** Makes a cache of this size. */
export function shownCache(limit_bytes: number): ShownCache {
  return new LruCache(limit_bytes)
}

/** The memory that an entity takes for each byte on disk. */
const perStoredByte = 2

/** What the notices of a group show. */
type Shown =
  | { readonly kind: 'entity'; readonly entity: Entity }
  | { readonly kind: 'change'; readonly change: ShownChange }

/** What may be known of groups without reading them. */
interface GroupReader {
  readonly groupOf: (number: NoticeNumber) => NoticeGroup | undefined
  readonly shownOf: (group: NoticeGroup) => Shown
}

/** The notice of a number, if it is there. */
export function noticeAt(
  outbox: Pick<OutboxDatabases, 'notices' | 'groups' | 'shown'>,
  number: NoticeNumber,
  { groupOf: read, shownOf: show }: GroupReader = {
    groupOf: (of) => groupOf(outbox, of),
    shownOf: (group) => shownOf(outbox, group),
  },
): StoredNotice | undefined {
  const text = outbox.notices.get([number])
  if (text !== undefined) return decodeNotice(text)
  const group = read(number)
  const at = number - (group?.first ?? 0)
  const subscription = group?.subscriptions[at]
  if (group === undefined || subscription === undefined) return undefined
  const shown = show(group)
  if (shown.kind === 'entity') return { subscription, ...group.common, body: undefined, entity: shown.entity }
  const own = group.messages?.[at]
  if (own === undefined) throw new Error(`notice ${number} of a change has no message`)
  return { subscription, ...group.common, ...own, body: undefined, shown: shown.change }
}

function shownOf({ shown }: Pick<OutboxDatabases, 'shown'>, { first, shown: at, messages }: NoticeGroup): Shown {
  const text = shown.get([at])
  if (text === undefined) throw new Error(`what the notices from ${first} on show is missing`)
  return messages === undefined
    ? { kind: 'entity', entity: decodeEntity(text) }
    : { kind: 'change', change: decodeChange(text) }
}

/** The most bytes of one read of several notices. */
const most_bytes = 2 ** 20

type Notices = Pick<OutboxDatabases, 'notices' | 'groups'>

/**
 * The notices after a number, in order, at most `limit`; fewer where they are large, at least one where there is one.
 * Those that cannot be read are told of and left out.
 */
export function noticesAfter(
  { notices, groups }: Notices,
  after: NoticeNumber,
  limit: number,
  unread: Unread = unreadThrows,
  decode = decodeGroup,
): readonly NumberedNotice[] {
  const found: NumberedNotice[] = []
  let bytes = 0
  const single = singlesIn(notices, { start: [after + 1] }, unread)
  const grouped = membersAfter(groups, after, unread, decode)
  for (const numbered of mergeSorted([single, grouped], (one, other) => one.number - other.number)) {
    found.push(numbered)
    // What a group shows is not read here.
    if (numbered.body_bytes !== undefined) bytes += numbered.size_bytes
    if (bytes >= most_bytes || found.length >= limit) break
  }
  return found
}

/** The notices before a number, the last one first, at most `limit`. */
export function noticesBefore(
  { notices, groups }: Notices,
  before: NoticeNumber,
  limit: number,
  unread: Unread = unreadThrows,
): readonly NumberedNotice[] {
  const found: NumberedNotice[] = []
  const single = singlesIn(notices, { start: [before - 1], reverse: true }, unread)
  const grouped = membersBefore(groups, before, unread)
  for (const numbered of mergeSorted([single, grouped], (one, other) => other.number - one.number)) {
    found.push(numbered)
    if (found.length >= limit) break
  }
  return found
}

function* singlesIn(notices: OutboxDatabases['notices'], range: RangeOptions, unread: Unread) {
  for (const { key, value } of notices.getRange(range)) {
    const numbered = readNotice(Number(onlyPart(key)), value, unread)
    if (numbered !== undefined) yield numbered
  }
}

/** The body is not looked at: it is all that follows the head. */
function readNotice(number: NoticeNumber, text: string, unread: Unread): NumberedNotice | undefined {
  try {
    const { notice, head_bytes } = decodeHead(text)
    const size_bytes = Buffer.byteLength(text)
    return { number, size_bytes, body_bytes: size_bytes - head_bytes, notice }
  } catch (fault) {
    unread(`notice ${number}`, fault)
    return undefined
  }
}

function* membersAfter(
  groups: OutboxDatabases['groups'],
  after: NoticeNumber,
  unread: Unread,
  decode: typeof decodeGroup,
) {
  for (const group of groupsFrom(groups, after + 1, unread, decode)) {
    for (let at = Math.max(0, after + 1 - group.first); at < group.subscriptions.length; at += 1) {
      const numbered = memberOf(group, at)
      if (numbered !== undefined) yield numbered
    }
  }
}

function* membersBefore(groups: OutboxDatabases['groups'], before: NoticeNumber, unread: Unread) {
  for (const { key, value } of groups.getRange({ start: [before - 1], reverse: true })) {
    const group = readGroup(Number(onlyPart(key)), value, unread)
    if (group === undefined) continue
    for (let at = Math.min(before - group.first, group.subscriptions.length) - 1; at >= 0; at -= 1) {
      const numbered = memberOf(group, at)
      if (numbered !== undefined) yield numbered
    }
  }
}

function memberOf(group: NoticeGroup, at: number): NumberedNotice | undefined {
  const subscription = group.subscriptions[at]
  if (subscription === undefined) return undefined
  const { correlator, message } = group.messages?.[at] ?? group.common
  const notice = { subscription, ...group.common, correlator, message }
  return { number: group.first + at, size_bytes: group.shown_bytes, body_bytes: undefined, notice }
}

/** The group of a number, and all behind it. */
function* groupsFrom(
  groups: OutboxDatabases['groups'],
  number: NoticeNumber,
  unread: Unread,
  decode: typeof decodeGroup,
): Generator<NoticeGroup> {
  // One before it that cannot be read was told of when it was read.
  const own = groupOf({ groups }, number, () => {}, decode)
  if (own !== undefined) yield own
  for (const { key, value } of groups.getRange({ start: [own === undefined ? number : own.first + 1] })) {
    const group = readGroup(Number(onlyPart(key)), value, unread)
    if (group !== undefined) yield group
  }
}
