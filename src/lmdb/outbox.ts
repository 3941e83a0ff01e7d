import type { Database, RootDatabase, Transaction } from 'lmdb'
import type { ServicePath, Tenant } from '../context/entity.js'
import type { Account, Line, Notice, NoticeNumber, Settlement } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import type { Milliseconds } from '../time.js'
import { openDatabase } from './environment.js'
import { type Key, onlyPart } from './keys.js'

/** The databases of an outbox. */
export interface OutboxDatabases {
  /** [number] to a notice. */
  readonly notices: Database<string, Key>
  /** [subscription] to its account. */
  readonly accounts: Database<string, Key>
  /** Holds the number of the last notice that was ever put in, so that no number is given twice. */
  readonly facts: Database<string, Key>
}

/** Opens the databases of the outbox in an environment. */
export function openOutbox(root: RootDatabase<string, Key>): OutboxDatabases {
  return {
    notices: openDatabase(root, 'notices'),
    accounts: openDatabase(root, 'accounts'),
    facts: openDatabase(root, 'facts'),
  }
}

const lastFact: Key = ['notice']

/** Notices on disk, in the environment of whoever makes them; all of it within the transactions of its only writer. */
export class Outbox {
  readonly #databases: OutboxDatabases
  #last: NoticeNumber

  constructor(databases: OutboxDatabases) {
    this.#databases = databases
    this.#last = lastNumber(databases)
  }

  /** The number of the last notice that was ever put in; 0 before the first. */
  get last(): NoticeNumber {
    return this.#last
  }

  /** Puts notices behind all others; gives the characters that were written. */
  enqueue(notices: readonly Notice[]): number {
    if (notices.length === 0) return 0
    let written = 0
    for (const notice of notices) {
      this.#last += 1
      const text = encodeNotice(notice)
      written += text.length
      this.#databases.notices.putSync([this.#last], text)
    }
    this.#databases.facts.putSync(lastFact, String(this.#last))
    return written
  }

  /** Stores what became of notices; doing so twice changes nothing. */
  settle(settlements: readonly Settlement[]): void {
    const { notices, accounts } = this.#databases
    for (const { subscription, gone, account } of settlements) {
      for (const number of gone) notices.removeSync([number])
      if (account === undefined) accounts.removeSync([subscription])
      else accounts.putSync([subscription], JSON.stringify(account))
    }
  }

  /** The transaction that enqueued was undone: so are its numbers. */
  rewind(last: NoticeNumber): void {
    this.#last = last
  }
}

/** The number of the last notice that was ever put in; 0 before the first. */
export function lastNumber({ facts }: Pick<OutboxDatabases, 'facts'>, transaction?: Transaction): NoticeNumber {
  return Number(facts.get(lastFact, transaction && { transaction }) ?? 0)
}

/** A notice with its number and the bytes that it takes. */
export interface NumberedNotice {
  readonly number: NoticeNumber
  readonly size_bytes: number
  readonly notice: Notice
}

/** The notices after a number, in order, at most so many. */
export function noticesAfter(
  { notices }: Pick<OutboxDatabases, 'notices'>,
  after: NoticeNumber,
  limit: number,
): readonly NumberedNotice[] {
  const found: NumberedNotice[] = []
  for (const { key, value } of notices.getRange({ start: [after + 1], limit })) {
    found.push({ number: Number(onlyPart(key)), size_bytes: Buffer.byteLength(value), notice: decodeNotice(value) })
  }
  return found
}

/** The notice of a number, if it is still there. */
export function noticeAt({ notices }: Pick<OutboxDatabases, 'notices'>, number: NoticeNumber): Notice | undefined {
  const text = notices.get([number])
  return text === undefined ? undefined : decodeNotice(text)
}

/** The accounts of all subscriptions that have one here. */
export function* accountsOf({
  accounts,
}: Pick<OutboxDatabases, 'accounts'>): Generator<readonly [SubscriptionId, Account]> {
  for (const { key, value } of accounts.getRange({})) {
    yield [String(onlyPart(key)) as SubscriptionId, JSON.parse(value) as Account]
  }
}

/** What is stored before the body, as a JSON vector on a line of its own. Part of the format on disk. */
type StoredHead = readonly [
  subscription: string,
  line: readonly [kind: Line['kind'], key?: string],
  made: number,
  tenant: string,
  paths: readonly string[],
  correlator: string,
  token: string,
  after?: readonly number[],
]

function encodeNotice({ subscription, line, made, tenant, paths, correlator, token, body, after }: Notice): string {
  const where = line.kind === 'entity' ? ([line.kind, line.key] as const) : ([line.kind] as const)
  const head = [subscription, where, made, tenant, paths, correlator, token] as const
  const stored: StoredHead = after === undefined ? head : [...head, after]
  return `${JSON.stringify(stored)}\n${body}`
}

function decodeNotice(text: string): Notice {
  const end = text.indexOf('\n')
  const [subscription, [kind, key = ''], made, tenant, paths, correlator, token, after] = JSON.parse(
    text.slice(0, end),
  ) as StoredHead
  return {
    subscription: subscription as SubscriptionId,
    line: kind === 'entity' ? { kind, key } : { kind },
    made: made as Milliseconds,
    tenant: tenant as Tenant,
    paths: paths as readonly ServicePath[],
    correlator,
    token,
    body: text.slice(end + 1),
    after,
  }
}
