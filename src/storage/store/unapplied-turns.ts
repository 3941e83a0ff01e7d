import type { Tenant } from '../../model/context/entity.js'
import type { DeliveryStats, NoticeAck, NoticeNumber } from '../../model/subscription/notice.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Sequence } from '../../threads/shared-memory/sequences.js'
import type { Environment } from '../environment/environment.js'
import { recordKey } from '../records/keys.js'
import type { TurnRecord } from '../records/turn-record.js'
import type { LogSequence } from '../wal/record-log.js'
import { CountChanges } from './count-changes.js'
import { type EntryChange, writeEntries } from './index-entries.js'
import { type PublishedNotice, unit_bytes } from './memtable.js'
import type { Outbox } from './outbox.js'

/** The most writes that are gathered at one time, however fast LMDB is. */
export const mostWrites = 4096

/** So many are gathered however slow it is: in smaller transactions each write costs more. */
const fewestWrites = 512

/** What a transaction is to take: its partition does nothing else meanwhile. */
const transaction_ms = 16

/** The size of LMDB's pages. */
const page_bytes = 4096

/**
 * How many writes are gathered for the next transaction, by how many the last one had and how long it took: where there are many entities, each
 * write has a page of its own and costs several times as much as where there are few. At least half and at most twice as many as before, since
 * one measurement may be chance.
 */
export function writesFor(
  before: number,
  { writes, took_ms }: { readonly writes: number; readonly took_ms: number },
): number {
  // What a transaction itself costs says nothing about its writes.
  if (writes < fewestWrites / 2) return before
  const fitting = Math.floor((writes * transaction_ms) / took_ms)
  return Math.max(fewestWrites, Math.ceil(before / 2), Math.min(fitting, 2 * before, mostWrites))
}

/** The record of an entity as the last turn has left it; removed when it has no text. */
interface RecordWrite {
  readonly tenant: Tenant
  readonly text: string | undefined
}

/** What became of the notices of one subscription that LMDB has. */
interface GatheredAck extends NoticeAck {
  readonly gone: NoticeNumber[]
  stats: DeliveryStats | undefined
}

/**
 * The sum of the turns that stand in the log and not yet in LMDB. An entity that was changed many times is written once, and a notice
 * that has left meanwhile never. Texts are held, and no entities: what takes memory for long costs the collector's time.
 */
export class UnappliedTurns {
  readonly #records = new Map<Sequence, RecordWrite>()
  /** In their order: what is put may be removed again. */
  readonly #entries: EntryChange[] = []
  readonly #counts = new CountChanges()
  readonly #notices = new Map<NoticeNumber, string>()
  readonly #acks = new Map<SubscriptionId, GatheredAck>()
  /** How many notices that LMDB has are gone. */
  #gone = 0
  #last: LogSequence | undefined
  #characters = 0

  /** The last record of the log among them; undefined when there are none. */
  get last(): LogSequence | undefined {
    return this.#last
  }

  /** The most bytes that writing everything adds to LMDB's file: a page of a tree and one above it for each write, and the texts. */
  get size_bytes(): number {
    return 2 * page_bytes * this.writes + unit_bytes * this.#characters
  }

  /** How many puts and removals writing everything takes. */
  get writes(): number {
    const ofOutbox = this.#notices.size + this.#gone + this.#acks.size
    return this.#records.size + this.#entries.length + this.#counts.size + ofOutbox
  }

  /** Adds a turn, whose record in the log has this sequence, with what it changes in the indexes, and its notices with their numbers. */
  add(
    sequence: LogSequence,
    { entities, acks }: Pick<TurnRecord, 'entities' | 'acks'>,
    entries: readonly EntryChange[],
    notices: readonly PublishedNotice[],
  ): void {
    this.#last = sequence
    for (const write of entities) {
      const { tenant, entity } = write
      this.#records.set(entity.sequence, { tenant, text: write.kind === 'put' ? write.text : undefined })
      if (write.kind === 'put') this.#characters += write.text.length
      this.#counts.note(write)
    }
    for (const entry of entries) this.#entries.push(entry)
    for (const { number, text } of notices) {
      this.#notices.set(number, text)
      this.#characters += text.length
    }
    for (const ack of acks) this.#ack(ack)
  }

  #ack({ subscription, gone, stats }: NoticeAck): void {
    const gathered = this.#acks.get(subscription) ?? { subscription, gone: [], stats }
    this.#acks.set(subscription, gathered)
    gathered.stats = stats
    for (const number of gone) {
      const text = this.#notices.get(number)
      if (text === undefined) {
        gathered.gone.push(number)
        this.#gone += 1
      } else {
        this.#notices.delete(number)
        this.#characters -= text.length
      }
    }
  }

  /** Writes everything, within a transaction. */
  write(environment: Environment, outbox: Outbox): void {
    for (const [sequence, { tenant, text }] of this.#records) {
      const key = recordKey(tenant, sequence)
      if (text === undefined) environment.records.removeSync(key)
      else environment.records.putSync(key, text)
    }
    writeEntries(environment, this.#entries)
    this.#counts.write(environment)
    outbox.store(this.#notices, this.#acks.values())
  }
}
