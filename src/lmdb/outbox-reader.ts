import type { RootDatabase } from 'lmdb'
import type { Account, Notice, NoticeNumber } from '../subscription/notice.js'
import type { SubscriptionId } from '../subscription/subscription.js'
import { type EnvironmentSettings, openRoot } from './environment.js'
import type { Key } from './keys.js'
import {
  accountsOf,
  lastNumber,
  type NumberedNotice,
  noticeAt,
  noticesAfter,
  type OutboxDatabases,
  openOutbox,
} from './outbox.js'

/** Reads the outbox of an environment from snapshots, in another thread than that of its owner, who alone writes it. */
export class OutboxReader {
  readonly #root: RootDatabase<string, Key>
  readonly #outbox: OutboxDatabases

  constructor(path: string, settings: Omit<EnvironmentSettings, 'readOnly'>) {
    this.#root = openRoot(path, { ...settings, readOnly: true })
    this.#outbox = openOutbox(this.#root)
  }

  /** From now on reads see everything that is on disk now. */
  refresh(): void {
    this.#root.resetReadTxn()
  }

  /** The number of the last notice that was ever put in. */
  last(): NoticeNumber {
    return lastNumber(this.#outbox)
  }

  /** The notices after a number, in order, at most so many. */
  after(number: NoticeNumber, limit: number): readonly NumberedNotice[] {
    return noticesAfter(this.#outbox, number, limit)
  }

  /** The notice of a number, if it is there. */
  at(number: NoticeNumber): Notice | undefined {
    return noticeAt(this.#outbox, number)
  }

  accounts(): Iterable<readonly [SubscriptionId, Account]> {
    return accountsOf(this.#outbox)
  }

  async close(): Promise<void> {
    await this.#root.close()
  }
}
